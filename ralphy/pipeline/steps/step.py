"""A step as one object: when its agent runs, what its prompt holds, what it hands in, and the gate behind that.

A plain `Step` makes a document when all stories are completed, and again when one of its inputs changed. Other steps
override the methods that differ. Files are read and written by the engine: a step gets values and gives values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from ralphy.config.values import Config, Gates, Models
from ralphy.pipeline import decision as d
from ralphy.pipeline.gates import gate_decision, revision
from ralphy.pipeline.life import is_done
from ralphy.pipeline.model import Document, Prd, Snapshot

CODE = "code"  # the input that is not a document: the tree of the code
BEFORE = "before"  # the input that is the document of the step before it, whichever that is
DRAFT = "stories.json"


class DocumentFormat(Enum):
    """How the engine checks what an agent hands in, before the step sees it."""

    TEXT = "text"
    STORIES = "stories"
    REVIEW = "review"
    PULL_REQUEST = "pull request"


class Briefing(Enum):
    """Groups of values that a template may use beside those that every template has."""

    FEATURE = "PRD.md and SPEC.md"
    STORIES = "the stories, a line each"
    STORY = "one story and what is known of it"
    REVIEW = "SPEC.md, the stories and their evidence"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file that an agent is to hand in."""

    name: str
    format: DocumentFormat = DocumentFormat.TEXT
    is_needed: bool = True


@dataclass(frozen=True, slots=True)
class Handed:
    """What an agent handed in, checked; `project`, `branch` and `schema` (the way to it) are what prd.json says of them
    if it does not yet."""

    files: Mapping[str, bytes]
    stories: Sequence[Document] = ()
    story: str = ""
    project: str = ""
    branch: str = ""
    schema: str = ""


@dataclass(frozen=True, slots=True)
class StepOutput:
    """What a step makes of what was handed in: files of the feature folder, the PRD, and the commit's subject if it has
    one of its own.

    `record` is what the workflow keeps of it beside the digests of inputs and outputs.
    """

    files: Mapping[str, bytes]
    prd: Prd
    subject: str = ""
    record: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """`document` is what it makes in the feature folder, of `inputs` (documents, CODE, BEFORE); "" if it makes none
    there.

    `phase` and `waiting_phase` are the words of status, `timeout` and `models` name settings, `gate` gives the policy
    of its gate, `beside` are documents that are approved with its own (`then` gives their steps their turn).
    `why_first` and `why_again` say why its agent runs. `patience` is how much longer than others it may be silent.
    `starts_over` says that `redo` begins the feature again.
    """

    name: str
    phase: str
    timeout: str
    models: Callable[[Models], Sequence[str]]
    document: str = ""
    format: DocumentFormat = DocumentFormat.TEXT
    inputs: tuple[str, ...] = ()
    briefing: tuple[Briefing, ...] = (Briefing.REVIEW,)
    gate: Callable[[Gates], str] | None = None
    beside: tuple[str, ...] = ()
    waiting_phase: str = ""
    why_first: str = ""
    why_again: str = ""
    patience: float = 1.0
    starts_over: bool = False
    former_template: str = ""

    def model(self, config: Config, attempt: int = 1, wanted: str = "") -> str:
        """The model of a run: the story's own wish, else the step's; attempts climb the ladder."""
        ladder = self.models(config.models)
        return wanted or ladder[min(attempt, len(ladder)) - 1]

    def active_limit_s(self, config: Config) -> float:
        """How many seconds of active time the step may take in all."""
        limit: float = getattr(config.timeouts, self.timeout)
        return limit

    def rule(self, s: Snapshot, config: Config) -> d.Decision | None:
        """What the step asks for now; None if it is done, and its gate open."""
        applies = self.applies(s)
        if applies and (why := self.why(s)):
            return d.RunAgent(why, self.name)
        if applies and (more := self.then(s, config)):
            return more
        at_gate = gate_decision(s, self, self.gate(config.gates)) if applies and self.gate else None
        if s.session.last_step == self.name and not isinstance(at_gate, d.OpenGate):
            return d.Done(f"{self.document} is there and fresh")
        return at_gate

    def applies(self, s: Snapshot) -> bool:
        """Is it the step's turn, as far as the steps before it go?"""
        return is_done(s.prd)

    def why(self, s: Snapshot) -> str:
        """Why its document is to be made (again); "" if it stands."""
        if revision(s, self.name):
            return f"{self.document} was sent back with remarks"
        if not s.digest(self.document):
            return self.why_first or f"{self.document} is missing"
        names = " or ".join(f"the {name}" if name == CODE else name for name in self.reads())
        return (self.why_again or f"{names} changed since {self.document} was made") if self.is_outdated(s) else ""

    def then(self, s: Snapshot, config: Config) -> d.Decision | None:  # noqa: ARG002 - steps override it
        """What follows from the document, before its gate."""
        return None

    def is_outdated(self, s: Snapshot) -> bool:
        """Did an input change since the document was made?"""
        read, now = s.prd.step(self.name).get("inputs") or {}, self.inputs_now(s)
        return bool(read) and any(read.get(name, "") != now.get(name, "") for name in self.reads())

    def reads(self) -> tuple[str, ...]:
        """The inputs by their names."""
        from ralphy.pipeline.steps.table import document_before

        return tuple(document_before(self) if name == BEFORE else name for name in self.inputs)

    def inputs_now(self, s: Snapshot) -> dict[str, str]:
        """The digests of the inputs that are there."""
        now = {name: s.tree.code if name == CODE else s.digest(name) for name in self.reads()}
        return {name: digest for name, digest in now.items() if digest}

    @property
    def at_gate(self) -> tuple[str, ...]:
        """The documents that its gate is about."""
        return (self.document, *self.beside)

    def content(self, s: Snapshot) -> str:
        """What its gate is about: the digests of its document and of those that are approved with it."""
        return "+".join(digest for name in self.at_gate if (digest := s.digest(name)))

    def refuses(self, s: Snapshot) -> bool:  # noqa: ARG002
        """Does the document itself say no? Then only a person may say yes."""
        return False

    def notes(self, s: Snapshot) -> Sequence[str]:  # noqa: ARG002
        """What a person should know at the gate."""
        return ()

    def wants(self, s: Snapshot) -> tuple[Wanted, ...]:  # noqa: ARG002
        """What the agent is to hand in."""
        return (Wanted(self.document, self.format),)

    def take(self, s: Snapshot, handed: Handed) -> StepOutput:
        """What the step makes of what was handed in. Raises InvalidInput with a message for the agent."""
        return StepOutput(handed.files, s.prd)
