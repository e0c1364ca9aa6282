"""state get|set: the phase of a feature in the five words of ralph-dev; it is derived, so only some moves exist."""

from __future__ import annotations

import click

from ralphy.cli.group import Group
from ralphy.cli.options import Invocation, feature_argument, with_options
from ralphy.cli.status.look import standing
from ralphy.cli.stories.gates import mark
from ralphy.engine.person.again import redo_step
from ralphy.errors import Conflict, ExitCode
from ralphy.pipeline.steps.qa import QA
from ralphy.pipeline.steps.spec import SPEC
from ralphy.pipeline.steps.step import Step

# The words of status -> those of ralph-dev.
_WORDS = {
    "IDLE": "clarify",
    "CLARIFICATION": "clarify",
    "AWAITING_CLARIFICATION": "clarify",
    "SPECIFICATION": "breakdown",
    "AWAITING_SPEC_VALIDATION": "breakdown",
    "IMPLEMENTATION": "implement",
    "QA": "deliver",
    "AWAITING_QA_VALIDATION": "deliver",
    "PR": "deliver",
    "COMPLETED": "complete",
    "FAILED": "heal",
    "REJECTED": "clarify",
}
_PHASES = click.Choice(list(dict.fromkeys(_WORDS.values())))


@click.group("state", cls=Group, otherwise="get")
def state() -> None:
    """The phase follows from the feature's files."""


@state.command("get")
@feature_argument
@with_options
def get(call: Invocation, feature: str | None) -> int:
    """Show the phase, the story that is next or worked on, and how many are completed."""
    value = standing(call, feature)
    phase = _WORDS.get(value["phase"], "implement")
    open_ = [row for row in value["stories"] if row["status"] in ("in_progress", "pending")]
    open_.sort(key=lambda row: row["status"] != "in_progress")
    task = open_[0]["id"] if open_ and phase in ("implement", "heal") else None
    done = f"{value['tasks_completed']} of {value['tasks_total']} completed"
    summary = ", ".join(filter(None, (phase, f"task {task}" if task else "", done)))
    return call.output.answer("state", f"{value['feature']}: {summary}", feature=value["feature"], phase=phase,
                              currentTask=task, startedAt=value["started_at"], status=value["phase"],
                              tasks_completed=value["tasks_completed"], tasks_total=value["tasks_total"])  # fmt: skip


@state.command("set")
@feature_argument
@click.option("--phase", type=_PHASES, required=True, help="The phase to move to.")
@with_options
def set_(call: Invocation, feature: str | None, phase: str) -> int:
    """Move to a phase: breakdown writes SPEC.md again, implement approves it, deliver reviews the code again.

    Any other move is refused (4): what is not done is not skipped.
    """
    value = standing(call, feature)
    now, is_done = value["phase"], value["tasks_total"] == value["tasks_completed"] > 0
    if _WORDS.get(now) == phase:
        message = f"the phase is {phase} already"
    elif phase == "breakdown":
        message = _again(call, feature, SPEC)
    elif phase == "implement" and now == "AWAITING_SPEC_VALIDATION":
        mark(call, feature, "APPROVED", "")
        message = "SPEC.md is approved; `ralphy loop` works on the stories"
    elif phase == "deliver" and is_done:
        message = _again(call, feature, QA)
    else:
        raise Conflict(f"{value['feature']} cannot go from {_WORDS.get(now, now)} to {phase}: the phase follows from "
                       "what is done", hint=f"ralphy why {value['feature']}")  # fmt: skip
    return call.output.answer("state-set", message, ExitCode.DONE, feature=value["feature"], phase=phase, said=message)


def _again(call: Invocation, feature: str | None, step: Step) -> str:
    with call.edited(feature, f"redo {step.name}", review=False, starts_over=step.starts_over) as (w, _):
        return redo_step(w, step)
