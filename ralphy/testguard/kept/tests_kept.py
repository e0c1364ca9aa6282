"""Are the tests still all there? What ran before must still run and pass, under its name or another one; what was
skipped or expected to fail must still exist (`SkippedTests`).

Two sources: the listings of the runner before and after (`Listing`), and the tests as they are written in the changed
files (`Case`). With listings their word counts, and the text only tells a renamed, moved or merged test from a
removed one. Without them the text is all there is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from ralphy.checks.listing import Listing, merged
from ralphy.testguard.findings import Finding, Kind
from ralphy.testguard.kept.test_index import Written
from ralphy.testguard.kept.test_keys import RAN, Key, Runs, last_part
from ralphy.testguard.kept.test_matching import Homes, Sources, holds, resembles, weakness
from ralphy.testguard.kept.tests_skipped import SkippedTests
from ralphy.testguard.read.test_parser import Case

# Of Python, what a runner collects by itself: a helper beside the tests may have any name.
_COLLECTED = re.compile(r"(?:^|/)(?:test[^/]*|[^/]*_tests?)\.py$|\.(?!py$)\w+$")
# What Maven looks for by itself; a test that moves elsewhere may run no more.
_OF_JAVA = re.compile(r"(?:^|/)(?:(?:Test|IT)[^/]*|[^/]*(?:Tests?|TestCase|IT|Spec))\.java$")

_CHANGED = (Kind.FEWER, Kind.REWORDED)  # what a story may do to a test whose expectations it changes


def compare(
    before: Listing | None, after: Listing | None, sources: Sources, removes: Sequence[str], changes: Sequence[str] = ()
) -> list[Finding]:  # fmt: skip
    """What of the tests is gone, skipped or emptied. By id, glob, file or folder, `removes` names those that may go,
    and `changes` those that may expect something else (without it, the same)."""
    changes = changes or removes
    if before and after and before.tests and after.tests:
        beyond = _beyond(sources, before)
        ran, runs = Runs.of(before), Runs.of(after)
        found = [*_by_name(before, after, sources, removes), *_weakened(sources, removes, changes, ran)]
        found += [*_excused(sources, removes, ran, runs), *_unwritten(sources, removes, ran, runs)]
        found += [*_by_text(beyond, removes), *_weakened(beyond, removes, changes, None)]
        return list(dict.fromkeys([*found, *_skipped(SkippedTests(sources, ran, runs), removes, changes)]))
    found = [*_by_text(sources, removes), *_weakened(sources, removes, changes, None)]
    found = list(dict.fromkeys([*found, *_skipped(SkippedTests(sources, None, None), removes, changes)]))
    if before and after and not found:
        found = list(_by_count(before, after, sources, removes))
    return found


def compare_each(
    before: Mapping[str, Listing], after: Mapping[str, Listing], apart: frozenset[str], sources: Sources,
    removes: Sequence[str], changes: Sequence[str] = (),
) -> list[Finding]:  # fmt: skip
    """The same for several checks, by name. A file of `apart` is another one in each check: its tests are compared
    check by check, and so are the numbers of a check that names no tests."""
    old, new = merged(list(before.values())), merged(list(after.values()))
    found = compare(old, new, sources, removes, changes)
    if not (old.tests and new.tests):
        return found
    for check in before.keys() & after.keys():
        was, now = before[check], after[check]
        if was.tests and now.tests:
            found += _by_name(_only(was, apart), now, sources, removes, Runs.of(new))
        else:
            found += _by_count(was, now, sources, removes)
    return list(dict.fromkeys(found))


def _skipped(tests: SkippedTests, removes: Sequence[str], changes: Sequence[str]) -> Iterator[Finding]:
    for case, found in tests.findings():
        if not may_go(case.shown, changes if found.kind in _CHANGED else removes):
            yield found


def _only(listing: Listing, places: frozenset[str]) -> Listing:
    """The part of a listing that speaks of the tests in these files."""
    return Listing.of({test: outcome for test, outcome in listing.tests.items() if Key.of(test).path in places})


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
    """Is a test named by one of the ids (as pytest or unittest writes them), globs, files or folders? Many runners tell
    no file: there the name counts."""
    base = test.partition("[")[0]
    path = base.partition("::")[0]
    dotted = base.replace(".py::", ".").replace("::", ".").replace("/", ".") if path.endswith(".py") else base
    return any(
        wanted in (test, base, path, dotted) or dotted.startswith(f"{wanted}.")
        or ("." in wanted and dotted.endswith(f".{wanted}"))
        or base.startswith((f"{wanted}::", f"{wanted.rstrip('/')}/"))
        or fnmatchcase(test, wanted) or fnmatchcase(base, wanted) or last_part(base) == wanted
        or (not Key.of(test).path and Key.of(wanted).path and Key.of(wanted).name in (test, last_part(base)))
        for wanted in removes
    )  # fmt: skip


def _by_name(
    before: Listing, after: Listing, sources: Sources, removes: Sequence[str], everywhere: Runs | None = None
) -> Iterator[Finding]:
    """What was listed before and is not now, or ran and does not; `everywhere` is what runs in any check, if `after` is
    one of several."""
    old, new = Runs.of(before), Runs.of(after)
    homes = Homes(sources, old, everywhere or new)
    for key in old.names:
        names = [name for name in old.names[key] if not may_go(name, removes)]
        has_run_less, is_fewer = new.ran[key] < old.ran[key], new.total(key) < old.total(key)
        if not names or not (has_run_less or is_fewer):
            continue
        if has_run_less and new.out[key] > old.out[key]:
            out = next(name for name in new.names[key] if after.tests[name] not in RAN)
            reason = after.reasons.get(out, "")
            yield Finding(Kind.SKIPPED, f"{out} ({reason})" if reason else out)
        elif new.ran[key] or (new.out[key] and not old.ran[key]):
            gone = [name for name in names if name not in after.tests]
            yield from _fewer_cases(key, old.total(key), new, gone)
        elif old.ran[key]:
            yield from _ran_no_more(key, names, homes, old.ran[key], are_fewer=after.ran < before.ran)
        else:
            are_fewer = after.collected < before.collected
            yield from _listed_no_more(key, names, homes, everywhere or new, are_fewer=are_fewer)


def _ran_no_more(key: Key, names: Sequence[str], homes: Homes, times: int, *, are_fewer: bool) -> Iterator[Finding]:
    if not key.path and not homes.is_written(key):
        # Its name is made while it runs: known again by number alone.
        yield from (Finding(Kind.REMOVED, name) for name in names if are_fewer)
    elif homes.is_unchanged(key):
        yield Finding(Kind.RUNNER, f"{names[0]} exists but no longer runs")
    elif not homes.has(key, times):
        yield from (Finding(Kind.REMOVED, name) for name in names)


def _listed_no_more(key: Key, names: Sequence[str], homes: Homes, new: Runs, *, are_fewer: bool) -> Iterator[Finding]:
    """A test that was skipped or expected to fail. What is written in the changed files is known by its text."""
    if homes.is_written(key) or (key.is_for_several and (key.path in new.paths or not homes.is_unchanged(key))):
        return
    if not key.path:
        yield from (Finding(Kind.REMOVED, name) for name in names if are_fewer)
    elif homes.is_unchanged(key):
        yield Finding(Kind.RUNNER, f"{names[0]} was skipped, and is no longer collected")
    else:
        yield from (Finding(Kind.REMOVED, name) for name in names)


def _fewer_cases(key: Key, times: int, new: Runs, gone: Sequence[str]) -> Iterator[Finding]:
    if not gone:
        return
    what = f"{gone[0]}: {new.total(key)} of {times} cases of this test are left"
    is_plain = bool(key.path) and any("[" not in name for name in new.names[key])  # the cases may be a loop now
    yield Finding(Kind.FEWER if is_plain else Kind.REMOVED, what)


def _by_text(sources: Sources, removes: Sequence[str]) -> Iterator[Finding]:
    """Without listings: which tests are not written anywhere any more, or take themselves out."""
    new = {(case.path, case.name): case for case in sources.new}
    places = {case.path for case in sources.old}
    sources = replace(sources, new=[case for case in sources.new if case.path in places or _is_found(case.path)])
    live, grown = Written(case for case in sources.new if not case.is_skipped), _grown(sources)
    for lost in sources.old:
        if may_go(lost.shown, removes) or lost.is_skipped or not _COLLECTED.search(lost.path):
            continue
        still = new.get((lost.path, lost.name))
        if still is not None and still.is_skipped:
            yield Finding(Kind.SKIPPED, lost.shown)
        elif still is None and not _is_among(lost, live, grown):
            yield Finding(Kind.REMOVED, lost.shown)


def _is_found(path: str) -> bool:
    """Does a runner look for tests in a new file of this name, as far as that is known?"""
    return not path.endswith(".java") or bool(_OF_JAVA.search(path))


def _grown(sources: Sources) -> Written:
    """The live tests that are new, or assert more than before."""
    old = {(case.path, case.name): len(case.asserts) for case in sources.old}
    return Written(case for case in sources.new
                   if not case.is_skipped and len(case.asserts) > old.get((case.path, case.name), -1))  # fmt: skip


def _is_among(lost: Case, live: Written, grown: Written) -> bool:
    """Is all that a test asserted in one that is live, or is it one that is new or asserts more than before?"""
    is_held = any(holds(case, lost) for case in live.holding(lost))
    return is_held or any(resembles(case, lost) for case in grown.resembling(lost))


def _weakened(sources: Sources, removes: Sequence[str], changes: Sequence[str], ran: Runs | None) -> Iterator[Finding]:
    """Tests that were edited until they assert nothing, or less."""
    new = {(case.path, case.name): case for case in sources.new}
    for old in sources.old:
        case = new.get((old.path, old.name))
        if case is None or (old.body, old.asserts) == (case.body, case.asserts):
            continue
        kind = weakness(old, case)
        is_named = may_go(old.shown, changes if kind in _CHANGED else removes)
        if kind and not is_named and (ran is None or ran.times(old)):
            yield Finding(kind, old.shown)


def _excused(sources: Sources, removes: Sequence[str], ran: Runs, runs: Runs) -> Iterator[Finding]:
    """Tests that ran, and whose failure would count no more: marked as expected to fail, although they pass."""
    new = {(case.path, case.name): case for case in sources.new}
    for old in sources.old:
        case = new.get((old.path, old.name), old)
        is_running = ran.times(old) and runs.times(case)
        if case.may_fail and not old.may_fail and is_running and not may_go(old.shown, removes):
            yield Finding(Kind.SKIPPED, f"{old.shown} (it may fail now)")


def _unwritten(sources: Sources, removes: Sequence[str], ran: Runs, runs: Runs) -> Iterator[Finding]:
    """Tests of which a namesake runs, while their own text is gone: made as something else, or another package's."""
    new = {(case.path, case.name) for case in sources.new}
    grown = _grown(sources)
    for lost in sources.old:
        is_there = (lost.path, lost.name) in new or not (lost.asserts or lost.calls)
        if is_there or may_go(lost.shown, removes) or not ran.times(lost) or not runs.times(lost):
            continue
        if lost.path in sources.unread:
            yield Finding(Kind.FEWER, f"{lost.shown} (this file cannot be read by the Python that Ralphy runs on)")
        elif not _is_among(lost, grown, grown):
            yield Finding(Kind.REMOVED, f"{lost.shown} (a test of that name runs, but its text is elsewhere)")


def _by_count(before: Listing, after: Listing, sources: Sources, removes: Sequence[str]) -> Iterator[Finding]:
    """Where the runner tells only how many tests there are."""
    if removes:
        return
    if before.ran <= after.ran:
        if after.collected < before.collected:
            what = f"{after.collected} tests exist, {before.collected} before; {before.ran} of them ran"
            yield Finding(Kind.REMOVED, what)
        return
    what = f"{after.ran} tests ran, {before.ran} before"
    if after.collected - after.ran > before.collected - before.ran:
        yield Finding(Kind.SKIPPED, what)
        return
    merged = len([a for case in sources.new for a in case.asserts]) >= len([a for c in sources.old for a in c.asserts])
    yield Finding(Kind.FEWER if merged and sources.old else Kind.REMOVED, what)
