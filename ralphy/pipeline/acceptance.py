"""ACCEPTANCE.md: tests of the acceptance criteria that an agent of their own has written, and what became of them.

A section per file of tests, headed by its path; then a line per criterion with its tests, and the file in a fence:

    ## tests/test_us_003.py
    - US-003.2: test_a_second_account_is_refused
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ralphy.checks.listing import FAILED, PASSED, Listing
from ralphy.errors import InvalidInput
from ralphy.pipeline.model import Prd
from ralphy.testguard.test_keys import Key, last_part

DOCUMENT = "ACCEPTANCE.md"
OFF, SEALED = "off", "sealed"
RED, GREEN, MISSING = "red", "green", "missing"

_HEAD = re.compile(r"## +`?([^`\s][^`]*?)`?\s*")
_CRITERION = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\.(\d{1,3})")
_ITEM = re.compile(rf"[-*] +`?({_CRITERION.pattern})`?:\s*(.+?)\s*")
_FENCE = re.compile(r"(`{3,}|~{3,})[^`]*")
_DROPPED = re.compile(r"drop\b", re.I)
_FORBIDDEN = frozenset(("", ".", "..", ".git", ".ralphy"))


class Criterion(NamedTuple):
    """A story's criterion by its number, the first being 1; written US-003.2."""

    story: str
    number: int

    def __str__(self) -> str:
        return f"{self.story}.{self.number}"


@dataclass(frozen=True, slots=True)
class TestFile:
    """A file of tests: its path in the repository, and the criterion of each test by its name."""

    path: str
    text: str
    tests: Sequence[tuple[Criterion, str]]

    @property
    def story(self) -> str:
        """The one story that its tests ask about; "" for a file without tests, which goes along with all others."""
        return self.tests[0][0].story if self.tests else ""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The files of ACCEPTANCE.md; `at` is where a person finds it."""

    files: Sequence[TestFile] = ()
    at: str = DOCUMENT

    def of(self, stories: Collection[str], dropped: Collection[str] = ()) -> list[TestFile]:
        """The files whose tests ask about these stories, without criteria that a person dropped, and what these files
        need."""
        remaining = [_without(file, dropped) for file in self.files if file.story in stories]
        asked = [file for file in remaining if file.tests]
        return [*asked, *(file for file in self.files if not file.tests)] if asked else []

    def untested(self, prd: Prd) -> list[str]:
        """The criteria of open stories that no test asks about."""
        asked = {criterion for file in self.files for criterion, _ in file.tests}
        return [str(one) for one in _criteria(prd) if one not in asked and not prd.story(one.story).is_completed]


def _without(file: TestFile, dropped: Collection[str]) -> TestFile:
    return TestFile(file.path, file.text, [row for row in file.tests if str(row[0]) not in dropped])


def dropped_of(prd: Prd) -> list[str]:
    """The criteria whose tests a person has dropped."""
    noted = prd.workflow.get("acceptance")
    return [str(one) for one in noted.get("dropped") or ()] if isinstance(noted, dict) else []


def with_dropped(prd: Prd, answer: str, asked: str) -> Prd:
    """The PRD after a person's answer: `drop US-003.2` drops the tests of a criterion, `drop` those asked about."""
    if not _DROPPED.match(answer.strip()):
        return prd
    known = {str(one) for one in _criteria(prd)}
    named = [criterion for criterion in (_criteria_in(answer) or _criteria_in(asked)) if criterion in known]
    return prd.with_workflow(acceptance={"dropped": sorted({*dropped_of(prd), *named})}) if named else prd


def _criteria_in(text: str) -> list[str]:
    """The criteria that a text names."""
    return [match[0] for match in _CRITERION.finditer(text)]


def named_of(text: str, story: str) -> list[str]:
    """The criteria of a story that a text names."""
    return list(dict.fromkeys(name for name in _criteria_in(text) if name.rpartition(".")[0] == story))


def _criteria(prd: Prd) -> Iterator[Criterion]:
    for story in prd.stories:
        listed = story.raw.get("acceptanceCriteria")
        for number, _ in enumerate(listed if isinstance(listed, list) else (), 1):
            yield Criterion(story.id, number)


def read_acceptance(text: str, where: str = DOCUMENT) -> Acceptance:
    """The tests in ACCEPTANCE.md; InvalidInput with the line where it cannot be read."""
    files = [_file(head, at, body, where) for head, at, body in _sections(text)]
    if not any(file.tests for file in files):
        raise InvalidInput("holds no tests", where=where, hint="a file is a section: ## tests/test_us_001.py")
    if len({file.path for file in files}) < len(files):
        raise InvalidInput("names a file twice", where=where, hint="one section per file")
    return Acceptance(files, where)


@dataclass(slots=True)
class _Body:
    items: list[tuple[int, str]] = field(default_factory=list)
    code: list[list[str]] = field(default_factory=list)


def _sections(text: str) -> Iterator[tuple[str, int, _Body]]:
    """(path, line, what stands below it) of each heading; nothing in a fence is one."""
    head, at, body, fence = "", 0, _Body(), ""
    for number, line in enumerate(text.splitlines(), 1):
        if fence:
            if re.fullmatch(rf"{re.escape(fence[0])}{{{len(fence)},}}\s*", line):
                fence = ""
            else:
                body.code[-1].append(line)
        elif begun := _FENCE.fullmatch(line):
            fence = begun[1]
            body.code.append([])
        elif heading := _HEAD.fullmatch(line):
            if head:
                yield head, at, body
            head, at, body = heading[1], number, _Body()
        elif line.lstrip().startswith(("- ", "* ")):
            body.items.append((number, line.strip()))
    if head:
        yield head, at, body


def _file(path: str, at: int, body: _Body, where: str) -> TestFile:
    def no(what: str, line: int = at, hint: str = "") -> InvalidInput:
        return InvalidInput(what, where=f"{where}:{line}", hint=hint)

    if path.startswith("/") or "\\" in path or not _FORBIDDEN.isdisjoint(path.split("/")):
        raise no(f"{path} is not a path of the repository", hint="write it from the repository's root, with slashes")
    if len(body.code) != 1:
        raise no(f"{path} has {len(body.code)} blocks of code but must have 1", hint="use a longer fence around fences")
    tests, text = list[tuple[Criterion, str]](), "\n".join(body.code[0]) + "\n"
    for line, item in body.items:
        match = _ITEM.fullmatch(item)
        if match is None:
            raise no(f"{item[:80]!r} names no criterion and test", line, "- US-001.2: test_name, test_other")
        for name in filter(None, (one.strip(" `") for one in match[4].split(","))):
            if last_part(name) not in text:
                raise no(f"{name} is not in {path}", line, "name the tests as they are written there")
            tests.append((Criterion(match[2], int(match[3])), name))
    if len({criterion.story for criterion, _ in tests}) > 1:
        raise no(f"{path} has tests of several stories", hint="a file of tests is about one story")
    return TestFile(path, text, tests)


def require_known(acceptance: Acceptance, prd: Prd) -> None:
    """Raises InvalidInput for a criterion that no story has."""
    known = set(_criteria(prd))
    for criterion in (criterion for file in acceptance.files for criterion, _ in file.tests):
        if criterion not in known:
            raise InvalidInput(f"there is no criterion {criterion}", where=DOCUMENT,
                               hint="a story's criteria are counted from 1: US-001.1")  # fmt: skip


class Asked(NamedTuple):
    """A test that was asked: its criterion, file and name, and what it said (RED, GREEN or MISSING)."""

    criterion: Criterion
    path: str
    test: str
    outcome: str


def outcomes(files: Sequence[TestFile], listing: Listing | None, *, is_green: bool) -> list[Asked]:
    """What each test said. Where no runner names tests, the whole run speaks for all; a file that could not be run at
    all is red."""
    return [Asked(criterion, file.path, name, _outcome(file, name, listing, is_green=is_green))
            for file in files for criterion, name in file.tests]  # fmt: skip


def _outcome(file: TestFile, name: str, listing: Listing | None, *, is_green: bool) -> str:
    if listing is None or not listing.tests:
        return GREEN if is_green else RED
    keys = {test: Key.of(test) for test in listing.tests}
    here = [test for test, key in keys.items() if not key.path or key.is_at(file.path)]
    statuses = {listing.tests[test] for test in here if keys[test].short == last_part(name.partition("[")[0])}
    if statuses:
        return RED if FAILED in statuses else GREEN if PASSED in statuses else MISSING
    ran = any(listing.tests[test] in (PASSED, FAILED) and not keys[test].is_for_several for test in here)
    return MISSING if is_green or ran else RED
