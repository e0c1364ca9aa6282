"""Are the tests still all there, and do they still ask as much? And what did the story change around them?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ralphy.checks.listing import FAILED, Listing, merged
from ralphy.engine.lane_use.checks import CheckResult, argv
from ralphy.engine.verify.baseline_records import listed, record_baseline
from ralphy.engine.verify.case import Case, Change, Verdict
from ralphy.pipeline.steering import steering_findings
from ralphy.testguard.findings import Finding, Kind
from ralphy.testguard.kept.surroundings import around, is_run, may_deafen, untold
from ralphy.testguard.kept.test_keys import Key
from ralphy.testguard.kept.tests_kept import fewer, may_go, skipped
from ralphy.testguard.substance import is_test
from ralphy.text.plain_text import as_utf8


def tests_are_kept(c: Case) -> Verdict | None:
    """The tests of the last green commit are all there and run. What the checks said is known from here on."""
    if c.before is None:
        missing = "the list of the last green commit's tests is missing, or was edited"
        verdict = c.weigh([Finding(Kind.RUNNER, missing)])
    else:
        _note_surroundings(c)
        verdict = c.weigh(list(_compared(c, c.before)))
    if verdict is None and c.results:
        record_baseline(c.w, c.candidate.code, c.results)
    return verdict


def _compared(c: Case, before: Mapping[str, Listing]) -> Iterator[Finding]:
    after, removes = listed(c.checks), c.story.removes
    old, new = merged(list(before.values())), merged(list(after.values()))
    c.evidence |= _evidence(old, new) if c.checks else {}
    yield from steering_findings(map(as_utf8, c.candidate.files))
    yield from _silenced(before, c.checks)
    yield from _failing_but_green(before, c.checks)
    yield from skipped(before, after, removes)
    yield from fewer(before, after, removes)
    yield from _fewer_assertions(c)
    yield from _around(c, is_listed=bool(old.tests and new.tests))


def _fewer_assertions(c: Case) -> Iterator[Finding]:
    """The files of tests that hold fewer assertions, unless these moved, or the story names tests that may change."""
    if c.story.removes or c.story.changes:
        return
    may_have_moved = sum(now - was for was, now in c.assertions.values()) >= 0
    for path, (was, now) in c.assertions.items():
        if now < was and not (may_have_moved and _lost_tests(c, path)):
            yield Finding(Kind.FEWER, f"{path} ({now} of {was} assertions are left)")


def _lost_tests(c: Case, path: str) -> bool:
    """Did tests leave a file, or is none known in it? Else no assertion moved with one."""
    was, now = ({test.name for test in tests if test.path == path} for tests in c.written)
    return not was or not was <= now


def _silenced(before: Mapping[str, Listing], results: Sequence[CheckResult]) -> Iterator[Finding]:
    """Checks that told which tests they ran, and tell it no more."""
    for result in results:
        known = before.get(result.name)
        named = known and any(Key.of(test).path for test in known.tests)
        is_silent = result.listing is None and known and known.ran
        is_silent = is_silent or (named and not (result.listing and result.listing.tests))
        if result.is_green and is_silent:
            yield Finding(Kind.RUNNER, f"check {result.name} no longer reports which tests it ran")


def _failing_but_green(before: Mapping[str, Listing], results: Sequence[CheckResult]) -> Iterator[Finding]:
    """Checks that pass although tests failed in them, which none did before."""
    for result in results:
        if not result.is_green or result.listing is None or before.get(result.name, Listing()).counts.get(FAILED):
            continue
        red = [test for test, outcome in result.listing.tests.items() if outcome == FAILED]
        number = result.listing.counts.get(FAILED)
        if number:
            yield Finding(Kind.RUNNER, f"check {result.name} passes although {', '.join(red[:5]) or number} failed")


def _evidence(old: Listing, new: Listing) -> dict[str, Any]:
    """Small enough for prd.json: how many there were, and how they were compared."""
    if old.tests and new.tests:
        how = "by name"
    else:
        how = "by number" if old.counts and new.counts else "by running the old ones: no check names its tests"
    found: dict[str, Any] = {"compared": how}
    if old.counts:
        found["before"] = old.summary()
    if new.counts:
        found["after"] = new.summary()
    return found


def _note_surroundings(c: Case) -> None:
    """Note the runner's settings as they were, and whether a check may be unable to fail after this change."""
    named = _words_of_checks(c)
    c.settings = {change.path: change.was for change in c.changes if is_run(change.name, named)}
    c.may_hide_failures = any(may_deafen(one.name, one.old_text, one.new_text, named) for one in c.changes)


def _around(c: Case, *, is_listed: bool) -> Iterator[Finding]:
    """What the story changed around the tests."""
    named = _words_of_checks(c)
    places = [change.now for change in c.changes if change.now]
    for change in c.changes:
        if not is_listed and _is_untold(c, change) and not (change.now is None and change.was in places):
            yield untold(change.name, is_gone=change.now is None)
        yield from around(change.name, change.old_text, change.new_text, named)


def _words_of_checks(c: Case) -> frozenset[str]:
    return frozenset(word for check in c.w.checks for word in argv(check))


def _is_untold(c: Case, change: Change) -> bool:
    """Is it a changed file of tests whose language is not known, and that may not go?"""
    is_read = any(test.path == change.name for test in c.written[0])
    return bool(change.was and is_test(change.path) and not is_read and not may_go(change.name, c.story.removes))
