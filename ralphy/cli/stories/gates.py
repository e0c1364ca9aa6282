"""approve, reject, abort, redo, reset and reset-circuit."""

from __future__ import annotations

import click

from ralphy.cli.options import Invocation, feature_argument, named_story, with_options
from ralphy.cli.stories.changes import stories_changed
from ralphy.engine.person import at_gate
from ralphy.engine.person.abort import end_ralphy
from ralphy.engine.person.again import close_breaker, redo_step
from ralphy.engine.person.story_changes import change_stories
from ralphy.errors import InvalidInput
from ralphy.git.run_lock import covers, holder
from ralphy.pipeline.steps.table import makers
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
    """Write the marker for the gate that waits; gives the feature's name and the gate."""
    with call.workspace(feature) as w:
        call.lay_out(w)
        marked = at_gate.mark(w, marker, text, seen)
    if marked.withdraws:
        call.output.note("the approval that was not taken up yet is withdrawn")
    return w.feature.name, marked.gate


@click.command("abort")
@feature_argument
@with_options
def abort(call: Invocation, feature: str | None) -> int:
    """Ralphy and its agents in this checkout end; nothing is lost."""
    pid = stop(call, feature)
    return call.output.answer("abort", f"Stopping Ralphy (pid {pid})", pid=pid)


def stop(call: Invocation, feature: str | None) -> int:
    """Stop the Ralphy that works in this checkout; gives its process id."""
    return end_ralphy(call.repository(), call.feature(feature).name if feature is not None else "")


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
        before, state = close_breaker(w)
    changed = f"was {before}, is now {state}" if state != before else f"is {state} already"
    message = f"{w.feature.name}: the circuit breaker {changed}"
    return call.output.answer("reset-circuit", message, feature=w.feature.name, was=before, state=state)
