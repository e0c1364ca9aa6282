"""Gates: is one open for exactly what is there, what does a marker say, and who may open it?

An approval is a statement about content: it binds the artifact's bytes and, after the review, the code's tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ralphy.pipeline import decision as d
from ralphy.pipeline.model import Artifact, GateVerdict, Marker, Snapshot
from ralphy.pipeline.preconditions import is_red, red_tests

if TYPE_CHECKING:
    from ralphy.pipeline.steps.step import Step


def gate_decision(s: Snapshot, step: Step, policy: str) -> d.Decision | None:
    """Is the gate behind the step open for exactly these bytes? REJECTED beats APPROVED."""
    gate, artifact, answer = step.name, step.document, verdict_on(s, step)
    if answer and answer.verdict == "approved" and not step.is_outdated(s):
        return None
    for name in ("REJECTED", "APPROVED"):
        stale = _why_invalid(s, step, name)
        if stale:
            return d.SetAside(f"{name} {stale}", name)
    rejected = _marker(s, "REJECTED")
    if rejected:
        how = "with remarks" if rejected.text.strip() else "without remarks"
        return d.Reject(f"REJECTED was found {how}", gate, rejected.text.strip())
    if answer and answer.verdict == "rejected":
        return d.Halt(f"{artifact} was rejected; edit it, or run `ralphy redo {gate} {s.feature}`", is_rejected=True)
    if _marker(s, "APPROVED"):
        return d.Approve(f"APPROVED was found for {artifact}", gate)
    is_again = is_handed_in_again(s, step)
    if policy == "auto" and not is_again and not step.refuses(s):
        return d.Approve(f"the {gate} gate is automatic", gate, by="auto")
    return _hold(s, step, gate, artifact)


def _hold(s: Snapshot, step: Step, gate: str, artifact: str) -> d.Decision:
    if f"{gate}:{step.content(s)}" not in s.history.gates:
        return d.OpenGate(f"{artifact} is ready for review", gate)
    if s.baseline is None and not s.tree.busy:
        return d.TakeBaseline("the baseline checks run while a person reads")
    edited = any(a.gate == gate and a.verdict == "approved" for a in s.prd.gate_verdicts)
    why = f"{_changed_document(s, step)} changed since it was approved; review it again" if edited else ""
    why = why or f"{artifact} is ready for review"
    if is_handed_in_again(s, step):
        why = f"{artifact} is the same as before its rejection; review it again"
    red = f" (the checks are red: {red_tests(s)})" if s.baseline and is_red(s) else ""
    notes = [note for note in step.notes(s) if note]
    marker = f"`touch {s.typed_folder}/APPROVED`" if s.typed_folder else "`touch APPROVED` beside it"
    return d.Wait("; ".join([f"{why}: {marker}, or `ralphy approve {s.feature}`{red}", *notes]), gate=gate, brief=why)


def _changed_document(s: Snapshot, step: Step) -> str:
    """Which document is not the one that was approved last."""
    was = [a.digest for a in s.prd.gate_verdicts if a.gate == step.name and a.verdict == "approved"][-1].split("+")
    return next((name for name in step.at_gate if s.digest(name) not in was), step.document)


def _why_invalid(s: Snapshot, step: Step, name: str) -> str:
    """Why a marker is not a statement about this artifact; "" if it is one, or is not there."""
    marker, newest = s.markers.get(name), newest_of(s, step)
    if marker is None or newest is None:
        return ""
    if marker.invalid:
        return marker.invalid
    name, artifact = newest
    opened = s.history.gates.get(f"{step.name}:{step.content(s)}") or artifact.ctime_ns
    return "" if marker.ctime_ns >= opened else f"is older than the {name} that is there now"


def newest_of(s: Snapshot, step: Step) -> tuple[str, Artifact] | None:
    """The document that changed last of those that a gate is about, with its name; None if its own is not there."""
    there = [(name, s.artifacts[name]) for name in step.at_gate if name in s.artifacts]
    return max(there, key=lambda one: one[1].ctime_ns) if step.document in s.artifacts else None


def _marker(s: Snapshot, name: str) -> Marker | None:
    marker = s.markers.get(name)
    return marker if marker and not marker.invalid else None


def verdict_on(s: Snapshot, step: Step) -> GateVerdict | None:
    """The last verdict on exactly this content, and on this code where the step read it; a rejection ends the verdicts
    before it, on any content."""
    digest, code = step.content(s), step.inputs_now(s).get("code", "")
    answers = [a for a in s.prd.gate_verdicts if a.gate == step.name]
    answers = answers[max(0, _last_rejection(answers)) :]
    stands = [a for a in answers if a.verdict != "revise" and not a.answered and a.digest == digest]
    stands = [a for a in stands if not code or a.verdict != "approved" or a.code == code]
    return stands[-1] if stands else None


def is_handed_in_again(s: Snapshot, step: Step) -> bool:
    """Is this what a person has rejected, or what was approved before that? Only a person may approve it now."""
    answers = [a for a in s.prd.gate_verdicts if a.gate == step.name]
    return any(a.digest == step.content(s) for a in answers[: _last_rejection(answers) + 1])


def _last_rejection(answers: Sequence[GateVerdict]) -> int:
    """The place of the last rejection among the verdicts at a gate; -1 if there is none."""
    return max((place for place, a in enumerate(answers) if a.verdict in ("revise", "rejected")), default=-1)


def revision(s: Snapshot, gate: str) -> GateVerdict | None:
    """Remarks of a person that the step's agent has not answered yet."""
    answers = [a for a in s.prd.gate_verdicts if a.gate == gate]
    return answers[-1] if answers and answers[-1].verdict == "revise" and not answers[-1].answered else None
