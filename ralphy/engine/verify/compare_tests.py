"""Are the tests still all there, and do they still ask as much? And what did the story change around them?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ralphy.checks.listing import FAILED, Listing, merged
from ralphy.engine.lane_use.checks import CheckResult
from ralphy.engine.verify.baseline_records import listed, record_baseline, tests_of
from ralphy.engine.verify.case import Case, Change, Verdict
from ralphy.pipeline.steering import steering_findings
from ralphy.testguard.findings import Finding, Kind
from ralphy.testguard.substance import is_test
from ralphy.testguard.surroundings import around, unnamed_tests
from ralphy.testguard.test_keys import Key
from ralphy.testguard.tests_kept import fewer, may_go, skipped
from ralphy.text.plain_text import as_utf8


def tests_are_kept(c: Case) -> Verdict | None:
    """The tests of the last green commit are all there and run. The checks' results are recorded here."""
    if c.before is None:
        missing = "the list of the last green commit's tests is missing, or was edited"
        verdict = c.weigh([Finding(Kind.RUNNER, missing)])
    else:
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
    """Checks that reported which tests they ran, and no longer do."""
    for result in results:
        known = before.get(result.name, Listing())
        had_files = any(Key.of(test).path for test in known.tests)
        is_silent = (bool(known.ran) and result.listing is None) or (had_files and not tests_of(result))
        if result.is_green and is_silent:
            yield Finding(Kind.RUNNER, f"check {result.name} no longer reports which tests it ran")


def _failing_but_green(before: Mapping[str, Listing], results: Sequence[CheckResult]) -> Iterator[Finding]:
    """Checks that pass although tests failed in them, which none did before."""
    for result in results:
        if not result.is_green or result.listing is None or before.get(result.name, Listing()).counts.get(FAILED):
            continue
        red = [test for test, outcome in tests_of(result).items() if outcome == FAILED]
        number = result.listing.counts.get(FAILED)
        if number:
            yield Finding(Kind.RUNNER, f"check {result.name} passes although {', '.join(red[:5]) or number} failed")


def _evidence(old: Listing, new: Listing) -> dict[str, Any]:
    """Small enough for prd.json: how many tests there were and are, and how they were compared."""
    if old.tests and new.tests:
        how = "by name"
    else:
        how = "by number" if old.counts and new.counts else "by running the old ones: no check names its tests"
    summaries = {word: listing.summary() for word, listing in (("before", old), ("after", new)) if listing.counts}
    return {"compared": how, **summaries}


def _around(c: Case, *, is_listed: bool) -> Iterator[Finding]:
    """What the story changed around the tests."""
    places = [change.now for change in c.changes if change.now]
    for change in c.changes:
        if not is_listed and _is_untold(c, change) and not (change.now is None and change.was in places):
            yield unnamed_tests(change.name, is_gone=change.now is None)
        yield from around(change.name, change.old_text, change.new_text, c.command_words)


def _is_untold(c: Case, change: Change) -> bool:
    """Is it a changed file of tests whose language is not known, and that may not go?"""
    is_read = any(test.path == change.name for test in c.written[0])
    return bool(change.was and is_test(change.path) and not is_read and not may_go(change.name, c.story.removes))
