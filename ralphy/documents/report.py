"""The report of a feature: what waits for a person, what landed and what proves it, what did not, and what it cost.

`report_of` gives the data, `in_markdown` the text; the matrix is the appendix of QA_REPORT.md and PR.md, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ralphy.documents.criteria import items_of
from ralphy.documents.review import CRITERIA
from ralphy.pipeline import decision as d
from ralphy.pipeline.menu import Dish
from ralphy.pipeline.model import Prd, QaReport, Snapshot, Story
from ralphy.pipeline.parts import parts_in_words
from ralphy.pipeline.steering import steering_of
from ralphy.pipeline.stories import warnings_of
from ralphy.pipeline.verification import is_unverified
from ralphy.text.json_coerce import mapping_of

_MOST_ROWS = 200
_MOST_TESTS = 5
_HEAD = "## Appendix: "
_MATRIX = "What proves each criterion"


@dataclass(frozen=True, slots=True)
class Row:
    """A test of a criterion, and what it said before and after the story's code; `met` is the review's word.

    Without a criterion it is a test of the story that the review gave to none; without a test nothing shows it.
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
class Cost:
    """What the runs of a story (or step) with one model cost."""

    of: str
    model: str
    usd: float


@dataclass(frozen=True, slots=True)
class Report:
    """`waits` and `next` are about what comes now, `failed` and `doubts` are (story, sentence)."""

    feature: str
    landed: int
    stories: int
    waits: tuple[str, ...]
    matrix: tuple[Row, ...]
    failed: tuple[tuple[str, str], ...]
    doubts: tuple[tuple[str, str], ...]
    menu: tuple[Dish, ...]
    costs: tuple[Cost, ...]
    cost_usd: float
    next: str
    titles: Mapping[str, str] = field(default_factory=dict)


def report_of(s: Snapshot, decision: d.Decision, commits: Mapping[str, str], menu: Sequence[Dish]) -> Report:
    """The report; `commits` has the commit of each story that landed."""
    done = [story for story in s.prd.stories if story.is_completed]
    return Report(
        s.feature,
        len(done),
        len(s.prd.stories),
        tuple(_waits(s, decision)),
        tuple(matrix(s.prd, s.qa, commits)),
        tuple(_failed(s.prd)),
        tuple(_doubts(s, done)),
        tuple(menu),
        tuple(Cost(of, model, round(usd, 4)) for (of, model), usd in s.history.costs.items() if usd),
        round(s.history.cost_usd, 4),
        _next(s, decision),
        {story.id: story.title for story in s.prd.stories},
    )


def matrix(prd: Prd, qa: QaReport | None, commits: Mapping[str, str]) -> Iterator[Row]:
    """The rows of the stories that landed, each criterion in its place."""
    answers = {answer.id: answer for answer in (qa.criteria if qa else None) or ()}
    for story in (story for story in prd.stories if story.is_completed):
        evidence = mapping_of(story.raw.get("evidence"))
        red = [str(test) for test in mapping_of(mapping_of(evidence.get("tests")).get("red_first")).get("tests") or ()]
        commit, given = commits.get(story.id, "")[:10], set[str]()
        for number, item in enumerate(items_of(story.raw, CRITERIA), 1):
            name = f"{story.id}.{number}"
            answer = answers.get(name)
            said = {"met": answer.met, "note": answer.note} if answer else {}
            tests = dict(_accepted(evidence, number, name))
            for test in answer.tests if answer else ():
                tests.setdefault(test, (_before(test, red), "green"))
            given.update(full for test in tests for full in red if _is_same(test, full))
            for test, (before, after) in tests.items() or [("", ("", ""))]:
                yield Row(name, str(item), test, before, after, commit, **said)
        yield from (Row(story.id, "", test, "red", "green", commit) for test in red if test not in given)


def _accepted(evidence: Mapping[str, object], number: int, name: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """(test, (before, after)) of the acceptance tests of a criterion."""
    listed = evidence.get("acceptance")
    for row in map(mapping_of, listed if isinstance(listed, list) else ()):
        if row.get("criterion") in (number, name) and row.get("test"):
            yield str(row["test"]), (str(row.get("before") or ""), str(row.get("after") or ""))


def _before(test: str, red: Sequence[str]) -> str:
    """A test that a review names is known by what it said at the landing, or was there and green before."""
    return "red" if any(_is_same(test, full) for full in red) else ""


def _is_same(named: str, test: str) -> bool:
    """Does a person's or an agent's name for a test mean this one?"""
    return named == test or test.endswith((f"::{named}", f"/{named}", f" {named}", f" > {named}"))


def _waits(s: Snapshot, decision: d.Decision) -> Iterator[str]:
    if isinstance(decision, d.Wait | d.Halt):
        yield decision.reason
    yield from (f"read this file first: {line}" for line in steering_of(s.prd))
    if s.qa and s.qa.blocking:
        yield from (f"{found.severity}: {found.title}" for found in s.qa.blocking)


def _next(s: Snapshot, decision: d.Decision) -> str:
    if isinstance(decision, d.Wait) and decision.gate:
        return f"ralphy approve {s.feature}"
    if not isinstance(decision, d.Done):
        return f"ralphy loop {s.feature}"
    return str(s.prd.pr.get("url") or f"git merge {s.tree.feature_branch}")


def _failed(prd: Prd) -> Iterator[tuple[str, str]]:
    for story in prd.stories:
        if story.status.value in ("failed", "blocked"):
            tries = story.execution.get("attempts")
            after = f" after {tries} attempts" if isinstance(tries, int) and tries > 1 else ""
            why = " ".join(str(story.execution.get("last_error") or "no reason is noted").split())[:300]
            yield story.id, f"{story.status.value}{after}: {why}"


def _doubts(s: Snapshot, done: Sequence[Story]) -> Iterator[tuple[str, str]]:
    for story in done:
        if is_unverified(story):
            yield story.id, "landed unverified: no check had anything to run"
        parts = mapping_of(mapping_of(story.raw.get("evidence")).get("parts"))
        if parts.get("unproved") or parts.get("left"):
            yield story.id, parts_in_words({"parts": parts}, 20)
        yield from ((story.id, " ".join(said.split())[:300]) for said in warnings_of(story))
    for answer in (s.qa.criteria if s.qa else None) or ():
        if answer.met != "yes":
            said = "the review says: not met" if answer.met == "no" else "the review could not tell"
            yield answer.id, f"{said}: {answer.note}" if answer.note else said


def in_markdown(report: Report) -> str:
    """The whole report; a section that has nothing to say is left out."""
    blocks = [f"# {report.feature}: {report.landed} of {report.stories} stories landed"]
    blocks += _section("What waits for you", [f"- {_plain(line)}" for line in report.waits])
    blocks += _section("What landed", _matrix_lines(report.matrix))
    blocks += _section("What failed", [_line(report, of, said) for of, said in report.failed])
    blocks += _section("What could not be verified", [_line(report, of, said) for of, said in report.doubts])
    blocks += _section("What can be dropped", _menu_lines(report.menu))
    blocks += _section("Cost", _cost_lines(report))
    blocks.append(f"## Next\n\n    {report.next}")
    return "\n\n".join(blocks) + "\n"


def with_appendix(text: str, rows: Sequence[Row], menu: Sequence[Dish] = ()) -> str:
    """A document with the matrix and the menu behind it, in place of those that it may have had."""
    own = re.split(rf"^{re.escape(_HEAD)}", text, maxsplit=1, flags=re.M)[0].rstrip()
    parts = [(_MATRIX, _matrix_lines(rows)), ("What can be dropped", _menu_lines(menu))]
    return "\n\n".join([own, *(f"{_HEAD}{title}\n\n" + "\n".join(lines) for title, lines in parts if lines)]) + "\n"


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return [f"## {title}\n\n" + "\n".join(lines)] if lines else []


def _line(report: Report, of: str, said: str) -> str:
    title = report.titles.get(of, "")
    return f"- {of}{f' {_plain(title)}' if title else ''}: {_plain(said)}"


def _matrix_lines(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return []
    lines = ["| Criterion | Test | Before | After | Commit |", "|---|---|---|---|---|"]
    for row in rows[:_MOST_ROWS]:
        what = f"{row.id} {row.criterion}".strip() + (f" (not met: {row.note})" if row.met == "no" else "")
        cells = (what, row.test or "none", row.before, row.after, row.commit)
        lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    return [*lines, f"| … and {len(rows) - _MOST_ROWS} more | | | | |"] if len(rows) > _MOST_ROWS else lines


def _menu_lines(menu: Sequence[Dish]) -> list[str]:
    if not menu:
        return []
    rows = [f"| {_cell(dish.story)} | {_cell(dish.said)} |" for dish in menu[:_MOST_ROWS]]
    return ["| Without | Then |", "|---|---|", *rows]


def _cost_lines(report: Report) -> list[str]:
    if not report.cost_usd:
        return []
    rows = [f"| {_cell(cost.of)} | {_cell(cost.model)} | ${cost.usd:.2f} |" for cost in report.costs]
    return ["| Of | Model | Cost |", "|---|---|---:|", *rows, f"| in all | | ${report.cost_usd:.2f} |"]


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|")[:300]


def _plain(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
