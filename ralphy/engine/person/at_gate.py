"""What a person says at a gate by a command or in the dashboard: it is written as a marker, as `touch` does."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from ralphy.engine.feature.documents import to_read
from ralphy.engine.view.observe import observe
from ralphy.engine.view.status import in_progress
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import Conflict
from ralphy.files.atomic import replace_file
from ralphy.files.read import read_text
from ralphy.pipeline.decide import waiting_gate
from ralphy.pipeline.model import Snapshot
from ralphy.pipeline.steps.step import CODE
from ralphy.pipeline.steps.table import step_of


@dataclass(frozen=True, slots=True)
class Marked:
    """The gate that a marker was written for; whether that withdraws an approval that was not taken up yet."""

    gate: str
    withdraws: bool


def mark(w: Workspace, marker: str, text: str, seen: str = "") -> Marked:
    """Write the marker for the gate that waits.

    Raises Conflict, and writes nothing, if no gate waits, or if the gate's digest is not what was `seen`.
    """
    s = observe(w)
    gate = waiting_gate(s, w.config)
    if not gate:
        now = f": {working}" if (working := in_progress(w)) else ""
        raise Conflict(f"no gate of {s.feature} is open now{now}", hint=f"ralphy why {s.feature}")
    if seen and seen != gate_digest(w, s, gate):
        raise Conflict(f"{step_of(gate).document} changed since you saw it: read it again, then decide")
    replace_file(w.feature.file(marker), _beside_pending(w, marker, text).encode(), durable=False)
    approved = w.feature.file("APPROVED")
    withdraws = marker == "REJECTED" and approved.is_file()
    if withdraws:
        approved.unlink(missing_ok=True)
    return Marked(gate, withdraws)


def _beside_pending(w: Workspace, marker: str, text: str) -> str:
    """The marker's text, after the remarks of a rejection that Ralphy has not read yet: none is lost.

    Raises Conflict for an approval or the end of the feature, which contradict such remarks.
    """
    path = w.feature.file("REJECTED")
    if not path.exists():
        return text
    pending = read_text(path).rstrip()
    if marker == "APPROVED" or (pending and not text):
        raise Conflict(f"{w.feature.name} has a rejection that is not taken up yet",
                       hint=f"`rm {w.feature.typed}/REJECTED` withdraws it")  # fmt: skip
    return f"{pending}\n\n{text}".lstrip()


def documents_to_read(w: Workspace, gate: str) -> list[str]:
    """The documents that a person reads at the gate."""
    return [name for name in (*step_of(gate).at_gate, "TASKS.md") if w.feature.file(name).is_file()]


def gate_digest(w: Workspace, s: Snapshot, gate: str) -> str:
    """Digest of what a person decides on at the gate: its documents, and the code of a review."""
    step = step_of(gate)
    digests = [sha256(to_read(w, name)).hexdigest() for name in step.at_gate]
    return "+".join([*digests, step.inputs_now(s).get(CODE, "")])
