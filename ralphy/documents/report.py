"""The report of a feature: what waits for a person, what landed with which proof, what failed, and what it cost.

`report_of` gives the data, `report_text` and `report_page` render it. The matrix is also the appendix of QA_REPORT.md
and PR.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ralphy.documents.criteria import items_of
from ralphy.documents.review import CRITERIA
from ralphy.pipeline import decision as d
from ralphy.pipeline.life import Life
from ralphy.pipeline.model import Prd, QaReport, Snapshot, Story
from ralphy.pipeline.nights import Moment, Past, Turn, nights_of
from ralphy.pipeline.parts import parts_in_words
from ralphy.pipeline.steering import steering_of
from ralphy.pipeline.stories import warnings_of
from ralphy.pipeline.verification import asked_of, changed_lines, is_unverified, verified_by
from ralphy.text.json_coerce import count_of, mapping_of, number_of
from ralphy.text.plain_text import one_line
from ralphy.text.rehearsed import is_marked

# The names of the report's files in the feature's folder.
MARKDOWN, PAGE = "REPORT.md", "REPORT.html"


@dataclass(frozen=True, slots=True)
class CriterionRow:
    """A test of a criterion, with its result before and after the story's code; `met` is the review's answer.

    `criterion` is "" for a test that the review named for none, `test` is "" for a criterion that no test covers.
    """

    id: str
    criterion: str
    test: str
    before: str
    after: str
    commit: str
    met: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Need:
    """What waits for a person, in a sentence, and the command or file that answers it; `story` is the one that asks."""

    said: str
    do: str
    story: str = ""


@dataclass(frozen=True, slots=True)
class LandedStory:
    """A story that landed: its cost over all attempts, the `lines` that it changed (`+41 -3`), and what verified it."""

    id: str
    title: str
    attempts: int
    seconds: float
    cost_usd: float
    files: int
    lines: str
    verified: str
    commit: str


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a story's (or step's) runs with one model; `tokens` are by kind, as in the journal."""

    of: str
    model: str
    usd: float
    runs: int = 0
    seconds: float = 0.0
    tokens: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Report:
    """`state` is the decision's reason, `next` the command to run; `failed`, `asked`, `flagged` and `doubts` are
    (story, sentence). `rejected` are the runs whose work was refused, `night` is the newest stretch of work.
    """

    feature: str
    landed: int
    stories: int
    state: str
    waits: tuple[Need, ...]
    done: tuple[LandedStory, ...]
    matrix: tuple[CriterionRow, ...]
    failed: tuple[tuple[str, str], ...]
    rejected: tuple[Turn, ...]
    asked: tuple[tuple[str, str], ...]
    flagged: tuple[tuple[str, str], ...]
    doubts: tuple[tuple[str, str], ...]
    decisions: tuple[Moment, ...]
    night: Past
    costs: tuple[Cost, ...]
    cost_usd: float
    next: str
    titles: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_rehearsed(self) -> bool:
        """Did the rehearsal agent do any of it?"""
        return any(is_marked(one.model) for one in self.costs)

    @property
    def headline(self) -> str:
        """The state, unless it is among what waits for a person, which says it with its command."""
        return "" if any(need.said == self.state for need in self.waits) else self.state

    def named(self, of: str) -> str:
        """A story with its title, or a step."""
        return f"{of} {self.titles.get(of, '')}".strip()


def report_of(s: Snapshot, decision: d.Decision, commits: Mapping[str, str], past: Past, folder: str) -> Report:
    """The report; `commits` has the commit of each story that landed, `folder` is the feature's."""
    done = [story for story in s.prd.stories if story.is_completed]
    nights = nights_of(past)
    return Report(
        feature=s.feature,
        landed=len(done),
        stories=len(s.prd.stories),
        state=decision.reason,
        waits=tuple(_waits(s, decision, folder)),
        done=tuple(_landed(story, past, commits) for story in done),
        matrix=tuple(matrix(s.prd, s.qa, commits)),
        failed=tuple(_failed(s.prd)),
        rejected=tuple(
            sorted((turn for turn in past.turns if turn.is_rejected), key=lambda turn: (turn.of, turn.began))
        ),
        asked=tuple((story.id, text) for story in done if (text := asked_of(mapping_of(story.raw.get("evidence"))))),
        flagged=tuple((story.id, _line(warning)) for story in done for warning in warnings_of(story)),
        doubts=tuple(_doubts(s, done)),
        decisions=(*past.decisions, *_reviewed(s.qa)),
        night=nights[-1] if nights else Past(),
        costs=tuple(costs_of(past.turns)),
        cost_usd=round(s.history.cost_usd, 4),
        next=_next(s, decision),
        titles={story.id: story.title for story in s.prd.stories},
    )


def costs_of(turns: Sequence[Turn]) -> Iterator[Cost]:
    """What each story (or step) cost with each model, in the order of their first runs."""
    groups: dict[tuple[str, str], list[Turn]] = {}
    for turn in turns:
        groups.setdefault((turn.of, turn.model), []).append(turn)
    for (of, model), rows in groups.items():
        tokens: dict[str, int] = {}
        for kind, number in (pair for row in rows for pair in row.tokens.items()):
            tokens[kind] = tokens.get(kind, 0) + number
        usd, seconds = sum(row.cost_usd for row in rows), sum(row.seconds for row in rows)
        yield Cost(of, model, round(usd, 4), len(rows), round(seconds, 1), tokens)


def matrix(prd: Prd, qa: QaReport | None, commits: Mapping[str, str]) -> Iterator[CriterionRow]:
    """The rows of the stories that landed, in the order of their criteria."""
    answers = {answer.id: answer for answer in (qa.criteria if qa else None) or ()}
    for story in (story for story in prd.stories if story.is_completed):
        evidence = mapping_of(story.raw.get("evidence"))
        red = [str(test) for test in mapping_of(mapping_of(evidence.get("tests")).get("red_first")).get("tests") or ()]
        commit, given = commits.get(story.id, "")[:10], set[str]()
        for number, item in enumerate(items_of(story.raw, CRITERIA), 1):
            name = f"{story.id}.{number}"
            answer = answers.get(name)
            review = {"met": answer.met, "note": answer.note} if answer else {}
            tests = dict(_accepted(evidence, number, name))
            for test in answer.tests if answer else ():
                tests.setdefault(test, (_before(test, red), "green"))
            given.update(full for test in tests for full in red if _is_same(test, full))
            for test, (before, after) in tests.items() or [("", ("", ""))]:
                yield CriterionRow(name, str(item), test, before, after, commit, **review)
        yield from (CriterionRow(story.id, "", test, "red", "green", commit) for test in red if test not in given)


def _accepted(evidence: Mapping[str, object], number: int, name: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """(test, (before, after)) of the acceptance tests of a criterion."""
    listed = evidence.get("acceptance")
    for row in map(mapping_of, listed if isinstance(listed, list) else ()):
        if row.get("criterion") in (number, name) and row.get("test"):
            yield str(row["test"]), (str(row.get("before") or ""), str(row.get("after") or ""))


def _before(test: str, red: Sequence[str]) -> str:
    """How a test that a review names ended before the story: "red", or "" if it is not known to have failed."""
    return "red" if any(_is_same(test, full) for full in red) else ""


def _is_same(named: str, test: str) -> bool:
    """Does a name that a person or an agent gave mean this test?"""
    return named == test or test.endswith((f"::{named}", f"/{named}", f" {named}", f" > {named}"))


def _waits(s: Snapshot, decision: d.Decision, folder: str) -> Iterator[Need]:
    """What only a person can answer, which a usage limit is not."""
    questions = f"write after `Answer:` in {folder}/QUESTIONS.md, then ralphy loop {s.feature}"
    if isinstance(decision, d.Halt) or (isinstance(decision, d.Wait) and decision.until is None):
        yield Need(decision.reason, _next(s, decision))
    for story in s.prd.stories:
        if story.status.value in ("failed", "blocked"):
            request = "failed: say what to do" if story.status.value == "failed" else "asks a question"
            yield Need(f"{story.id} {story.title} {request}", questions, story.id)
    for line in steering_of(s.prd):
        yield Need(f"read this file first: {line}", f"git diff {s.tree.base}...{s.tree.feature_branch}")
    for finding in s.qa.blocking if s.qa else ():
        yield Need(f"{finding.severity}: {finding.title}", f"read {folder}/QA_REPORT.md")


def _next(s: Snapshot, decision: d.Decision) -> str:
    if isinstance(decision, d.Wait) and decision.gate:
        return f"ralphy approve {s.feature}"
    if isinstance(decision, d.Halt) and decision.is_rejected:
        return f"ralphy why {s.feature}"
    if not isinstance(decision, d.Done):
        return f"ralphy loop {s.feature}"
    if s.life is Life.MERGED:
        return ""
    return str(s.prd.pr.get("url") or f"git merge {s.tree.feature_branch}")


def _landed(story: Story, past: Past, commits: Mapping[str, str]) -> LandedStory:
    evidence, execution = mapping_of(story.raw.get("evidence")), story.execution
    seconds = sum(turn.seconds for turn in past.turns if turn.story == story.id)
    changed = execution.get("files_modified")
    return LandedStory(
        story.id,
        story.title,
        count_of(execution.get("attempts")),
        round(seconds, 1),
        number_of(evidence.get("cost_usd")) or 0.0,
        len(changed) if isinstance(changed, list) else 0,
        changed_lines(evidence),
        verified_by(evidence),
        commits.get(story.id, "")[:10],
    )


def _failed(prd: Prd) -> Iterator[tuple[str, str]]:
    for story in prd.stories:
        if story.status.value in ("failed", "blocked"):
            tries = story.execution.get("attempts")
            after = f" after {tries} attempts" if isinstance(tries, int) and tries > 1 else ""
            why = _line(str(story.execution.get("last_error") or "no reason is noted"))
            yield story.id, f"{story.status.value}{after}: {why}"


def _doubts(s: Snapshot, done: Sequence[Story]) -> Iterator[tuple[str, str]]:
    for story in done:
        if is_unverified(story):
            yield story.id, "landed unverified: no check had anything to run"
        parts = mapping_of(mapping_of(story.raw.get("evidence")).get("parts"))
        if parts.get("unproved") or parts.get("left"):
            yield story.id, parts_in_words({"parts": parts}, 20)
    for answer in (s.qa.criteria if s.qa else None) or ():
        if answer.met != "yes":
            verdict = "the review says: not met" if answer.met == "no" else "the review could not tell"
            yield answer.id, f"{verdict}: {answer.note}" if answer.note else verdict


def _reviewed(qa: QaReport | None) -> Iterator[Moment]:
    """The findings that the review withdrew, or made too late to block."""
    for finding in qa.findings if qa else ():
        if finding.state in ("dropped", "noted"):
            why = f": {finding.note}" if finding.note else ""
            yield Moment(0.0, _line(f"review: {finding.id} {finding.title} {finding.state}{why}"))


def _line(text: str) -> str:
    return one_line(text)[:300]
