"""What a run tells: one stream of typed events, whose listeners are the console, `--json` and the journal's readers.

Why it is so: docs/decisions/014-events.md. docs/reference/events.md and schemas/events.schema.json are made from these
classes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal

from ralphy.text.json_coerce import mapping_of, number_of, text_of

SCHEMA = "ralphy/event@1"
Tone = Literal["", "good", "bad", "waiting", "faint", "strong"]
Purpose = Literal[
    "candidate", "baseline", "probe", "hook", "old_tests", "red_first", "part", "again", "acceptance_tests",
    "accept",
]  # fmt: skip
Verdict = Literal["approved", "rejected", "revise"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What all events have."""

    at: Annotated[float, "when, in epoch seconds"] = 0.0
    feature: Annotated[str, 'the feature; "" if it is about none'] = ""
    story: Annotated[str | None, "the story that is worked on"] = None
    lane: Annotated[str | None, "the lane that is worked in"] = None

    @classmethod
    def kind(cls) -> str:
        """check_ran of CheckRan."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def to_json(self) -> dict[str, Any]:
        """A line of `--json`."""
        return {
            "schema": SCHEMA,
            "kind": self.kind(),
            **{f.name: list(v) if isinstance(v := getattr(self, f.name), tuple) else v for f in fields(self)},
        }


Listener = Callable[[Event], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said(Event):
    """A sentence for people that has no fields of its own."""

    text: Annotated[str, "the sentence"]
    tone: Annotated[Tone, "what it means to its reader"] = ""
    is_detail: Annotated[bool, "only `-v` shows it"] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided(Event):
    """What is done next, or why nothing is. A rest that was told already is not told again."""

    decision: Annotated[str, "its kind: RunAgent, TakeBaseline, Wait, Halt, Done, …"]
    phase: Annotated[str, "where the feature stands: the same word as in `ralphy status`"]
    reason: Annotated[str, "one sentence"]
    rests: Annotated[bool, "nothing is done for the moment"]
    exit_code: Annotated[int | None, "what the run ends with if this rest is not waited for"] = None
    gate: Annotated[str, 'the gate that is waited at, approved or opened; ""'] = ""
    until: Annotated[float | None, "epoch seconds: when it goes on, or may be tried again"] = None
    step: Annotated[str, 'the step of an agent run; ""'] = ""
    attempt: Annotated[int | None, "the number of an agent run's attempt"] = None
    mode: Annotated[str, "of an agent run: fresh, heal or resume"] = ""
    model: Annotated[str, 'of an agent run; ""'] = ""
    completed: Annotated[int, "stories that are completed"] = 0
    stories: Annotated[int, "stories in all"] = 0
    runs: Annotated[int, "agent runs of this call of Ralphy"] = 0
    cost_usd: Annotated[float, "dollars of this call of Ralphy"] = 0.0
    rehearsed: Annotated[bool, "the agent is the scripted stand-in: its models and costs are fictitious"] = False
    branch: Annotated[str, 'the feature\'s branch; "" before there is one'] = ""
    ahead: Annotated[str, 'what is left and will take, in words; "" if nothing tells'] = ""
    notice: Annotated[str, "files to be read first: they steer agents, CI or what people run"] = ""
    current: Annotated[str, 'how to see a document whose version in the checkout is another one; ""'] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting(Event):
    """A limit of the provider is waited for. There is such a line every minute."""

    decision: Annotated[Literal["Wait"], "always Wait"] = "Wait"
    reason: Annotated[str, "one sentence"]
    until: Annotated[float | None, "epoch seconds"]
    seconds_left: Annotated[int, "how long it still takes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBegan(Event):
    """An agent is started. The journal has it, too."""

    run: Annotated[str, "the run's id"]
    step: Annotated[str, "clarify, spec, acceptance, story, split, qa, pr"]
    attempt: Annotated[int, "the attempt's number"]
    mode: Annotated[str, "fresh, heal or resume"]
    model: Annotated[str, "the model that is asked for"]
    sandbox: Annotated[str, "bwrap or none"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentActivity(Event):
    """What the agent does: a few lines a second at most, none with `--no-progress`. Warnings are always told."""

    run: Annotated[str, "the run's id"]
    activity: Annotated[str, "reading, writing, running, thinking, text, tool, result, warning, …"]
    text: Annotated[str, "a line of it"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded(Event):
    """An agent run is over and judged. The journal has it, too."""

    run: Annotated[str, "the run's id"]
    step: Annotated[str, "clarify, spec, acceptance, story, split, qa, pr"]
    attempt: Annotated[int, "the attempt's number"]
    outcome: Annotated[str, "succeeded, rejected, needs_input, stalled, timed_out, crashed, limited, …"]
    landed: Annotated[bool, "its story is committed"] = False
    cost_usd: Annotated[float, "dollars"] = 0.0
    seconds: Annotated[float, "of the agent and the checks"] = 0.0
    tokens: Annotated[Mapping[str, int], "by kind"] = field(default_factory=dict)
    checks: Annotated[tuple[Mapping[str, Any], ...], "the checks that judged it: name, run, exit, seconds"] = ()
    detail: Annotated[str, "why it did not count, or what it made"] = ""
    kept: Annotated[int | None, "its work is kept as this attempt (`ralphy attempts`)"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRan(Event):
    """A check was run to its end."""

    check: Annotated[str, "its name"]
    purpose: Annotated[Purpose, "what it looked at: an agent's work, the code as it is, broken code, …"]
    passed: Annotated[bool, "it is green"]
    said: Annotated[str, "passed, exit 1, no tests found, took more than 900 s, …"]
    seconds: Annotated[float, "how long it took"]
    failing: Annotated[tuple[str, ...], "the tests that failed, as far as they are named"] = ()
    first_error: Annotated[str, "the first error that it printed"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed(Event):
    """A story is verified and committed."""

    title: Annotated[str, "the story's title"]
    commit: Annotated[str, "its commit"]
    run: Annotated[str, "the agent run that passed"]
    attempt: Annotated[int, "the attempt that passed"]
    cost_usd: Annotated[float, "dollars, all attempts"]
    verified: Annotated[bool, "at least one check found something to run"]
    flagged: Annotated[tuple[str, ...], "what a reader should know although it counts"] = ()
    whole_runs: Annotated[int, "how often checks were run as they stand, for this attempt"] = 0
    narrowed_runs: Annotated[int, "how often a check was run on a few files of tests alone"] = 0
    red_first: Annotated[int, "how many tests fail without the story's code, and pass with it"] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryFailed(Event):
    """A story is given up; a person is asked what to do about it."""

    reason: Annotated[str, "its last error"]
    asked_in: Annotated[str, "the document in which the answer is read"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateAnswered(Event):
    """A person, or an automatic gate, has answered."""

    gate: Annotated[str, "clarify, spec or qa"]
    document: Annotated[str, "what was approved or sent back"]
    verdict: Annotated[Verdict, "revise: it goes back with remarks"]
    by: Annotated[str, "by what: APPROVED, REJECTED, auto, …"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestOpened(Event):
    """The feature's pull request is there."""

    url: Annotated[str, "where"]
    adopted: Annotated[bool, "it was there already"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldUp(Event):
    """One of several features cannot be worked on; the others go on."""

    message: Annotated[str, "what is in the way"]
    hint: Annotated[str, 'what to do; ""'] = ""
    exit_code: Annotated[int, "what a run of this feature alone would end with"]


EVENTS: tuple[type[Event], ...] = (
    Said, Decided, Waiting, RunBegan, AgentActivity, RunEnded, CheckRan, Landed, StoryFailed, GateAnswered,
    PullRequestOpened, HeldUp,
)  # fmt: skip


def of_journal(entry: Mapping[str, Any], begun: Mapping[str, Any]) -> Event | None:
    """The event of a journal's line, if it is one of a run; `begun` is the line that the run began with."""
    run, kind = begun if begun.get("run") == entry.get("run") else {}, entry.get("ev")
    about = {**run, **entry}
    shared: dict[str, Any] = {
        "at": number_of(entry.get("at")) or 0.0,
        "feature": text_of(about.get("feature")),
        "story": text_of(about.get("story")) or None,
        "lane": text_of(about.get("lane")) or None,
        "run": text_of(about.get("run")),
        "step": text_of(about.get("step")),
        "attempt": int(number_of(about.get("attempt")) or 0),
    }
    if kind == "run":
        return RunBegan(**shared, mode=text_of(entry.get("mode")), model=text_of(entry.get("model")),
                        sandbox=text_of(entry.get("sandbox")))  # fmt: skip
    return _ended(entry, shared) if kind == "end" else None


def _ended(entry: Mapping[str, Any], shared: Mapping[str, Any]) -> RunEnded:
    saved_attempt = number_of(entry.get("kept"))
    return RunEnded(
        **shared,
        outcome=text_of(entry.get("outcome")),
        landed=entry.get("landed") is True,
        cost_usd=number_of(entry.get("cost")) or 0.0,
        seconds=number_of(entry.get("seconds")) or 0.0,
        tokens={kind: int(number_of(n) or 0) for kind, n in mapping_of(entry.get("tokens")).items()},
        checks=tuple(mapping_of(check) for check in entry.get("checks") or ()),
        detail=text_of(entry.get("detail")),
        kept=int(saved_attempt) if saved_attempt else None,
    )
