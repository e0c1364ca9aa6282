"""The old versions of edited tests, run against the new code: what fails there is shown, or rejects (`changed_tests`).

Tests that were skipped until now, and run since the story, must pass as they were written.

An edited test may follow a requirement or give in to a mistake; who reads the evidence should know which it was. Where
a check calls pytest itself, only the files that were edited are run; any other check is run as it stands, once more.
So is every check where something beside the tests was edited: a conftest, a helper, a snapshot, data. All happens in a
copy of the candidate outside of the repository.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ralphy.checks.listing import FAILED, PASSED, SKIPPED, XFAILED, Listing
from ralphy.checks.narrowing import pytest_at
from ralphy.checks.runner_output import failing_tests
from ralphy.config.values import Check
from ralphy.engine.lane_use.checks import argv
from ralphy.engine.lane_use.take_over import Candidate
from ralphy.engine.lane_use.trial import Told, try_tree, words_for
from ralphy.engine.verify.baseline_records import known_tests
from ralphy.engine.verify.following import following
from ralphy.engine.verify.written_tests import sources
from ralphy.engine.workspace.changes import shown
from ralphy.engine.workspace.workspace import Workspace
from ralphy.git.objects import Entry
from ralphy.testguard.findings import Finding, Kind, listed_names
from ralphy.testguard.kept.edited_tests import is_edited, is_same, only_adds, theirs
from ralphy.testguard.kept.test_keys import Key
from ralphy.testguard.kept.test_matching import Sources
from ralphy.testguard.kept.tests_kept import may_go
from ralphy.testguard.kept.unsilenced import importable, unsilenced
from ralphy.testguard.read.test_parser import Case
from ralphy.testguard.substance import is_test

_MOST_EDITED = 50
_OUT = (SKIPPED, XFAILED)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked of the old tests: `before` and `now` are what the check told of the tests, `removes` may go or
    change, `settings` are the runner's as they were."""

    check: Check
    before: Listing
    now: Listing
    removes: Sequence[str]
    settings: Mapping[str, Entry | None]

    def was_woken(self, test: str) -> bool:
        """Did a test not run before, and does it pass now?"""
        key, was = Key.of(test), self.before.tests.get(test)
        whole = any(Key.of(t).is_for_several and Key.of(t).path == key.path for t in self.before.tests)
        if may_go(test, self.removes) or not (was in _OUT or (was is None and whole)):
            return False
        is_moved = test not in self.now.tests and any(
            Key.of(name).short == key.short for name, said in self.now.tests.items() if said == PASSED
        )
        return is_moved or self.now.tests.get(test) == PASSED


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
        key = Key.of(test)
        places = list(map(shown, self.edited))
        return any(map(key.is_at, places)) or (
            not key.path and any(key.means(case) for case in self.written.old if case.path in places)
        )


def edits_of(w: Workspace, candidate: Candidate, check: Check, before: Listing) -> Edits:
    """What a story edited of the tests of a check, which told this of them before."""
    written = sources(w, candidate, before)
    find = _edited if pytest_at(argv(check)) else _edited_files
    follows = following(w, candidate)
    edited = {path: was for path, was in find(w, candidate, before, written).items() if not follows(path)}
    beside = {path: was for path, was in _beside(w, candidate, written).items() if not follows(path)}
    return Edits(edited, beside, written)


_Said = str | Finding


def old_tests_fail(
    w: Workspace, candidate: Candidate, removes: Sequence[str], now: Mapping[str, Listing],
    settings: Mapping[str, Entry | None],
) -> Iterator[_Said]:  # fmt: skip
    """A sentence for each edited or moved file whose old tests, which passed, fail against the candidate's code, and a
    finding for each test that was skipped, runs `now`, and fails as it was. `removes` names tests that may go or
    change, `settings` are the runner's as they were."""
    known = known_tests(w, w.code_of(candidate.green)) or {}
    for check in w.checks:
        before = known.get(check.name)
        is_pytest = bool(pytest_at(argv(check)))
        if not before and (is_pytest or (known and not any("test" in word for word in argv(check)))):
            continue
        asked = _Asked(check, before or Listing(), now.get(check.name) or Listing(), removes, settings)
        edits = edits_of(w, candidate, check, asked.before)
        if edits.are_too_many:
            yield f"more than {_MOST_EDITED} files of tests, or beside them, were edited: no old version was run"
        edits = edits.within_reason
        if edits.edited or edits.beside or settings:
            yield from (_by_pytest if is_pytest else _by_the_check)(w, candidate, asked, edits)


def _as_it_was(_: str, data: bytes) -> bytes:
    """Where no test is named, those that were skipped cannot be told from others: they stay so."""
    return data


def _woken(asked: _Asked, red: Sequence[str]) -> Iterator[Finding]:
    return (Finding(Kind.UNSKIPPED, test) for test in red if asked.was_woken(test))


def _by_pytest(w: Workspace, candidate: Candidate, asked: _Asked, edits: Edits) -> Iterator[_Said]:
    check, before, removes = asked.check, asked.before, asked.removes
    edited, beside = edits.edited, {**edits.beside, **asked.settings}
    words = None if beside else words_for(w, check, list(map(shown, sorted(edited))))
    told = _with_old_files(w, candidate, check, {**beside, **edited}, words or argv(check), unsilenced)
    after = (told and told.listing) or Listing()
    yield from _woken(asked, [test for test, outcome in after.tests.items() if outcome == FAILED])
    red = [test for test, outcome in after.tests.items()
           if outcome == FAILED and before.tests.get(test) == PASSED and not may_go(test, removes)]  # fmt: skip
    for path in sorted(edited):
        yield from _sentence(path, [test for test in red if Key.of(test).is_at(path)])
    yield from _with_old(beside, [test for test in red if not any(map(Key.of(test).is_at, edited))])
    yield from () if red else _as_a_whole(asked, told, {**edited, **beside}, list(after.tests), edits.written)


def _edited(w: Workspace, candidate: Candidate, before: Listing, written: Sources) -> Mapping[str, Entry]:
    """The changed files that tests of the listing stand in, as they were; code that holds doctests is no such."""
    places = {Key.of(test).path for test in before.tests} - {""}
    below = tuple(f"/{place}" for place in places)
    found: dict[str, Entry] = {}
    for path, was, now in w.objects.changes(candidate.green, candidate.tree):
        is_changed = was and (now is None or was.oid != now.oid) and not _is_added_to(w, path, was, now)
        if was and is_changed and (path in places or path.endswith(below)):
            found |= {path: was} if is_test(path) or _cases_in(written.old, path) else {}
    return found


def _beside(w: Workspace, candidate: Candidate, written: Sources) -> Mapping[str, Entry | None]:
    """What was edited beside the tests, as it was; None for a conftest that is new."""
    found: dict[str, Entry | None] = {}
    for path, was, now in w.objects.changes(candidate.green, candidate.tree):
        is_counted = was or path.rpartition("/")[2] == "conftest.py"
        if not (is_counted and is_test(path)) or _cases_in([*written.old, *written.new], path) or was == now:
            continue
        if not _is_added_to(w, path, was, now):
            found[path] = was
    return found


def _with_old_files(
    w: Workspace, candidate: Candidate, check: Check, old: Mapping[str, Entry | None], words: Sequence[str],
    rewritten: Callable[[str, bytes], bytes],
) -> Told | None:  # fmt: skip
    """What a check tells of the candidate with files as they were, None for one that was not there; `rewritten` says
    what is taken of each."""
    texts = {path: importable(path, rewritten(path, w.objects.read(entry.oid) or b""))
             for path, entry in old.items() if entry}  # fmt: skip
    oids = w.objects.write_blobs(texts)
    files = {path: entry and replace(entry, oid=oids[path]) for path, entry in old.items()}
    return try_tree(w, w.objects.graft(candidate.tree, files), check, words, "old_tests")


def _by_the_check(w: Workspace, candidate: Candidate, asked: _Asked, edits: Edits) -> Iterator[_Said]:
    """Whatever runner it calls: the tests that fail now, and stand in the old version of an edited file."""
    check, before, removes, written = asked.check, asked.before, asked.removes, edits.written
    edited, beside = edits.edited, {**edits.beside, **asked.settings}
    w.say(f"  check {check.name} is run on the old versions of the tests that were edited")
    rewritten = unsilenced if before.tests else _as_it_was
    told = _with_old_files(w, candidate, check, {**beside, **edited}, argv(check), rewritten)
    if told is None:
        return
    red = [*([test for test, outcome in told.listing.tests.items() if outcome == FAILED] if told.listing else ()),
           *failing_tests(told.output)]  # fmt: skip
    yield from _woken(asked, red)
    counted = [test for test in red if before.tests.get(test) not in _OUT]
    new = [test for test in counted if before.tests.get(test) != FAILED and test not in w.history.known_red]
    kept = [case for case in written.old if case.path in map(shown, edited) and not may_go(case.shown, removes)]
    for path, names in theirs(new, kept).items():
        yield from _sentence(path, names)
    known = {(case.path, case.name) for case in written.old}
    added = [case for case in written.new if (case.path, case.name) not in known]
    spoken = {name for cases in (kept, added) for names in theirs(new, cases).values() for name in names}
    other = [name for name in dict.fromkeys(new) if name not in spoken and not may_go(name, removes)]
    yield from _with_old(beside, [name for name in other if not before.tests or before.tests.get(name) == PASSED])
    yield from () if new else _as_a_whole(asked, told, {**edited, **beside}, red, written)


def _edited_files(w: Workspace, candidate: Candidate, _: Listing, written: Sources) -> Mapping[str, Entry]:
    """The files of tests that were edited, as they were; a file with another name holds other code, too."""
    found = {}
    for path, was, now in w.objects.changes(candidate.green, candidate.tree):
        old = _cases_in(written.old, path)
        if not (was and old and is_test(path)):
            continue
        new = _cases_in(written.new, path)
        if now and path.endswith(".py"):
            is_other = not _is_added_to(w, path, was, now)
        else:
            is_other = is_edited(_text(w, was), _text(w, now), old, new) if now else not is_same(old, written.new)
        if is_other:
            found[path] = was
    return found


def _is_added_to(w: Workspace, path: str, was: Entry | None, now: Entry | None) -> bool:
    """Was a file of Python only added to, or made, in a way that does not reach tests that are there?"""
    if now is None or not path.endswith(".py"):
        return False
    old, new = (w.objects.read(entry.oid) if entry else b"" for entry in (was, now))
    return old is not None and new is not None and only_adds(old, new)


def _cases_in(cases: Sequence[Case], path: str) -> Sequence[Case]:
    return [case for case in cases if case.path == shown(path)]


def _text(w: Workspace, entry: Entry) -> str:
    return (w.objects.read(entry.oid) or b"").decode("utf-8", "replace")


def _as_a_whole(
    asked: _Asked, told: Told | None, old: Mapping[str, Entry | None], names: Sequence[str], written: Sources
) -> Iterator[Finding]:
    """A check that fails with the old files without a word on a test that was known; the story may name these, or
    every test in them that it edited."""
    is_told = any(name in asked.before.tests for name in names)
    if told and not told.is_green and not is_told and not all(_is_named(shown(path), asked, written) for path in old):
        files = listed_names(list(map(shown, old)))
        yield Finding(Kind.CHANGED, f"check {asked.check.name} fails against the new code with the old {files}")


def _is_named(path: str, asked: _Asked, written: Sources) -> bool:
    """Does the story name a file, or all tests in it that are not as they were?"""
    kept = {(case.name, case.body) for case in written.new if case.path == path}
    edited = [case for case in written.old if case.path == path and (case.name, case.body) not in kept]
    return may_go(path, asked.removes) or (bool(edited) and all(may_go(case.shown, asked.removes) for case in edited))


def _with_old(beside: Mapping[str, Entry | None], red: Sequence[str]) -> Iterator[Finding]:
    if beside and red:
        files = listed_names([shown(path) for path in beside])
        what = f"{len(red)} tests fail against the new code with the old {files}: {listed_names(red)}"
        yield Finding(Kind.CHANGED, what)


def _sentence(path: str, red: Sequence[str]) -> Iterator[Finding]:
    if red:
        what = f"{len(red)} of the old {shown(path)} fail against the new code: {listed_names(red)}"
        yield Finding(Kind.CHANGED, what)
