"""What to do next, as values: some rest, the others are acts. Each carries its reason in a sentence."""

from __future__ import annotations

from dataclasses import dataclass

from ralphy.errors import ExitCode


@dataclass(frozen=True, slots=True)
class Decision:
    """Base of all decisions."""

    reason: str


@dataclass(frozen=True, slots=True)
class Rest(Decision):
    """There is nothing to do for the moment; all others are acts."""

    exit_code: int = ExitCode.DONE


@dataclass(frozen=True, slots=True)
class Wait(Rest):
    """A person or a time is waited for: `gate` names the gate, `until` is epoch seconds.

    `brief` is the reason without how to answer, for lists that say that elsewhere; "" if they are the same. `story` is
    the one that --interactive asks about.
    """

    exit_code: int = ExitCode.WAITING
    gate: str = ""
    until: float | None = None
    brief: str = ""
    story: str = ""


@dataclass(frozen=True, slots=True)
class Halt(Rest):
    """Nothing more can be done until something changes, or until the epoch seconds `until`.

    `late` is the step that has used its time; a person may have rejected the feature (`is_rejected`).
    """

    exit_code: int = ExitCode.STORIES_OPEN
    until: float | None = None
    late: str = ""
    is_rejected: bool = False


@dataclass(frozen=True, slots=True)
class Done(Rest):
    """The feature has reached its end."""


@dataclass(frozen=True, slots=True)
class Await(Rest):
    """Agents work, and nothing can be done beside them: the end of a run is awaited."""

    exit_code: int = ExitCode.WAITING


@dataclass(frozen=True, slots=True)
class Recover(Decision):
    """A Ralphy that died left an intent or an open run: finish or clear it first."""


@dataclass(frozen=True, slots=True)
class SetAside(Decision):
    """A marker that is not a valid statement goes to `.ralphy/set-aside/`."""

    marker: str = ""


@dataclass(frozen=True, slots=True)
class Stop(Decision):
    """STOP was found: consume it and end."""


@dataclass(frozen=True, slots=True)
class Adopt(Decision):
    """Commit what a person changed in the feature folder."""


@dataclass(frozen=True, slots=True)
class Approve(Decision):
    gate: str = ""
    by: str = "APPROVED"


@dataclass(frozen=True, slots=True)
class Reject(Decision):
    """`text` goes back to the step's agent; without text the feature ends as rejected."""

    gate: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class OpenGate(Decision):
    """Record the moment from which on a marker counts."""

    gate: str = ""


@dataclass(frozen=True, slots=True)
class OpenBranch(Decision):
    """Make the feature's branch, with the feature folder as its first commit."""


@dataclass(frozen=True, slots=True)
class TakeBaseline(Decision):
    """Run the checks on the code as it stands, before any money is spent on it."""


@dataclass(frozen=True, slots=True)
class AcceptRed(Decision):
    """Record the failing tests of the baseline as known."""


@dataclass(frozen=True, slots=True)
class ProveParts(Decision):
    """Before the review: take back the parts of a landed story's code, one at a time."""

    story: str = ""


@dataclass(frozen=True, slots=True)
class RunAgent(Decision):
    """A fresh invocation for a step, or for one story's attempt; mode is fresh, heal or resume."""

    step: str = ""
    story: str | None = None
    attempt: int = 1
    mode: str = "fresh"
    model: str = ""


@dataclass(frozen=True, slots=True)
class GiveUp(Decision):
    """A story is set aside: `failed`, with `error` or else its last one."""

    story: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class TakeAnswer(Decision):
    """A person answered a question in QUESTIONS.md: a story's, or a step's."""

    story: str = ""
    step: str = ""


@dataclass(frozen=True, slots=True)
class AddFixes(Decision):
    """Turn the QA report's blocking findings into stories."""


@dataclass(frozen=True, slots=True)
class Publish(Decision):
    """Push the branch and open or adopt the pull request."""
