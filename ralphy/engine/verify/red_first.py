"""Red first: the story's tests on the code of before, where at least one of them must fail.

What is tried is the last green tree with the story's tests, and what runs them, laid over it. Tests that were known to
fail, and pass now, have been red before anybody asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ralphy.checks.listing import PASSED, Listing
from ralphy.config.values import Check
from ralphy.engine.lane_use.checks import CheckResult, argv
from ralphy.engine.lane_use.take_over import Candidate
from ralphy.engine.lane_use.trial import try_tree, words_for
from ralphy.engine.verify.baseline_records import known_tests
from ralphy.engine.workspace.changes import shown
from ralphy.engine.workspace.workspace import Workspace
from ralphy.git.objects import Entry
from ralphy.testguard.kept.test_keys import Key
from ralphy.testguard.read.test_parser import Case, parsed, python_cases
from ralphy.testguard.read.text_test_parser import has_tests_beside_code, text_cases
from ralphy.testguard.substance import is_manifest
from ralphy.testguard.written.red_first import RedFirst, compared, goes_along, with_tests_of

_MOST_FILES = 200


@dataclass(frozen=True, slots=True)
class WrittenTests:
    """The tests that are written in the files that a story changed, and those of them that are new or edited."""

    there: Sequence[Case]
    own: Sequence[Case]

    @classmethod
    def of(cls, w: Workspace, candidate: Candidate, files: Mapping[str, Entry | None]) -> WrittenTests:
        there = [case for path, now in files.items() if now for case in _cases(w, path, now)]
        before = [(path, was) for path, was, _ in w.objects.changes(candidate.green, candidate.tree) if was]
        old = [case for path, was in before if path in files for case in _cases(w, path, was)]
        known = {(case.path, case.name, case.body) for case in old}
        return cls(there, [case for case in there if (case.path, case.name, case.body) not in known])


def red_first(w: Workspace, candidate: Candidate, results: Sequence[CheckResult]) -> RedFirst:
    """Which tests of a candidate with green checks fail without its code."""
    mended = _known_red_that_passes(w, results)
    files = laid_over(w, candidate, results)
    if all(map(is_manifest, files)):
        return RedFirst(tests=mended)
    tests = WrittenTests.of(w, candidate, files)
    tree = w.objects.graft(candidate.green, files)
    known = known_tests(w, w.code_of(candidate.green)) or {}
    asked = [_asked(w, tree, check, result, tests, known.get(check.name)) for check, result in with_tests(w, results)]
    return RedFirst(
        tuple(dict.fromkeys([*mended, *(test for one in asked for test in one.tests)])),
        tuple(name for one in asked for name in one.checks),
        tuple(dict.fromkeys(test for one in asked for test in one.blind)),
    )


def _known_red_that_passes(w: Workspace, results: Sequence[CheckResult]) -> tuple[str, ...]:
    passing = {test for result in results if result.listing
               for test, outcome in result.listing.tests.items() if outcome == PASSED}  # fmt: skip
    return tuple(sorted(passing & w.history.known_red))


def with_tests(w: Workspace, results: Sequence[CheckResult]) -> Iterator[tuple[Check, CheckResult]]:
    """The checks that run tests; if none is known to, all of them."""
    by_name = {check.name: check for check in w.checks}
    pairs = [(by_name[result.name], result) for result in results if result.name in by_name and result.is_green]
    yield from [pair for pair in pairs if pair[1].listing or any("test" in word for word in argv(pair[0]))] or pairs


def _asked(
    w: Workspace, tree: str, check: Check, result: CheckResult, tests: WrittenTests, before: Listing | None
) -> RedFirst:
    listed = result.listing.tests.keys() if result.listing else set()
    new = listed - before.tests.keys() if before and before.tests else set()
    places = {path for test in new if (path := Key.of(test).path)}
    words = words_for(w, check, sorted({*places, *(case.path for case in tests.there)}))
    told = try_tree(w, tree, check, words or argv(check), "red_first")
    if told is None:
        return RedFirst()
    if result.listing and result.listing.tests:
        without = told.listing or Listing()
        return compared(result.listing, without, tests.there, tests.own, new, is_red=not told.is_green)
    if told.is_green:
        return RedFirst(blind=(check.name,) if tests.own else ())
    return RedFirst(checks=(check.name,))


def laid_over(w: Workspace, candidate: Candidate, results: Sequence[CheckResult]) -> Mapping[str, Entry | None]:
    """The changed files that belong to the tests; None for those that are gone."""
    places = {Key.of(test).path for result in results if result.listing for test in result.listing.tests} - {""}
    found: dict[str, Entry | None] = {}
    for path, was, now in w.objects.changes(candidate.green, candidate.tree):
        if has_tests_beside_code(path) and not goes_along(path):
            entry = _with_tests_beside(w, was, now)
            found |= {path: entry} if entry else {}
        elif goes_along(path) or (now and shown(path) in places and _cases(w, path, now)):
            found[path] = now
    return found if len(found) <= _MOST_FILES else {}


def _cases(w: Workspace, path: str, entry: Entry) -> list[Case]:
    """The tests that are written in a file, as far as its language is known."""
    data = w.objects.read(entry.oid) or b""
    if path.endswith(".py"):
        tree = parsed(data)
        return [] if tree is None else list(python_cases(shown(path), tree, {}))
    return list(text_cases(shown(path), data.decode("utf-8", "replace")))


def _with_tests_beside(w: Workspace, was: Entry | None, now: Entry | None) -> Entry | None:
    """The code of before with the tests of now, where both stand in one file."""
    if not (was and now):
        return None
    text = with_tests_of(w.objects.read(was.oid) or b"", w.objects.read(now.oid) or b"")
    return None if text is None else Entry(now.mode, w.objects.write_blob(text))
