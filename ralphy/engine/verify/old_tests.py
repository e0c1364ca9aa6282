"""The old versions of edited tests, run against the new code: one that fails there is flagged, or rejects where the
story took it away (`changed_tests`, `removed_tests`).

An edited test may follow a requirement or give in to a mistake; who reads the evidence should know which it was. Where
the runner can be asked for files, only those that were edited are run; any other check is run as it stands, once more.
So is every check where something beside the tests was edited: a conftest, a helper, a snapshot, data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ralphy.checks.listing import FAILED, PASSED, SKIPPED, XFAILED, Listing
from ralphy.checks.runner_output import failing_tests, test_id
from ralphy.config.values import Check
from ralphy.engine.lane_use.checks import CheckResult, argv
from ralphy.engine.verify.baseline_records import listed, tests_of
from ralphy.engine.verify.case import Case, Change, ListedFiles, Verdict
from ralphy.engine.workspace.changes import files_of
from ralphy.git.objects import Entry
from ralphy.testguard.findings import Finding, Kind, listed_names
from ralphy.testguard.substance import is_test
from ralphy.testguard.surroundings import is_run
from ralphy.testguard.test_files import WrittenTest, importable
from ralphy.testguard.test_keys import Key
from ralphy.testguard.tests_kept import may_go, vanished
from ralphy.text.plain_text import as_utf8


def old_tests_pass(c: Case) -> Verdict | None:
    """An old test that fails on the new code is flagged; one that is gone, and would fail, speaks against the case."""
    return c.weigh([finding for check in c.w.checks for finding in _findings(c, check)])


def _findings(c: Case, check: Check) -> Iterator[Finding]:
    """What the old tests of one check say, if it runs tests."""
    before = (c.before or {}).get(check.name)
    runs_tests = not c.before or any("test" in word for word in argv(check))
    if before or runs_tests:
        yield from _OldTests.of(c, check, before or Listing()).findings()


@dataclass(frozen=True, slots=True)
class EditedTests:
    """The old entries of the files of tests that a story `edited`, and of what it edited `beside` them (None: a new
    conftest, or a new module that takes the place of one of the code). `added` are the paths of new files of tests,
    `old` and `new` the tests written in all changed files."""

    edited: Mapping[str, Entry]
    beside: Mapping[str, Entry | None]
    added: Sequence[str]
    old: Sequence[WrittenTest]
    new: Sequence[WrittenTest]

    @classmethod
    def of(cls, c: Case, before: Listing) -> EditedTests:
        """What a story edited of the tests of a check; `before` is its listing of the last green commit."""
        places = ListedFiles.of([before])
        edited: dict[str, Entry] = {}
        beside: dict[str, Entry | None] = {}
        old, new = c.written
        held, hold = ({test.path for test in tests} for tests in (old, new))
        added = [one.path for one in c.changes if one.was is None and is_test(one.path) and one.name in hold]
        for change in c.changes:
            is_edited = change.was and (change.now is None or change.was.oid != change.now.oid)
            if change.was and is_edited and _holds_tests(change, places, holds=change.name in held):
                edited[change.path] = change.was
            elif is_test(change.path) and change.name not in held | hold and (is_edited or _takes_a_place(c, change)):
                beside[change.path] = change.was
        return cls(edited, beside, added, old, new)

    def file_of(self, test: str) -> str:
        """The edited file that a test stands in; "" if it is none of them."""
        key = Key.of(test)
        own = () if key.path else [written.path for written in self.old if key.means(written)]
        return next((path for path in sorted(self.edited) if key.is_at(as_utf8(path)) or as_utf8(path) in own), "")

    def gone(self, path: str) -> list[WrittenTest]:
        """The tests that a file held, and that are written in no changed file any more."""
        left = {test.short for test in self.new}
        return [test for test in self.old if test.path == as_utf8(path) and test.short not in left]

    def added_to(self, path: str) -> set[str]:
        """The tests that a file holds, and did not hold before."""
        now, was = ({test.short for test in tests if test.path == as_utf8(path)} for tests in (self.new, self.old))
        return now - was

    def rewritten(self, path: str) -> list[WrittenTest]:
        """The tests of a file that are not as they were."""
        same = {(test.name, test.body) for test in self.new if test.path == as_utf8(path)}
        return [test for test in self.old if test.path == as_utf8(path) and (test.name, test.body) not in same]


def _holds_tests(change: Change, places: ListedFiles, *, holds: bool) -> bool:
    """Do tests of the check stand in a file? Code that holds doctests is no such file."""
    if places.paths:
        return places.has(change.path) and (is_test(change.path) or holds)
    return is_test(change.path) and holds


def _takes_a_place(c: Case, change: Change) -> bool:
    """Is it a new conftest, or a new module among the tests that may be imported instead of one of the code?"""
    name = change.path.rpartition("/")[2]
    if change.was or not name.endswith(".py") or name == "__init__.py":
        return False
    return name == "conftest.py" or any(
        path.rpartition("/")[2] == name and not is_test(path) for path, _ in files_of(c.w, c.tree)
    )


@dataclass(frozen=True, slots=True)
class _OldTests:
    """The old tests of one check: `before` is its listing of the last green commit, `gone` the tests that no check
    names any more, `beside` what is laid over the code together with the edited files."""

    c: Case
    check: Check
    before: Listing
    gone: Sequence[str]
    edits: EditedTests
    beside: Mapping[str, Entry | None]

    @classmethod
    def of(cls, c: Case, check: Check, before: Listing) -> _OldTests:
        edits = EditedTests.of(c, before)
        settings = {change.path: change.was for change in c.changes if is_run(change.name, c.command_words)}
        gone = vanished(before, listed(c.checks), c.story.removes)
        return cls(c, check, before, gone, edits, {**edits.beside, **settings})

    def findings(self) -> Iterator[Finding]:
        result = self._run() if self.edits.edited or self.beside else None
        outcomes = tests_of(result)
        failing = self._failing(result) if result else []
        removed = list(self._gone_tests(outcomes)) if self.before.tests else list(self._unlisted_gone())
        yield from removed
        names = {finding.what for finding in removed}
        red = [test for test in failing if self._passed(test) and not self._may_change(test) and test not in names]
        yield from self._by_file(red)
        names_old_tests = any(test in self.before.tests for test in failing or outcomes)
        if result and not (red or result.is_green or names_old_tests):
            yield from self._as_a_whole()

    def _run(self) -> CheckResult | None:
        """The check's result on the candidate with the old files; a file that was not there is taken away."""
        c, old = self.c, {**self.beside, **self.edits.edited}
        c.w.say(f"  check {self.check.name} is run on the old versions of the tests that were edited")
        texts = {path: importable(path, c.w.objects.read(entry.oid) or b"") for path, entry in old.items() if entry}
        oids = c.w.objects.write_blobs(texts)
        files = {path: entry and replace(entry, oid=oids[path]) for path, entry in old.items()}
        files |= dict.fromkeys(self.edits.added)  # they may hold the same tests, or need what is not there
        tree = c.w.objects.graft(c.tree, files)
        return c.ask(tree, self.check, "old_tests", () if self.beside else set(map(as_utf8, self.edits.edited)))

    def _failing(self, result: CheckResult) -> list[str]:
        """The tests that failed, as the runner names them in its report, or else in what it prints."""
        if tests_of(result):
            return [test for test, outcome in tests_of(result).items() if outcome == FAILED]
        return [*dict.fromkeys(map(test_id, failing_tests(result.output)))]

    def _passed(self, test: str) -> bool:
        """Did a test pass before, or not run, as far as the check names its tests?"""
        if self.before.tests:
            return self.before.tests.get(test) in (PASSED, SKIPPED, XFAILED)
        return test not in self.c.known_red

    def _may_change(self, test: str) -> bool:
        """May a test expect something else: by its name, or by the file that it is written in?"""
        texts = [written.id for written in self.edits.old if Key.of(test).means(written)]
        return any(may_go(one, self.c.story.changes) for one in (test, *texts))

    def _gone_tests(self, outcomes: Mapping[str, str]) -> Iterator[Finding]:
        """Tests that are gone, but for those that moved, or merged with others: these are there under their own names,
        or the code passes them as they were, and there are as many tests or assertions as before."""
        known = {test for listing in (self.c.before or {}).values() for test in listing.tests}
        tests = [test for listing in listed(self.c.checks).values() for test in listing.tests]
        moved = {Key.of(test).short for test in tests if test not in known}
        are_fewer = len(tests) < len(known)
        for test in self.gone:
            path = self.edits.file_of(test)
            if Key.of(test).short in moved or self._stands_for_tests_that_run(test, path):
                continue
            if self._is_still_written(test, path):
                yield Finding(Kind.RUNNER, f"{test} exists but no longer runs")
            elif self._is_lost(path, outcomes.get(test), has_run=bool(outcomes), are_fewer=are_fewer):
                yield Finding(Kind.REMOVED, test)
            elif outcomes.get(test) == PASSED and self._asserts_less(path) and not self.edits.added_to(path):
                yield Finding(Kind.FEWER, f"{test} (gone, with nothing new in {as_utf8(path)})")

    def _stands_for_tests_that_run(self, test: str, path: str) -> bool:
        """Is it a whole module or class whose tests are all there?"""
        key = Key.of(test)
        is_there = self.c.places.has(key.path) or (self.c.is_changed(key) and not self.edits.gone(path))
        return key.is_for_several and is_there

    def _is_still_written(self, test: str, path: str) -> bool:
        """Is a test that is gone written in a changed file, or does it stand in a file that did not change?"""
        key = Key.of(test)
        is_untouched = bool(key.path) and not path and not self.c.is_changed(key)
        return is_untouched or any(map(key.means, self.edits.new))

    def _is_lost(self, path: str, outcome: str | None, *, has_run: bool, are_fewer: bool) -> bool:
        """Does a test that is gone fail as it was, or is less asked without it? `path` is its file, if that changed."""
        if outcome == FAILED or (path and not has_run):
            return True
        return are_fewer and (not path or self._asserts_less(path))

    def _unlisted_gone(self) -> Iterator[Finding]:
        """Tests that are written no more, where no check names any, in files that assert less."""
        for path in filter(self._asserts_less, self.edits.edited):
            for test in self.edits.gone(path):
                if not may_go(test.id, self.c.story.removes):
                    yield Finding(Kind.REMOVED, test.id)

    def _asserts_less(self, path: str) -> bool:
        was, now = self.c.assertions.get(as_utf8(path), (0, 0))
        return now < was

    def _by_file(self, red: Sequence[str]) -> Iterator[Finding]:
        """What failed of each edited file, and of all others with what stood beside them."""
        files: dict[str, list[str]] = {}
        for test in red:
            files.setdefault(self.edits.file_of(test), []).append(test)
        for path in sorted(files.keys() - {""}):
            what = f"{len(files[path])} of the old {as_utf8(path)} fail against the new code"
            yield Finding(Kind.CHANGED, f"{what}: {listed_names(files[path])}")
        if self.beside and (others := files.get("")):
            names = f"{listed_names(list(map(as_utf8, self.beside)))}: {listed_names(others)}"
            yield Finding(Kind.CHANGED, f"{len(others)} tests fail against the new code with the old {names}")

    def _as_a_whole(self) -> Iterator[Finding]:
        """A check that fails with the old files and names no test that was known. The story may name these files, or
        every test in them that it edited."""
        paths = [*self.edits.edited, *self.beside]
        if not all(self._may_all_change(path, self.c.story.changes) for path in paths):
            files = listed_names(list(map(as_utf8, paths)))
            yield Finding(Kind.CHANGED, f"check {self.check.name} fails against the new code with the old {files}")

    def _may_all_change(self, path: str, changes: Sequence[str]) -> bool:
        rewritten = self.edits.rewritten(path)
        is_named = bool(rewritten) and all(may_go(test.id, changes) for test in rewritten)
        return is_named or may_go(as_utf8(path), changes)
