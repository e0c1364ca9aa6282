"""The nouns that decisions are made of: stories, the PRD, artifacts, markers, and the snapshot of a feature.

Everything here is a value. `raw` keeps the document as it was read, so that fields that Ralphy does
not know survive a rewrite.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from ralphy.pipeline.history import History
from ralphy.pipeline.life import Life

if TYPE_CHECKING:
    from ralphy.pipeline.acceptance import Acceptance

Document = dict[str, Any]


class Status(Enum):
    """Where a story stands; `blocked` is stored only for an open question."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class Story:
    """One user story; `index` is its place in the file."""

    id: str
    title: str
    status: Status
    priority: int
    depends_on: tuple[str, ...]
    index: int
    raw: Document

    @classmethod
    def of(cls, raw: Document, index: int) -> Story:
        status = raw.get("status")
        if status is None:
            status = "completed" if raw.get("passes") is True else "pending"
        after = tuple(raw.get("dependsOn", ()))
        return cls(raw["id"], raw["title"], _STATUS[status], raw.get("priority", 0), after, index, raw)

    @property
    def is_completed(self) -> bool:
        return self.status is Status.COMPLETED

    @property
    def is_open(self) -> bool:
        """Still to be done by a run; `in_progress` is written for readers and means pending."""
        return self.status is Status.PENDING or self.status is Status.IN_PROGRESS

    @property
    def kind(self) -> str:
        return str(self.raw.get("kind", "code"))

    @property
    def execution(self) -> Mapping[str, Any]:
        return self.raw.get("execution") or {}

    @property
    def removes(self) -> tuple[str, ...]:
        """The tests that it may remove or change: ids, globs, files or folders."""
        return self._tests("removes")

    @property
    def changes(self) -> tuple[str, ...]:
        """The tests whose expectations it may change, those included that it may remove."""
        return (*self.removes, *self._tests("changes"))

    def _tests(self, field: str) -> tuple[str, ...]:
        testing = self.raw.get("testing")
        named = testing.get(field) if isinstance(testing, dict) else None
        return tuple(str(name) for name in named) if isinstance(named, list) else ()


_STATUS = {status.value: status for status in Status}


@dataclass(frozen=True, slots=True)
class Prd:
    """prd.json as a value; every change gives a new one."""

    raw: Document
    stories: tuple[Story, ...]

    @classmethod
    def of(cls, raw: Document) -> Prd:
        return cls(raw, tuple([Story.of(story, i) for i, story in enumerate(raw.get("userStories", ()))]))

    def story(self, story_id: str) -> Story:
        """The story of that id; KeyError if there is none."""
        for story in self.stories:
            if story.id == story_id:
                return story
        raise KeyError(story_id)

    @property
    def completed_ids(self) -> frozenset[str]:
        return frozenset(story.id for story in self.stories if story.is_completed)

    def with_story(self, story_id: str, **changes: Any) -> Prd:
        """The PRD with some fields of one story replaced, the others as they were.

        New fields go before the last one: a story whose last line stays as it is can be reverted although
        others were added behind it.
        """
        old = self.story(story_id)
        last = next(reversed(old.raw))
        end = {} if last in changes else {last: old.raw[last]}
        new = Story.of({**{k: v for k, v in old.raw.items() if k not in end}, **changes, **end}, old.index)
        stories = (*self.stories[: old.index], new, *self.stories[old.index + 1 :])
        return Prd({**self.raw, "userStories": [story.raw for story in stories]}, stories)

    def with_stories(self, stories: list[Document]) -> Prd:
        return Prd.of({**self.raw, "userStories": stories})

    def with_workflow(self, **changes: Any) -> Prd:
        return Prd({**self.raw, "workflow": {**self.workflow, **changes}}, self.stories)

    @property
    def workflow(self) -> Mapping[str, Any]:
        return self.raw.get("workflow") or {}

    @property
    def pr(self) -> Mapping[str, Any]:
        """What was recorded of the publishing."""
        return self.workflow.get("pr") or {}

    @property
    def gate_verdicts(self) -> tuple[GateVerdict, ...]:
        """What was said at gates, approvals and rejections alike, oldest first."""
        return tuple(GateVerdict.of(entry) for entry in self.workflow.get("approvals", ()))

    def step(self, name: str) -> Mapping[str, Any]:
        """What was recorded when a step's output was adopted: inputs and outputs, name -> digest."""
        record = (self.workflow.get("steps") or {}).get(name)
        return record if isinstance(record, Mapping) else {}

    def with_step(self, name: str, record: Document) -> Prd:
        return self.with_workflow(steps={**(self.workflow.get("steps") or {}), name: record})


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """A person's verdict at a gate: approved, rejected or revise, on the content of that `digest` (and `code`)."""

    gate: str
    verdict: str
    digest: str
    code: str = ""
    text: str = ""
    answered: bool = False

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> GateVerdict:
        return cls(
            str(raw.get("gate", "")),
            str(raw.get("verdict", "approved")),
            str(raw.get("digest", "")),
            str(raw.get("code", "")),
            str(raw.get("text", "")),
            raw.get("answered") is True,
        )


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file of the feature folder: sha256 of its bytes, and when it last changed (ctime, nanoseconds)."""

    digest: str
    ctime_ns: int


@dataclass(frozen=True, slots=True)
class Marker:
    """APPROVED, REJECTED or STOP as it lies there; `invalid` says why it is not a statement of a person. `meant` is the
    one of these that a file with another name probably is."""

    ctime_ns: int
    text: str = ""
    invalid: str = ""
    meant: str = ""


@dataclass(frozen=True, slots=True)
class ReviewFinding:
    """A finding of the review; severity is critical, major, minor or info.

    `id` (F1, F2, …) is the same in every round. `state` is open, resolved, dropped (the reviewer takes it back) or
    noted (found too late to block); `note` says why. `criterion` names the one that is not met.
    """

    severity: str
    title: str
    file: str = ""
    detail: str = ""
    id: str = ""
    criterion: str = ""
    state: str = "open"
    note: str = ""

    @property
    def is_open(self) -> bool:
        return self.state == "open"

    @property
    def blocks(self) -> bool:
        return self.is_open and self.severity in ("critical", "major")


@dataclass(frozen=True, slots=True)
class CriterionAnswer:
    """What the review says of a criterion, by its name (US-003.2): `met` is yes, no or unknown; `tests` show it."""

    id: str
    met: str
    tests: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class QaReport:
    """QA_REPORT.md's front matter; `criteria` is None where the report does not answer them one by one."""

    verdict: str
    findings: tuple[ReviewFinding, ...] = ()
    criteria: tuple[CriterionAnswer, ...] | None = None

    @property
    def blocking(self) -> tuple[ReviewFinding, ...]:
        return tuple(finding for finding in self.findings if finding.blocks)

    @property
    def unmet(self) -> tuple[str, ...]:
        """The criteria that are not met, by name."""
        return tuple(answer.id for answer in self.criteria or () if answer.met == "no")


@dataclass(frozen=True, slots=True)
class Answer:
    """A person's answer in QUESTIONS.md to the question of a story, or of a step (then `story` is "")."""

    story: str
    text: str
    question: str = field(default="", compare=False)
    step: str = ""

    @property
    def is_yes(self) -> bool:
        return self.text.strip().lower().rstrip(".!") in ("yes", "y", "oui", "ja", "ok")


@dataclass(frozen=True, slots=True)
class Tree:
    """The repository as a decision needs it. `code` is the tree id of HEAD without the feature folder.

    `branch` is the feature's once its work has begun, before that the one it will begin at. `edited` lists changed
    files of the feature folder; `busy` names a merge or rebase that is in progress, of the feature's branch or, before
    its work has begun, in this checkout (there a bisect, too). `obstacle` is a branch whose name leaves no room for the
    feature's. `pushed` is the commit that the remote was last seen to have on that branch; `behind` is the branch's tip
    where its work has not begun and it holds nothing new, `tracked` a document but PRD.md that is committed by then.
    """

    head: str
    branch: str
    base: str
    feature_branch: str
    code: str
    edited: tuple[str, ...] = ()
    busy: str = ""
    obstacle: str = ""
    pushed: str = ""
    behind: str = ""
    tracked: str = ""

    @property
    def is_on_branch(self) -> bool:
        return self.branch == self.feature_branch


@dataclass(frozen=True, slots=True)
class Lost:
    """Stories that a commit has in the prd.json at `path`, and that are not there any more."""

    path: str
    commit: str
    stories: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Baseline:
    """What the checks said of a code tree; `unnamed` are those that failed without naming a test."""

    is_green: bool
    red: tuple[str, ...] = ()
    detail: str = ""
    unnamed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InWork:
    """A run that an agent works in now: its story (or step), the dollars that it may spend, 0 where nothing bounds
    them; whether walls keep the agent in its lane; and whether the agent has ended, and its work is to be judged."""

    run: str
    story: str
    promised_usd: float = 0.0
    is_closed: bool = True
    is_over: bool = False


@dataclass(frozen=True, slots=True)
class Session:
    """What belongs to this call of Ralphy alone (no session of Claude Code). `began` and `until` are epoch seconds.

    `last_step` ends the run after it; `only` are the stories that it is for (ids and ranges), () for all. `over` are
    those that had ended (with how) when a person last said to go on; None where nobody is asked after each story.
    `refused` is why a push failed, with the exit code for that, `fatal` why no agent can run at all; `troubles` counts
    passing troubles of the provider in a row, `active_s` the seconds that agents and checks worked, by step; `waited`
    is the moment that was last waited for, whatever the clock says of it. `short_since` is since when the disk is full
    (0: there is), `cut_short` why the open run is to be closed without counting, `times_cut` how often that was.
    `in_work` are the runs that go on now, `ended_at` is when the last one ended, on the steady clock. `parts` was found
    of the parts of landed stories and is not committed yet, `parts_s` is how long a review waited for that.
    """

    runs: int = 0
    cost_usd: float = 0.0
    until: float | None = None
    last_step: str = ""
    only: tuple[str, ...] = ()
    over: frozenset[tuple[str, str]] | None = None
    stop_asked: bool = False
    accepts_red: bool = False
    fatal: str = ""
    troubles: int = 0
    active_s: Mapping[str, float] = field(default_factory=dict)
    published: str = ""
    refused: tuple[str, int] = ("", 0)
    short_since: float = 0.0
    cut_short: str = ""
    times_cut: int = 0
    waited: float = 0.0
    began: float = 0.0
    in_work: tuple[InWork, ...] = ()
    ended_at: float = 0.0
    parts: Mapping[str, Document] = field(default_factory=dict)
    parts_s: float = 0.0

    @property
    def stories_in_work(self) -> frozenset[str]:
        return frozenset(work.story for work in self.in_work)

    @property
    def at_work(self) -> int:
        """How many agents work now."""
        return sum(not work.is_over for work in self.in_work)

    @property
    def promised_usd(self) -> float:
        """Dollars that runs may still spend of those that nobody has spent yet."""
        return sum(work.promised_usd for work in self.in_work)

    def has_waited(self, until: float, now: float) -> bool:
        """Is that moment past, by the clock or because it was waited for?"""
        return until <= now or until == self.waited


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that `decide` may know of a feature, read at one moment; `now` is epoch seconds.

    `obstructions` are sentences on things that lie where a document belongs. `paths` has the files that a
    story is likely to change, as far as that is known. `prd_faults` are what PRD.md lacks for a specification, as long
    as there is none; `unclear` are the questions before it that nobody has answered, None where none are asked, and
    `most_questions` how many may be. `folder` is the feature's from the root, `typed_folder` as a shell takes it;
    `left_to_git` are the documents that it has as the commit that is checked out does.
    """

    feature: str
    now: float
    prd: Prd
    tree: Tree
    history: History
    has_prd_file: bool = True
    artifacts: Mapping[str, Artifact] = field(default_factory=dict)
    markers: Mapping[str, Marker] = field(default_factory=dict)
    answers: tuple[Answer, ...] = ()
    unanswered_steps: frozenset[str] = frozenset()
    baseline: Baseline | None = None
    qa: QaReport | None = None
    acceptance: Acceptance | None = None
    unfinished: str = ""
    lost: Lost | None = None
    obstructions: tuple[str, ...] = ()
    free_mb: float = math.inf
    session: Session = field(default_factory=Session)
    life: Life = Life.OPEN
    paths: Mapping[str, frozenset[str]] = field(default_factory=dict)
    prd_faults: tuple[str, ...] = ()
    unclear: tuple[str, ...] | None = None
    most_questions: int = 5
    folder: str = ""
    typed_folder: str = ""
    left_to_git: tuple[str, ...] = ()

    def digest(self, name: str) -> str:
        """The digest of an artifact; "" if it is not there."""
        artifact = self.artifacts.get(name)
        return artifact.digest if artifact else ""
