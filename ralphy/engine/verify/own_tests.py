"""What a story's own tests prove: red first, and more than that a name exists.

The story's tests are run on the code of before: the last green tree with these tests, and what runs them, laid over it.
So that none fails only since a name is missing, the new names alone are added (decision record 021). Tests that were
known to fail, and pass now, have been red before anybody asked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from ralphy.checks.listing import FAILED, PASSED, merged
from ralphy.config.values import Check
from ralphy.engine.lane_use.checks import CheckResult
from ralphy.engine.lane_use.trial import patience_s
from ralphy.engine.verify.baseline_records import listed, names_tests, tests_of
from ralphy.engine.verify.case import Case, Change, Verdict
from ralphy.engine.verify.failures_reported import a_check_runs_tests, hidden_failures, with_twins
from ralphy.engine.verify.hollow_trees import NewNames, with_new_names
from ralphy.engine.verify.parts import hunks_in
from ralphy.git.objects import Entry
from ralphy.testguard.findings import Finding, Kind
from ralphy.testguard.red_first import RedFirst, compared, goes_along, with_tests_of
from ralphy.testguard.spoiled_tests import those_of
from ralphy.testguard.substance import CODE, is_manifest
from ralphy.testguard.test_files import WrittenTest, has_tests_beside_code
from ralphy.testguard.test_keys import Key

_MOST_UNPROVED = 2  # refusals of a story for want of a proof
_MOST_NOTED = 20
_DOCUMENTS = re.compile(r"(?:^|/)(?:docs?|documentation|examples?|samples?)/")


def tests_could_tell(c: Case) -> Verdict | None:
    """Some test of the story fails without its code, and asks for more than a name.

    Without one it goes back a few times; then it lands, flagged. So does one whose tests no check runs.
    """
    if c.w.config.verify.unproved == "off":
        return None
    if c.story.kind == "docs":
        problems = list(_code_in_documents(c))
    elif all(result.is_empty for result in c.checks):
        return None
    else:
        c.own = _red_first(c)
        c.evidence["red_first"] = _evidence_of(c.own)
        problems = list(_why_unproved(c, c.own))
    if c.own and (verdict := c.weigh([Finding(Kind.RUNNER, why) for why in c.own.hidden])):
        return verdict
    only_flags = c.went_back >= _MOST_UNPROVED or bool(problems and not _are_run(c))
    verdict = c.weigh([Finding(Kind.UNPROVED, why) for why in problems], only_flags=only_flags)
    return replace(verdict, is_unproved=True) if verdict else None


def _are_run(c: Case) -> bool:
    """Does a check run the story's tests?"""
    brings = c.own is not None and bool(c.own.blind)
    return names_tests(c.checks) or (brings and a_check_runs_tests(c))


def _code_in_documents(c: Case) -> Iterator[str]:
    """The code that a story of kind `docs` changes; what stands in folders of documents or examples is none."""
    for change, hunk in hunks_in(c.w, c.candidate, c.changes):
        if change.path.endswith((*CODE, ".sh")) and not _DOCUMENTS.search(change.path):
            yield f"{hunk.place} is code, and the story is of kind docs"


def _why_unproved(c: Case, own: RedFirst) -> Iterator[str]:
    """What speaks against the story's own tests."""
    if c.story.kind == "refactor":
        yield from (f"{test} fails without the refactoring" for test in (*own.tests, *own.checks))
        return
    if not own.is_proof:
        yield from (f"{test} passes {own.how}" for test in own.blind)
        yield from () if own.blind else ["no test covers this story's code"]
    text = json.dumps(c.story.raw, ensure_ascii=False)
    still_red = sorted(test for test in c.known_red - set(own.tests) if test in text)
    yield from (f"{test} belongs to the story, and still fails" for test in still_red)


def _evidence_of(own: RedFirst) -> dict[str, Any]:
    """Small enough for prd.json: how many, and the first names."""
    lists = {"tests": own.tests, "checks": own.checks, "blind": own.blind}
    return {"number": len(own.tests), **{word: list(names[:_MOST_NOTED]) for word, names in lists.items() if names}}


@dataclass(frozen=True, slots=True)
class StoryTests:
    """The changed `files` that belong to the tests (None: one that is gone), the tests that are written `there`, and
    those of them that are the story's `own`: new, or edited."""

    files: Mapping[str, Entry | None]
    there: Sequence[WrittenTest]
    own: Sequence[WrittenTest]

    @classmethod
    def of(cls, c: Case) -> StoryTests:
        rows = [(change, _laid_over(c, change)) for change in c.changes if _belongs(c, change)]
        files = {change.path: entry for change, entry in rows
                 if entry or goes_along(change.path) or _is_new_with_tests(c, change)}  # fmt: skip
        names = {change.name for change in c.changes if change.path in files}
        old, new = set(c.written[0]), c.written[1]
        there = [test for test in new if test.path in names]
        return cls(files, there, [test for test in there if test not in old])


def _belongs(c: Case, change: Change) -> bool:
    """Does a changed file belong to the tests, or have tests beside its code?"""
    if goes_along(change.path) or has_tests_beside_code(change.path):
        return True
    return c.places.has(change.path) and any(test.path == change.name for test in c.written[1])


def _is_new_with_tests(c: Case, change: Change) -> bool:
    """Does a new file hold tests beside its code? They run beside its new names; before, there is no such file."""
    return change.old is None and any(test.path == change.name for test in c.written[1])


def _laid_over(c: Case, change: Change) -> Entry | None:
    """The file of now; of one with tests beside its code the code of before, with the tests of now."""
    if goes_along(change.path) or not has_tests_beside_code(change.path):
        return change.now
    if change.old is None or change.new is None:
        return None
    text = with_tests_of(change.path, change.old, change.new)
    return Entry(change.mode, c.w.objects.write_blob(text)) if text is not None else None


def _red_first(c: Case) -> RedFirst:
    """Which tests of the story fail without its code: on the code of before, with new names that do nothing. Those of a
    refactoring, which adds no behaviour, are run on the old code as it was."""
    tests = StoryTests.of(c)
    base = c.w.objects.graft(c.green, tests.files)
    if c.story.kind == "refactor":
        own, known = _compared(c, tests, NewNames(base, base)), _known(c)
        return replace(own, tests=tuple(test for test in own.tests if test not in known), checks=())
    names = with_new_names(c, base, says=True)
    own = _compared(c, tests, names)
    if own.is_proof or own.hidden or not own.blind:
        return own
    silent = with_new_names(c, base, says=False)
    return own if silent.tree == names.tree else _compared(c, tests, silent)


def _compared(c: Case, tests: StoryTests, names: NewNames) -> RedFirst:
    """The tests with the story's code, compared with the code of before and new names that do nothing."""
    now = merged(list(listed(c.checks).values())).tests
    mended = sorted(test for test in c.known_red if now.get(test) == PASSED)
    known = _known(c)
    has_new = bool(known and now.keys() - known)  # a doc test stands in no file of tests
    if all(map(is_manifest, tests.files)) and not has_new:
        return RedFirst(tests=tuple(mended))
    compared = [_compared_check(c, tests, names, check, result) for check, result in c.testing]
    return RedFirst(
        tuple(dict.fromkeys([*mended, *(test for one in compared for test in one.tests)])),
        tuple(name for one in compared for name in one.checks),
        tuple(dict.fromkeys(test for one in compared for test in one.blind)),
        () if names.hides_old else names.functions,
        tuple(dict.fromkeys(why for one in compared for why in one.hidden)),
    )


def _known(c: Case) -> Set[str]:
    """The tests that ran before the story."""
    return {test for listing in (c.before or {}).values() for test in listing.tests}


def _compared_check(c: Case, tests: StoryTests, names: NewNames, check: Check, result: CheckResult) -> RedFirst:
    """The same of one check: test by test if it names tests, else by whether it is red without the code."""
    before, now = (c.before or {}).get(check.name), tests_of(result)
    new = set(now) - before.tests.keys() if before and before.tests else set[str]()
    own = [test for test, outcome in now.items()
           if outcome == PASSED and (test in new or any(map(Key.of(test).means, tests.there)))]  # fmt: skip
    old = _on_old_code(c, tests, names, check, result, own)
    if now:
        return replace(compared(now, old.outcomes, own, tests.own, new, is_red=any(old.is_red)), hidden=old.hidden)
    if all(old.is_red):
        return RedFirst(checks=(check.name,) if old.is_red else ())
    return RedFirst(blind=(check.name,) if tests.own else ())


@dataclass(frozen=True, slots=True)
class OnOldCode:
    """What a check says without the story's code: the outcomes by test, whether it `is_red` each time that it came to
    an end, and which failures it hides."""

    outcomes: Mapping[str, str]
    is_red: Sequence[bool]
    hidden: tuple[str, ...]


def _on_old_code(
    c: Case, tests: StoryTests, names: NewNames, check: Check, result: CheckResult, own: Sequence[str]
) -> OnOldCode:  # fmt: skip
    """Run a check on the code of before with the new names, and with twins that must fail if it names tests.

    It is run without either as well where more than the new functions does nothing, where `own` tests are missing
    (they cannot be loaded beside the names), and where the runner may have ended at a twin. What passes once passes.
    """
    files = {Key.of(test).path for test in own} | {test.path for test in tests.there}
    with_names, twins = with_twins(c, names.tree, tests.files.keys() if tests_of(result) else ())
    outcomes, are_red, hidden = dict[str, str](), list[bool](), tuple[str, ...]()
    for tree in (with_names, names.base):
        answer = without_code(c, tree, check, result, files)
        passing = {test: outcome for test, outcome in outcomes.items() if outcome == PASSED}
        outcomes |= {**tests_of(answer), **passing}
        are_red += [_is_red(answer, twins)] if answer else []
        hidden = hidden or tuple(hidden_failures(c, check, answer, twins))
        is_answered = answer and not names.hides_old and outcomes.keys() >= set(own)
        if is_answered or (names.tree == names.base and not those_of(twins, tests_of(answer))):
            break
    return OnOldCode(outcomes, are_red, hidden)


def _is_red(result: CheckResult, twins: Sequence[WrittenTest]) -> bool:
    """Is a check red, and not by twins alone that must fail?"""
    failed = [test for test, outcome in tests_of(result).items() if outcome == FAILED]
    return not result.is_green and not (failed and those_of(twins, failed) == failed)


def without_code(c: Case, tree: str, check: Check, result: CheckResult, files: Set[str]) -> CheckResult | None:
    """What a check says of these files of tests on a tree where code is missing, so that a loop may come to no end.
    `result` is the check's on the whole code."""
    return c.ask(tree, replace(check, timeout_s=patience_s(check, result)), "red_first", files - {""})
