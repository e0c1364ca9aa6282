"""The old versions of edited tests, run against the new code: what fails there is shown, or rejects (`changed_tests`).

Tests that were skipped until now, and run since the story, must pass as they were written.

An edited test may follow a requirement or give in to a mistake; who reads the evidence should know which it was. Where
the runner can be asked for files, only those that were edited are run; any other check is run as it stands, once more.
So is every check where something beside the tests was edited: a conftest, a helper, a snapshot, data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ralphy.checks.listing import FAILED, PASSED, SKIPPED, XFAILED, Listing
from ralphy.checks.narrowing import pytest_at
from ralphy.checks.runner_output import failing_tests, named
from ralphy.config.values import Check
from ralphy.engine.lane_use.checks import argv
from ralphy.engine.lane_use.trial import Told
from ralphy.engine.verify.baseline_records import listed
from ralphy.engine.verify.case import Case, Change, Places, Verdict
from ralphy.engine.verify.renames import renames_only
from ralphy.engine.verify.written_tests import sources
from ralphy.engine.workspace.changes import shown
from ralphy.git.objects import Entry
from ralphy.testguard.findings import Finding, Kind, listed_names
from ralphy.testguard.kept.edited_tests import is_edited, is_same, only_adds
from ralphy.testguard.kept.test_keys import Key
from ralphy.testguard.kept.test_matching import Sources
from ralphy.testguard.kept.tests_kept import may_go
from ralphy.testguard.kept.unsilenced import importable, unsilenced
from ralphy.testguard.read.test_parser import Case as WrittenTest
from ralphy.testguard.substance import is_test

_MOST_EDITED = 50
_OUT = (SKIPPED, XFAILED)


def old_tests_pass(c: Case) -> Verdict | None:
    """What the old tests say of the new code is shown; one that was skipped, and runs now, must pass as it was."""
    found: list[Finding] = []
    for check in c.w.checks:
        before = (c.before or {}).get(check.name)
        runs_tests = not c.before or any("test" in word for word in argv(check))
        if before or (runs_tests and not pytest_at(argv(check))):
            asked = _Asked(c, check, before or Listing(), listed(c.checks).get(check.name) or Listing())
            found += _old_tests_fail(asked)
    return c.weigh(found)


@dataclass(frozen=True, slots=True)
class Edits:
    """The files that tests stand in and that a story edited, as they were, and what it edited `beside` them (None: a
    conftest that was not there). `written` are the tests in the files that it changed."""

    edited: Mapping[str, Entry]
    beside: Mapping[str, Entry | None]
    written: Sources

    @property
    def are_too_many(self) -> bool:
        return max(len(self.edited), len(self.beside)) > _MOST_EDITED

    @property
    def within_reason(self) -> Edits:
        """The same without a part that is too large to be run."""
        edited = self.edited if len(self.edited) <= _MOST_EDITED else {}
        return replace(self, edited=edited, beside=self.beside if len(self.beside) <= _MOST_EDITED else {})

    def has(self, test: str) -> bool:
        """Does a test stand in one of the edited files?"""
        return bool(self.file_of(test))

    def file_of(self, test: str) -> str:
        """The edited file that a test stands in; "" if it is none of them."""
        key = Key.of(test)
        own = () if key.path else [shown(case.path) for case in self.written.old if key.means(case)]
        return next((path for path in sorted(self.edited) if key.is_at(shown(path)) or shown(path) in own), "")


def edits_of(c: Case, before: Listing) -> Edits:
    """What a story edited of the tests of a check, which told this of them before."""
    written, places, renamed = sources(c, before), Places.of([before]), renames_only(c)
    edited: dict[str, Entry] = {}
    beside: dict[str, Entry | None] = {}
    for change in c.changes:
        old, new = (_tests_in(cases, change) for cases in (written.old, written.new))
        if change.path in renamed or _is_added_to(change):
            continue
        if change.was and _holds_tests(change, places, old):
            edited |= {change.path: change.was} if _is_other(change, old, new, written) else {}
        elif is_test(change.path) and not (old or new) and (change.was or _is_conftest(change)):
            beside[change.path] = change.was
    return Edits(edited, beside, written)


def _is_conftest(change: Change) -> bool:
    return change.path.rpartition("/")[2] == "conftest.py"


def _tests_in(cases: Iterable[WrittenTest], change: Change) -> list[WrittenTest]:
    return [case for case in cases if case.path == change.name]


def _holds_tests(change: Change, places: Places, old: Sequence[WrittenTest]) -> bool:
    """Do tests of the check stand in a file? Code that holds doctests is no such file."""
    if places.names:
        return places.has(change.path) and (is_test(change.path) or bool(old))
    return is_test(change.path) and bool(old)


def _is_other(change: Change, old: Sequence[WrittenTest], new: Sequence[WrittenTest], written: Sources) -> bool:
    """Do the tests of a file say something else, as far as its language is known?"""
    if change.now is None:
        return not (old and is_same(old, written.new))
    if change.path.endswith(".py") or not old:
        return change.old != change.new
    return is_edited(change.old_text or "", change.new_text or "", old, new)


def _is_added_to(change: Change) -> bool:
    """Was a file of Python only added to, or made, in a way that does not reach tests that are there?"""
    old = change.old if change.was else b""
    is_python = change.path.endswith(".py")
    return is_python and old is not None and change.new is not None and only_adds(old, change.new)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked of the old tests: `before` and `now` are what the check told of the tests."""

    c: Case
    check: Check
    before: Listing
    now: Listing

    def was_woken(self, test: str) -> bool:
        """Did a test not run before, and does it pass now?"""
        key, was = Key.of(test), self.before.tests.get(test)
        whole = any(Key.of(t).is_for_several and Key.of(t).path == key.path for t in self.before.tests)
        if may_go(test, self.c.story.changes) or not (was in _OUT or (was is None and whole)):
            return False
        is_moved = test not in self.now.tests and any(
            Key.of(name).short == key.short for name, said in self.now.tests.items() if said == PASSED
        )
        return is_moved or self.now.tests.get(test) == PASSED

    def passed(self, test: str) -> bool:
        """Did a test pass before, as far as the check names its tests?"""
        if self.before.tests:
            return self.before.tests.get(test) == PASSED
        return test not in self.c.w.history.known_red

    def may_change(self, test: str, written: Sources) -> bool:
        """May a test expect something else: by its name, or by the file that it is written in?"""
        texts = [case for case in written.old if Key.of(test).means(case)]
        return may_go(test, self.c.story.changes) or any(may_go(case.shown, self.c.story.changes) for case in texts)


def _old_tests_fail(asked: _Asked) -> Iterator[Finding]:
    edits = edits_of(asked.c, asked.before)
    if edits.are_too_many:
        asked.c.notes.append(
            f"more than {_MOST_EDITED} files of tests, or beside them, were edited: no old version was run"
        )
    edits = edits.within_reason
    beside = {**edits.beside, **asked.c.settings}
    if not (edits.edited or beside):
        return
    told = _with_old_files(asked, edits.edited, beside)
    if told is None:
        return
    failing = _failing(told)
    yield from (Finding(Kind.UNSKIPPED, test) for test in failing if asked.was_woken(test))
    red = [test for test in failing if asked.passed(test)]
    yield from _by_file(asked, [test for test in red if not asked.may_change(test, edits.written)], edits, beside)
    seen = failing or (told.listing.tests if told.listing else ())
    if not (red or told.is_green or any(test in asked.before.tests for test in seen)):
        yield from _as_a_whole(asked, [*edits.edited, *beside], edits.written)


def _failing(told: Told) -> list[str]:
    """The tests that failed, as the runner names them in its report, or else in what it prints."""
    if told.listing and told.listing.tests:
        return [test for test, outcome in told.listing.tests.items() if outcome == FAILED]
    return [*dict.fromkeys(map(named, failing_tests(told.output)))]


def _with_old_files(asked: _Asked, edited: Mapping[str, Entry], beside: Mapping[str, Entry | None]) -> Told | None:
    """What a check tells of the candidate with files as they were, None for one that was not there.

    Where no test is named, those that were skipped cannot be told from others: they stay so.
    """
    c, old = asked.c, {**beside, **edited}
    c.w.say(f"  check {asked.check.name} is run on the old versions of the tests that were edited")
    texts = {path: c.w.objects.read(entry.oid) or b"" for path, entry in old.items() if entry}
    if asked.before.tests:
        texts = {path: unsilenced(path, data) for path, data in texts.items()}
    oids = c.w.objects.write_blobs({path: importable(path, data) for path, data in texts.items()})
    files = {path: entry and replace(entry, oid=oids[path]) for path, entry in old.items()}
    tree = c.w.objects.graft(c.tree, files)
    return c.ask(tree, asked.check, "old_tests", () if beside else set(map(shown, edited)))


def _by_file(
    asked: _Asked, red: Sequence[str], edits: Edits, beside: Mapping[str, Entry | None]
) -> Iterator[Finding]:  # fmt: skip
    """What failed of each edited file, and of all others with what stood beside them."""
    files: dict[str, list[str]] = {}
    for test in red:
        files.setdefault(edits.file_of(test), []).append(test)
    for path in sorted(files.keys() - {""}):
        names = listed_names(files[path])
        yield Finding(Kind.CHANGED, f"{len(files[path])} of the old {shown(path)} fail against the new code: {names}")
    other = [test for test in files.get("", ()) if asked.before.tests or not _is_new(test, edits.written)]
    if beside and other:
        names = f"{listed_names(list(map(shown, beside)))}: {listed_names(other)}"
        yield Finding(Kind.CHANGED, f"{len(other)} tests fail against the new code with the old {names}")


def _is_new(test: str, written: Sources) -> bool:
    known = {(case.path, case.name) for case in written.old}
    return any(Key.of(test).means(case) for case in written.new if (case.path, case.name) not in known)


def _as_a_whole(asked: _Asked, paths: Sequence[str], written: Sources) -> Iterator[Finding]:
    """A check that fails with the old files without a word on a test that was known; the story may name these, or
    every test in them that it edited."""
    if not all(_may_change(shown(path), asked.c.story.changes, written) for path in paths):
        files = listed_names(list(map(shown, paths)))
        yield Finding(Kind.CHANGED, f"check {asked.check.name} fails against the new code with the old {files}")


def _may_change(path: str, changes: Sequence[str], written: Sources) -> bool:
    """May all tests of a file that are not as they were expect something else?"""
    kept = {(case.name, case.body) for case in written.new if case.path == path}
    edited = [case for case in written.old if case.path == path and (case.name, case.body) not in kept]
    return may_go(path, changes) or (bool(edited) and all(may_go(case.shown, changes) for case in edited))
