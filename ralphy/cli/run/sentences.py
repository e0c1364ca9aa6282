"""Events in words, for the log on stderr and `ralphy logs`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import singledispatch

from ralphy.agents.protocol import Outcome
from ralphy.cli.status.moments import moment, second
from ralphy.errors import ExitCode
from ralphy.pipeline import events as e
from ralphy.pipeline.steps.names import STORY
from ralphy.pipeline.verification import outcome_of
from ralphy.text.counted import counted
from ralphy.text.durations import span
from ralphy.text.tone import BAD, GOOD, WAITING

Words = Iterator[tuple[str, e.Tone]]
# Purpose of a check -> what it ran on beside the work itself; only -v shows these.
_ON = {
    "old_tests": " on the old versions of the tests that were edited",
    "red_first": " on the code of before with the story's tests",
    "part": " without one of the story's changes",
}
_QUIET = ("OpenGate", "SetAside", "Approve", "Stop")


@singledispatch
def sentences(event: e.Event) -> Words:
    """The lines of the log for an event, each with its tone; none for events that are shown otherwise."""
    del event
    yield from ()


def is_detail(event: e.Event) -> bool:
    """Does only -v show it?"""
    if isinstance(event, e.Decided):
        return event.decision in _QUIET
    if isinstance(event, e.CheckRan):
        return event.purpose in _ON
    return isinstance(event, e.RunBegan) or (isinstance(event, e.Said) and event.is_detail)


@sentences.register
def _(event: e.Said) -> Words:
    yield event.text, event.tone


@sentences.register
def _(event: e.Decided) -> Words:
    if event.decision == "RunAgent":
        model = "" if event.step == STORY else f" ({event.model})"  # a story's reason names it
        yield f"{event.phase}: {event.reason}{model}", ""
    elif event.decision == "TakeBaseline":
        yield "Running baseline checks…", ""
    elif event.decision in _QUIET:
        yield f"{event.decision}: {event.reason}", ""
    elif event.decision == "Wait":
        yield waited(event), WAITING
    else:
        yield rested(event), "" if not event.rests else GOOD if event.exit_code == ExitCode.DONE else BAD


def rested(event: e.Decided, *, waits: bool = True) -> str:
    """The reason of a rest, and when it ends, if that is known."""
    if event.decision == "Wait":
        return waited(event, waits=waits)
    over = f"; that is {moment(event.until, event.at)}" if event.until is not None else ""
    return f"{event.reason}{over}"


def waited(event: e.Decided, *, waits: bool = True) -> str:
    """The reason of a wait, and until when; without `waits`, that Ralphy does not wait."""
    if event.until is None:
        return event.reason
    at = moment(event.until, event.at)
    if waits:
        return f"waiting until {at}: {event.reason}"
    limited = f"limited until {at}; " if event.exit_code == ExitCode.LIMITED else ""
    return f"{limited}not waiting (--no-wait): {event.reason}"


@sentences.register
def _(event: e.Waiting) -> Words:
    yield f"still waiting, {span(event.seconds_left)} left: {event.reason}", ""


@sentences.register
def _(event: e.RunBegan) -> Words:
    yield f"agent: --model {event.model}, run {event.run} in lane {event.lane} (sandbox: {event.sandbox})", ""


@sentences.register
def _(event: e.AgentActivity) -> Words:
    """Only warnings: `ralphy.cli.run.narrator` shows the rest, which comes often and means little later."""
    if event.activity == "warning":
        yield event.text, ""


@sentences.register
def _(event: e.RunEnded) -> Words:
    """A story's run that did not land; other events report an end that is not the agent's fault."""
    outcome = Outcome(event.outcome)
    if event.step != STORY:
        is_word = outcome in (Outcome.SUCCEEDED, Outcome.NEEDS_INPUT)
        if is_word or outcome not in (Outcome.DIED, Outcome.STOPPED):
            yield event.detail if is_word else f"the {event.step} step did not succeed: {event.detail}", ""
    elif outcome.costs_an_attempt and not event.landed:
        diff_hint = f" (kept: ralphy attempts diff {event.feature}/{event.story} {event.kept})" if event.kept else ""
        attempt = f"{event.story} attempt {event.attempt}"
        if outcome is Outcome.NEEDS_INPUT:
            yield f"{attempt} needs an answer: {event.detail}{diff_hint}", WAITING
        else:
            yield f"{attempt} rejected: {event.detail}{diff_hint}", BAD


@sentences.register
def _(event: e.CheckRan) -> Words:
    is_good = event.passed is (event.purpose not in ("red_first", "part"))
    line = f"  check {event.check}{_ON.get(event.purpose, '')}: {event.said} ({event.seconds:.1f} s)"
    yield line, GOOD if is_good else BAD
    if event.first_error:
        yield f"    {event.first_error}", ""


@sentences.register
def _(event: e.Landed) -> Words:
    if not event.verified:
        headline = f"landed {event.story} unverified"
    elif event.flagged:
        headline = f"committed {event.story} with {counted(len(event.flagged), 'flag')}"
    else:
        headline = f"verified and committed {event.story}"
    yield f"{headline}: {event.commit[:10]} {event.title}", GOOD if event.verified and not event.flagged else WAITING
    for warning in event.flagged:
        yield f"  flagged: {warning}", WAITING


@sentences.register
def _(event: e.StoryFailed) -> Words:
    yield f"{event.story} has failed: {event.reason}", BAD
    yield f"see the question in {event.asked_in}", ""


@sentences.register
def _(event: e.GateAnswered) -> Words:
    if event.verdict == "approved":
        yield f"{event.document} is approved ({event.by})", ""
    else:
        yield f"{event.document} is rejected{' and goes back with the remarks' * (event.verdict == 'revise')}", ""


@sentences.register
def _(event: e.PullRequestOpened) -> Words:
    yield f"pull request {'adopted' if event.adopted else 'opened'}: {event.url}", ""


@sentences.register
def _(event: e.HeldUp) -> Words:
    yield f"{event.feature}: {event.message}" + (f" ({event.hint})" if event.hint else ""), BAD


def title(run: e.RunBegan | None, of: str, name: str) -> str:
    """The line above a run's lines in `ralphy logs`: only its name if the journal does not know the run."""
    parts = [of]
    if run:
        parts += [f"attempt {run.attempt}", second(run.at) if run.at else "", run.model]
    return f"==> {', '.join(filter(None, parts))}, run {name} <=="


def ending(run: e.RunEnded) -> str:
    """The line below a run's lines in `ralphy logs`."""
    took = f" after {span(run.seconds)}" if run.seconds else ""  # unknown for a run that was cut off
    parts = [f"{run.outcome} at {second(run.at)}{took}", f"${run.cost_usd:.2f}"]
    for check in run.checks:
        parts.append(f"{outcome_of(check)} ({span(float(check.get('seconds') or 0.0))})")
    why = " ".join(run.detail.split())[:200]
    return ", ".join(parts) + (f": {why}" if why else "")


def in_words(say: Callable[[str, e.Tone], object]) -> e.Listener:
    """A listener that says the lines of each event, without details."""

    def hear(event: e.Event) -> None:
        for text, tone in () if is_detail(event) else sentences(event):
            say(text, tone)

    return hear
