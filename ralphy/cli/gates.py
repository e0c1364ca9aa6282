"""approve, reject, abort, redo, reset and reset-circuit: what a person says to a feature from the command line."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import click

from ralphy.adapters.files import replace_file
from ralphy.cli.options import Invocation, feature_argument, with_options
from ralphy.core.errors import Conflict, ExitCode, InvalidInput, NotFound, RalphyError

if TYPE_CHECKING:
    from ralphy.adapters.feature import Feature


@click.command("approve")
@feature_argument
@with_options
def approve(call: Invocation, feature: str | None) -> int:
    """Put APPROVED into the feature folder, as `touch APPROVED` does."""
    folder = call.feature(call.repository(), feature)
    note = _when_nothing_waits(call, folder, feature)
    replace_file(folder.file("APPROVED"), b"", durable=False)
    value = {"schema": "ralphy/approve@1", "ok": True, "feature": folder.name, "note": note}
    call.output.data("\n".join(filter(None, (f"{folder.name}: APPROVED written", note))), value)
    return ExitCode.DONE


@click.command("reject")
@feature_argument
@click.option("-m", "--message", default="", help="Remarks for the step's agent; without them the feature ends.")
@with_options
def reject(call: Invocation, feature: str | None, message: str) -> int:
    """Put REJECTED into the feature folder, with the remarks in it."""
    folder = call.feature(call.repository(), feature)
    note = _when_nothing_waits(call, folder, feature)
    replace_file(folder.file("REJECTED"), message.encode(), durable=False)
    value = {"schema": "ralphy/reject@1", "ok": True, "feature": folder.name, "note": note}
    call.output.data("\n".join(filter(None, (f"{folder.name}: REJECTED written", note))), value)
    return ExitCode.DONE


def _when_nothing_waits(call: Invocation, folder: Feature, feature: str | None) -> str:
    """What to say of a marker that no gate asks for just now; "" if one does, or if that cannot be told."""
    from ralphy.cli.look import standing

    try:
        phase = str(standing(call, feature)["phase"])
    except RalphyError:
        return ""
    if phase.startswith("AWAITING_"):
        return ""
    return (
        f"nothing waits at a gate of {folder.name} just now (phase {phase}); "
        "the file is judged at the next gate; if an agent has to run before that, it is set aside"
    )


@click.command("abort")
@feature_argument
@with_options
def abort(call: Invocation, feature: str | None) -> int:
    """End the Ralphy that works in this checkout, and its agent, at once; nothing is lost."""
    from ralphy.adapters.lock import holder

    repository = call.repository()
    wanted = call.feature(repository, feature).name if feature is not None else ""
    note = holder(repository.checkout_dir / "lock")
    pid, purpose = note.get("pid"), note.get("purpose")
    if not note or not isinstance(pid, int) or pid <= 1:
        raise NotFound("no Ralphy works in this checkout", hint="ralphy status")
    if wanted and purpose not in ("watch", f"feature {wanted}"):
        raise NotFound(f"no Ralphy works on {wanted} now", hint=f"pid {pid} is at work here: {purpose}")
    if str(note.get("host")) != os.uname().nodename:
        raise Conflict(f"the Ralphy that works here runs on {note.get('host')}", hint="end it there")
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        raise NotFound("no Ralphy works in this checkout any more", hint="ralphy status") from None
    call.output.data(f"Stopping Ralphy (pid {pid})", {"schema": "ralphy/abort@1", "ok": True, "pid": pid})
    return ExitCode.DONE


@click.command("redo")
@click.argument("target", metavar="STEP|STORY")
@feature_argument
@with_options
def redo(call: Invocation, target: str, feature: str | None) -> int:
    """Make a step (spec, qa, pr) or a story again at the next run.

    The step's document is set aside, never deleted; a story becomes pending and its attempt count resets.
    """
    from ralphy.engine.again import redo_step, redo_story

    with call.edited(feature, f"redo {target}", review=False, starts_over=target == "spec") as (w, s):
        if target in ("spec", "qa", "pr"):
            said = redo_step(w, target)
        elif any(story.id == target for story in s.prd.stories):
            said = redo_story(w, target)
        else:
            raise InvalidInput(f"{target!r} is no step (spec, qa, pr) and no story", hint="ralphy status")
    call.output.data(said, {"schema": "ralphy/redo@1", "ok": True, "target": target, "said": said})
    return ExitCode.DONE


@click.command("reset")
@feature_argument
@with_options
def reset(call: Invocation, feature: str | None) -> int:
    """Forget the attempts so far: failed and blocked stories become pending. Commits and kept attempts stay."""
    from ralphy.engine.again import reset_feature

    with call.edited(feature, "reset", review=False) as (w, _):
        said = reset_feature(w)
    call.output.data(said, {"schema": "ralphy/reset@1", "ok": True, "said": said})
    return ExitCode.DONE


@click.command("reset-circuit")
@feature_argument
@with_options
def reset_circuit(call: Invocation, feature: str | None) -> int:
    """Close the circuit breaker between runs: agents are started again. Attempts stay counted (see reset)."""
    with call.workspace(feature) as w:
        before = w.history.breaker.state_at(w.clock()).value
        w.record("reset_circuit")
        state = w.history.breaker.state_at(w.clock()).value
    value = {"schema": "ralphy/reset-circuit@1", "ok": True, "feature": w.feature.name, "was": before, "state": state}
    call.output.data(f"{w.feature.name}: the circuit breaker was {before} and is {state}", value)
    return ExitCode.DONE
