"""approve, reject, abort, redo, reset and reset-circuit."""

from __future__ import annotations

import os
import signal
from hashlib import sha256

import click

from ralphy.cli.options import Invocation, feature_argument, named_story, with_options
from ralphy.cli.stories.changes import stories_changed
from ralphy.engine.feature.documents import to_read
from ralphy.engine.person.again import redo_step
from ralphy.engine.person.story_changes import change_stories
from ralphy.engine.view.observe import observe
from ralphy.engine.view.status import in_progress
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import Conflict, InvalidInput, NotFound
from ralphy.files.atomic import replace_file
from ralphy.files.read import read_text
from ralphy.git.run_lock import covers, holder
from ralphy.pipeline.decide import decide, waiting_gate
from ralphy.pipeline.model import Snapshot
from ralphy.pipeline.steps.step import CODE
from ralphy.pipeline.steps.table import makers, step_of
from ralphy.pipeline.story_changes import StoryChange, Verb
from ralphy.text.nearest import nearest


@click.command("approve")
@feature_argument
@with_options
def approve(call: Invocation, feature: str | None) -> int:
    """Does the same as `touch APPROVED`. Ends with 4 if no gate is open."""
    return _mark(call, feature, "APPROVED", "")


@click.command("reject")
@feature_argument
@click.option("-m", "--message", default="", help="Remarks for the step's agent, which writes the document again.")
@click.option("--end", is_flag=True, help="End the feature as rejected instead of asking for a new document.")
@with_options
def reject(call: Invocation, feature: str | None, message: str, end: bool) -> int:
    """Or end the feature (--end). Ends with 4 if no gate is open."""
    if bool(message.strip()) == end:
        words = " ".join(["ralphy reject", *([feature] if feature else [])])
        raise InvalidInput("reject needs remarks, or --end",
                           hint=f'{words} -m "what should change", or {words} --end')  # fmt: skip
    return _mark(call, feature, "REJECTED", message)


def _mark(call: Invocation, feature: str | None, marker: str, text: str) -> int:
    name, gate = mark(call, feature, marker, text)
    word = "approve" if marker == "APPROVED" else "reject"
    message = f"{name}: {marker} written; {_picked_up_by(call, name)}"
    return call.output.answer(word, message, feature=name, gate=gate)


def _picked_up_by(call: Invocation, feature: str) -> str:
    """Which Ralphy reads the marker: the one that is running here, or the one to start."""
    running = holder(call.repository().checkout_dir / "lock")
    pid, purpose = running.get("pid"), running.get("purpose")
    if running and covers(purpose, feature):
        return f"Ralphy goes on with it (pid {pid})"
    later = f" (now Ralphy is running here: pid {pid}, {purpose})" if running else ""
    return f"then: ralphy start {feature}{later}"


def mark(call: Invocation, feature: str | None, marker: str, text: str, seen: str = "") -> tuple[str, str]:
    """Write the marker into the feature folder; gives the feature's name and the gate.

    Raises Conflict, and writes nothing, if no gate waits, or if the gate's digest is not what was `seen`.
    """
    with call.workspace(feature) as w:
        call.lay_out(w)
        s = observe(w)
        gate = waiting_gate(s, w.config)
        if not gate:
            now = in_progress(w) or decide(s, w.config).reason
            raise Conflict(f"no gate of {s.feature} is open now: {now}", hint=f"ralphy why {s.feature}")
        if seen and seen != gate_digest(w, s, gate):
            raise Conflict(f"{step_of(gate).document} changed since you saw it: read it again, then decide")
        replace_file(w.feature.file(marker), _beside_pending(w, marker, text).encode(), durable=False)
        approved = w.feature.file("APPROVED")
        if marker == "REJECTED" and approved.is_file():
            approved.unlink(missing_ok=True)
            call.output.note("the approval that was not taken up yet is withdrawn")
    return s.feature, gate


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


def documents_at(w: Workspace, gate: str) -> list[str]:
    """The documents that a person reads at the gate."""
    return [name for name in (*step_of(gate).at_gate, "TASKS.md") if w.feature.file(name).is_file()]


def gate_digest(w: Workspace, s: Snapshot, gate: str) -> str:
    """Digest of what a person decides on at the gate: its documents, and the code of a review."""
    step = step_of(gate)
    digests = [sha256(to_read(w, name)).hexdigest() for name in step.at_gate]
    return "+".join([*digests, step.inputs_now(s).get(CODE, "")])


@click.command("abort")
@feature_argument
@with_options
def abort(call: Invocation, feature: str | None) -> int:
    """Ralphy and its agents in this checkout end; nothing is lost."""
    pid = stop(call, feature)
    return call.output.answer("abort", f"Stopping Ralphy (pid {pid})", pid=pid)


def stop(call: Invocation, feature: str | None) -> int:
    """Stop the Ralphy that works in this checkout; gives its process id.

    Raises NotFound if none works here, or if it works on another feature than the named one.
    """
    repository = call.repository()
    wanted = call.feature(feature).name if feature is not None else ""
    note = holder(repository.checkout_dir / "lock")
    pid, purpose = note.get("pid"), note.get("purpose")
    if not note or not isinstance(pid, int) or pid <= 1:
        raise NotFound("Ralphy is not running in this checkout", hint="ralphy status")
    if wanted and not covers(purpose, wanted):
        raise NotFound(f"Ralphy is not working on {wanted}", hint=f"pid {pid} is running here: {purpose}")
    if str(note.get("host")) != os.uname().nodename:
        raise Conflict(f"Ralphy is running here from {note.get('host')}", hint="end it there")
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        raise NotFound("Ralphy is not running in this checkout any more", hint="ralphy status") from None
    return pid


def redo_help() -> str:
    """The help of `ralphy redo`."""
    return (f"STEP is one of {', '.join(step.name for step in makers())}. It is done at the next run. "
            "Sets the step's document aside. A story becomes pending and its attempt count resets.")  # fmt: skip


@click.command("redo", help=redo_help())
@click.argument("target", metavar="STEP|STORY")
@feature_argument
@with_options
def redo(call: Invocation, target: str, feature: str | None) -> int:
    named = {step.name: step for step in makers()}
    target, feature = named_story(call, target, feature)
    step = named.get(target)
    with call.edited(feature, f"redo {target}", review=False, starts_over=bool(step and step.starts_over)) as (w, s):
        if step:
            message = redo_step(w, step)
        elif any(story.id == target for story in s.prd.stories):
            message = change_stories(w, s, StoryChange(Verb.RESET, target)).message
        else:
            near = nearest(target, [*(story.id for story in s.prd.stories), *named])
            raise InvalidInput(f"{target!r} is neither a step ({', '.join(named)}) nor a story of {s.feature}",
                               hint=f"did you mean {near}?" if near else f"ralphy story list {s.feature}")  # fmt: skip
    return call.output.answer("redo", message, target=target, said=message)


@click.command("reset")
@feature_argument
@with_options
def reset(call: Invocation, feature: str | None) -> int:
    """Commits and kept attempts stay."""

    with stories_changed(call, feature, StoryChange(Verb.RESET_ALL), "reset", review=False) as (_, new):
        return call.output.answer("reset", new.message, said=new.message)


@click.command("reset-circuit")
@feature_argument
@with_options
def reset_circuit(call: Invocation, feature: str | None) -> int:
    """Attempt counts stay (see reset)."""
    with call.workspace(feature) as w:
        before = w.history.breaker.state_at(w.clock()).value
        w.record("reset_circuit")
        state = w.history.breaker.state_at(w.clock()).value
    changed = f"was {before}, is now {state}" if state != before else f"is {state} already"
    message = f"{w.feature.name}: the circuit breaker {changed}"
    return call.output.answer("reset-circuit", message, feature=w.feature.name, was=before, state=state)
