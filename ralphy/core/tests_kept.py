"""Are the tests still all there? What ran before must still run and pass, under its name or another one.

Two sources: the listings of the runner before and after (`Listing`), and the tests as they are written in the changed
files (`Case`). With listings their word counts, and the text only tells a renamed, moved or merged test from a
removed one. Without them the text is all there is.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from ralphy.core.cases import Case
from ralphy.core.findings import Finding, Kind
from ralphy.core.listing import FAILED, PASSED, Listing
from ralphy.core.written import Written

_RAN = (PASSED, FAILED)
# Of Python, what a runner collects by itself: a helper beside the tests may have any name.
_COLLECTED = re.compile(r"(?:^|/)(?:test[^/]*|[^/]*_tests?)\.py$|\.(?!py$)\w+$")
_GO_SUBTEST = re.compile(r"(?:Test|Fuzz|Example)\w*/")


@dataclass(frozen=True, slots=True)
class Sources:
    """The tests in the files that a story changed, before and after, and the names of all files that it changed."""

    old: Sequence[Case] = ()
    new: Sequence[Case] = ()
    changed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Key:
    """A test without its parameters: where the runner says it lies ("" if it does not), and its name."""

    path: str
    name: str

    @classmethod
    def of(cls, test: str) -> Key:
        base = test.partition("[")[0] if not test.startswith("[") else test
        path, mark, inner = base.partition("::")
        if not mark or "." not in path.rsplit("/", 1)[-1]:
            return cls("", test.partition("/")[0] if _GO_SUBTEST.match(test) else test)
        return cls(path, inner.replace("::", "."))

    def is_at(self, path: str) -> bool:
        """Does a path of the repository mean this file? The runner may stand in a folder of its own."""
        return bool(self.path) and (path == self.path or path.endswith(f"/{self.path}"))

    def means(self, case: Case) -> bool:
        if self.path:
            return self.name == case.name and self.is_at(case.path)
        return self.short == case.short

    @property
    def short(self) -> str:
        return self.name.rsplit(".", 1)[-1] if self.path else _last(self.name)


def _last(name: str) -> str:
    for mark in (" > ", " › ", "::"):
        name = name.rsplit(mark, 1)[-1]
    return name.strip()


@dataclass(slots=True)
class Runs:
    """How often each test ran and how often not, by key; a parametrised one once for each case."""

    ran: Counter[Key] = field(default_factory=Counter)
    out: Counter[Key] = field(default_factory=Counter)
    names: dict[Key, list[str]] = field(default_factory=lambda: defaultdict(list))
    short: dict[str, list[Key]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, listing: Listing) -> Runs:
        runs = cls()
        for test, outcome in listing.tests.items():
            key = Key.of(test)
            (runs.ran if outcome in _RAN else runs.out)[key] += 1
            runs.names[key].append(test)
        for key in runs.names:
            runs.short[key.short].append(key)
        return runs

    def times(self, case: Case) -> int:
        """How often a written test ran."""
        return sum(self.ran[key] for key in self.short.get(case.short, ()) if key.means(case))


def compare(before: Listing | None, after: Listing | None, sources: Sources, removes: Sequence[str]) -> list[Finding]:
    """What of the tests is gone, skipped or emptied; `removes` names those that may go, by id, glob or file."""
    if before and after and before.tests and after.tests:
        beyond = _beyond(sources, before)
        found = [*_by_name(before, after, sources, removes), *_weakened(sources, removes, Runs.of(before))]
        return [*found, *_by_text(beyond, removes), *_weakened(beyond, removes, None)]
    found = [*_by_text(sources, removes), *_weakened(sources, removes, None)]
    if before and after and not found:
        found = list(_by_count(before, after, sources, removes))
    return found


def _beyond(sources: Sources, listing: Listing) -> Sources:
    """The tests that a listing does not speak of: in files of which it names none, or in another language.

    pytest and unittest tell paths, others names alone. Of a check that calls pytest twice, the last report counts.
    """
    keys = {Key.of(test) for test in listing.tests}
    places = {key.path for key in keys} - {""}
    below = tuple(f"/{place}" for place in places)
    names_others = any(not key.path for key in keys)

    def is_beyond(case: Case) -> bool:
        if case.path.endswith(".py"):
            return case.path not in places and not case.path.endswith(below)
        return not names_others

    return Sources(list(filter(is_beyond, sources.old)), sources.new, sources.changed)


def may_go(test: str, removes: Iterable[str]) -> bool:
    """Is a test named by one of the ids, globs, files or folders?"""
    base = test.partition("[")[0]
    path = base.partition("::")[0]
    return any(
        wanted in (test, base, path) or base.startswith((f"{wanted}::", f"{wanted.rstrip('/')}/"))
        or fnmatchcase(test, wanted) or fnmatchcase(base, wanted) or _last(base) == wanted
        for wanted in removes
    )  # fmt: skip


def _by_name(before: Listing, after: Listing, sources: Sources, removes: Sequence[str]) -> Iterator[Finding]:
    old, new = Runs.of(before), Runs.of(after)
    homes = _Homes(sources, old, new)
    for key, times in old.ran.items():
        names = [name for name in old.names[key] if not may_go(name, removes)]
        if not names or new.ran[key] >= times:
            continue
        if new.out[key] > old.out[key]:
            out = next(name for name in new.names[key] if after.tests[name] not in _RAN)
            reason = after.reasons.get(out, "")
            yield Finding(Kind.SKIPPED, f"{out} ({reason})" if reason else out)
        elif new.ran[key]:
            yield from _fewer_cases(key, times, new, [name for name in names if name not in after.tests])
        elif not key.path and not homes.is_written(key):
            # Its name is made while it runs: known again by number alone.
            yield from (Finding(Kind.REMOVED, name) for name in names if after.ran < before.ran)
        elif homes.is_unchanged(key):
            yield Finding(Kind.RUNNER, f"{names[0]} is there and is not run any more")
        elif not homes.has(key, times):
            yield from (Finding(Kind.REMOVED, name) for name in names)


def _fewer_cases(key: Key, times: int, new: Runs, gone: Sequence[str]) -> Iterator[Finding]:
    if not gone:
        return
    what = f"{gone[0]}: {new.ran[key]} of {times} cases of this test are left"
    is_plain = bool(key.path) and any("[" not in name for name in new.names[key])  # the cases may be a loop now
    yield Finding(Kind.FEWER if is_plain else Kind.REMOVED, what)


class _Homes:
    """Where a test may have gone to: the tests of the changed files that run now."""

    def __init__(self, sources: Sources, old: Runs, new: Runs) -> None:
        self._changed, self._new_runs = sources.changed, new
        self._old, self._new = Written(sources.old), Written(sources.new)
        self._room = {case: new.times(case) - old.times(case) for case in sources.new}

    def is_written(self, key: Key) -> bool:
        """Is there a test of that name in the files as they were before?"""
        return any(map(key.means, self._old.named(key.short)))

    def is_unchanged(self, key: Key) -> bool:
        """Is a test still written where it was, although it does not run?"""
        if key.path and not any(map(key.is_at, self._changed)):
            return True
        return any(map(key.means, self._new.named(key.short)))

    def has(self, key: Key, times: int) -> bool:
        """Is the test's body, or all that it asserts, in one that runs now?"""
        lost = next(filter(key.means, self._old.named(key.short)), None)
        if lost is None:
            return self._moved_unread(key)
        if any(_holds(case, lost) for case in self._new.holding(lost) if self._new_runs.times(case)):
            return True
        for case in self._new.resembling(lost):
            if self._room[case] >= min(times, 1) and self._new_runs.times(case) and _resembles(case, lost):
                self._room[case] -= 1
                return True
        return False

    def _moved_unread(self, key: Key) -> bool:
        """A test of a kind that cannot be read is where one of its name runs in another file."""
        return any(found.name == key.name and found.path != key.path and times and found.path
                   for found, times in self._new_runs.ran.items())  # fmt: skip


def _holds(case: Case, lost: Case) -> bool:
    """Is all that a lost test asserted in this one: the same body, or the same assertions?"""
    if case.body == lost.body:
        return True
    if not lost.asserts or Counter(lost.asserts) - Counter(case.asserts):
        return False
    return lost.calls <= case.calls or any("(func=" in said or "attr=" in said for said in lost.asserts)


def _resembles(case: Case, lost: Case) -> bool:
    """Is it the lost test with other values or another place: parametrised, or moved and edited?"""
    if case.short == lost.short and case.path != lost.path:
        return not _weakness(lost, case)
    return bool(lost.asserts) and lost.calls <= case.calls and set(lost.shapes) <= set(case.shapes)


def _by_text(sources: Sources, removes: Sequence[str]) -> Iterator[Finding]:
    """Without listings: which tests are not written anywhere any more, or take themselves out."""
    new = {(case.path, case.name): case for case in sources.new}
    old = {(case.path, case.name): len(case.asserts) for case in sources.old}
    live = Written(case for case in sources.new if not case.is_skipped)
    grown = Written(case for case in sources.new
                    if not case.is_skipped and len(case.asserts) > old.get((case.path, case.name), -1))  # fmt: skip
    for lost in sources.old:
        if may_go(lost.shown, removes) or lost.is_skipped or not _COLLECTED.search(lost.path):
            continue
        still = new.get((lost.path, lost.name))
        if still is not None and still.is_skipped:
            yield Finding(Kind.SKIPPED, lost.shown)
        elif still is None and not _is_among(lost, live, grown):
            yield Finding(Kind.REMOVED, lost.shown)


def _is_among(lost: Case, live: Written, grown: Written) -> bool:
    """Is all that a test asserted in one that is live, or is it one that is new or asserts more than before?"""
    holds = any(_holds(case, lost) for case in live.holding(lost))
    return holds or any(_resembles(case, lost) for case in grown.resembling(lost))


def _weakened(sources: Sources, removes: Sequence[str], ran: Runs | None) -> Iterator[Finding]:
    """Tests that were edited until they assert nothing, or less."""
    new = {(case.path, case.name): case for case in sources.new}
    for old in sources.old:
        case = new.get((old.path, old.name))
        if case is None or (old.body, old.asserts) == (case.body, case.asserts) or may_go(old.shown, removes):
            continue
        kind = _weakness(old, case)
        if kind and (ran is None or ran.times(old)):
            yield Finding(kind, old.shown)


def _weakness(old: Case, new: Case) -> Kind | None:
    if old.asserts and not new.asserts:
        return Kind.EMPTIED
    if not old.asserts and old.calls and not new.calls:
        return Kind.EMPTIED
    return Kind.FEWER if len(new.asserts) < len(old.asserts) else None


def _by_count(before: Listing, after: Listing, sources: Sources, removes: Sequence[str]) -> Iterator[Finding]:
    """Where the runner tells only how many tests there are."""
    fewer = before.ran - after.ran
    if fewer <= 0 or removes:
        return
    what = f"{after.ran} tests ran, {before.ran} before"
    if after.collected - after.ran > before.collected - before.ran:
        yield Finding(Kind.SKIPPED, what)
        return
    merged = len([a for case in sources.new for a in case.asserts]) >= len([a for c in sources.old for a in c.asserts])
    yield Finding(Kind.FEWER if merged and sources.old else Kind.REMOVED, what)
