"""Are the tests still all there? The names in the runner's reports, before and after, tell which vanished or were
skipped, and of which fewer cases ran; where a runner names none, the numbers do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from ralphy.checks.listing import Listing
from ralphy.testguard.findings import Finding, Kind
from ralphy.testguard.test_keys import RAN, Key, last_part

Listings = Mapping[str, Listing]


def skipped(before: Listings, after: Listings, removes: Sequence[str]) -> Iterator[Finding]:
    """The tests that ran, and are skipped or expected to fail now."""
    ran, runs = _runs(before), _runs(after)
    for listing in after.values():
        for test, outcome in listing.tests.items():
            key = Key.of(test)
            if outcome not in RAN and runs[key] < ran[key] and not may_go(test, removes):
                reason = listing.reasons.get(test, "")
                yield Finding(Kind.SKIPPED, f"{test} ({reason})" if reason else test)


def fewer(before: Listings, after: Listings, removes: Sequence[str]) -> Iterator[Finding]:
    """Tests of which fewer cases ran, and checks that name no tests and ran fewer."""
    was, now = _times(before), _times(after)
    gone = _names(before) - _names(after)
    for key, test in {Key.of(test): test for test in sorted(gone, reverse=True) if not may_go(test, removes)}.items():
        if 0 < now[key] < was[key]:
            is_plain = bool(key.path) and any(Key.of(name) == key and "[" not in name for name in _names(after))
            kind = Kind.FEWER if is_plain and "[" in test else Kind.REMOVED  # the cases may be a loop now
            yield Finding(kind, f"{test}: {now[key]} of {was[key]} cases of this test are left")
    for check in (before.keys() & after.keys()) if not removes else ():
        old, new = before[check], after[check]
        if not (old.tests and new.tests) and new.ran < old.ran:
            is_skipped = new.collected - new.ran > old.collected - old.ran
            yield Finding(Kind.SKIPPED if is_skipped else Kind.REMOVED, f"{new.ran} tests ran, {old.ran} before")


def vanished(before: Listing, after: Listings, removes: Sequence[str]) -> list[str]:
    """The tests of a check that no check names any more."""
    if not any(listing.tests for listing in after.values()):
        return []
    now = _times(after)
    return [test for test in before.tests if not now[Key.of(test)] and not may_go(test, removes)]


def _names(listings: Listings) -> Counter[str]:
    return Counter(test for listing in listings.values() for test in listing.tests)


def _times(listings: Listings) -> Counter[Key]:
    return Counter(Key.of(test) for listing in listings.values() for test in listing.tests)


def _runs(listings: Listings) -> Counter[Key]:
    return Counter(Key.of(test) for listing in listings.values() for test, outcome in listing.tests.items()
                   if outcome in RAN)  # fmt: skip


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
