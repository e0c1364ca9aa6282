"""What a story's own tests prove: red first, and more than that a name exists.

The story's tests are run on the code of before: the last green tree with these tests, and what runs them, laid over it.
So that none fails only since a name is missing, the new names alone are added (decision record 021). Tests that were
known to fail, and pass now, have been red before anybody asked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ralphy.checks.listing import FAILED, PASSED, XFAILED, merged
from ralphy.config.values import Check
from ralphy.engine.lane_use.checks import CheckResult
from ralphy.engine.lane_use.trial import patience_s
from ralphy.engine.verify.baseline_records import listed, names_tests
from ralphy.engine.verify.case import Case, Change, Verdict
from ralphy.engine.verify.failures_reported import a_check_runs_tests
from ralphy.engine.verify.hollow_trees import NewNames, with_new_names
from ralphy.engine.verify.parts import hunks_in
from ralphy.git.objects import Entry
from ralphy.testguard.findings import Finding, Kind
from ralphy.testguard.kept.test_keys import Key
from ralphy.testguard.substance import is_manifest
from ralphy.testguard.test_files import WrittenTest, has_tests_beside_code
from ralphy.testguard.written.red_first import RedFirst, compared, goes_along, with_tests_of

_MOST_UNPROVED = 2  # refusals of a story for want of a proof
_MOST_NOTED = 20
_DOCUMENTS = re.compile(r"(?:^|/)(?:docs?|documentation|examples?|samples?)/")
_CODE = (".py", ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".go", ".rs", ".java", ".kt", ".rb", ".php", ".c", ".cc",
         ".cpp", ".h", ".hpp", ".cs", ".swift", ".scala", ".ex", ".sh", ".sql", ".lua")  # fmt: skip


def tests_could_tell(c: Case) -> Verdict | None:
    """Some test of the story fails without its code, and asks for more than a name.

    Without one it goes back a few times; then it lands, flagged. So does one whose tests no check runs.
    """
    if c.w.config.verify.unproved == "off":
        return None
    if c.story.kind == "docs":
        found = list(_code_in_documents(c))
    elif all(result.is_empty for result in c.checks):
        return None
    else:
        c.own = _own_tests(c)
        c.evidence["red_first"] = _evidence_of(c.own)
        found = list(_why_unproved(c, c.own))
    only_flags = c.went_back >= _MOST_UNPROVED or not (not found or _are_run(c))
    verdict = c.weigh([Finding(Kind.UNPROVED, why) for why in found], only_flags=only_flags)
    return replace(verdict, is_unproved=True) if verdict else None


def _are_run(c: Case) -> bool:
    """Does a check run the story's tests?"""
    brings = c.own is not None and bool(c.own.blind)
    return names_tests(c.checks) or (brings and a_check_runs_tests(c))


def _code_in_documents(c: Case) -> Iterator[str]:
    """The code that a story of kind `docs` changes; what stands in folders of documents or examples is none."""
    for change, hunk in hunks_in(c.w, c.candidate, c.changes):
        if change.path.endswith(_CODE) and not _DOCUMENTS.search(change.path):
            yield f"{hunk.place} is code, and the story is of kind docs"


def _why_unproved(c: Case, found: RedFirst) -> Iterator[str]:
    """What speaks against the story's own tests."""
    if c.story.kind == "refactor":
        yield from (f"{test} fails without the refactoring" for test in (*found.tests, *found.checks))
        return
    if not found.is_proof:
        yield from (f"{test} passes {found.how}" for test in found.blind)
        yield from () if found.blind else ["no test covers this story's code"]
    text = json.dumps(c.story.raw, ensure_ascii=False)
    still_red = sorted(test for test in c.w.history.known_red - set(found.tests) if test in text)
    yield from (f"{test} belongs to the story, and still fails" for test in still_red)


def _evidence_of(found: RedFirst) -> dict[str, Any]:
    """Small enough for prd.json: how many, and the first names."""
    named = {"tests": found.tests, "checks": found.checks, "blind": found.blind}
    return {"number": len(found.tests), **{word: list(names[:_MOST_NOTED]) for word, names in named.items() if names}}


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
        files = {change.path: entry for change, entry in rows if entry or goes_along(change.path)}
        names = {change.name for change in c.changes if change.path in files}
        old, new = set(c.written[0]), c.written[1]
        there = [test for test in new if test.path in names]
        return cls(files, there, [test for test in there if test not in old])


def _belongs(c: Case, change: Change) -> bool:
    """Does a changed file belong to the tests, or have tests beside its code?"""
    if goes_along(change.path) or has_tests_beside_code(change.path):
        return True
    return change.name in c.places.names and any(test.path == change.name for test in c.written[1])


def _laid_over(c: Case, change: Change) -> Entry | None:
    """The file of now; of one with tests beside its code the code of before, with the tests of now."""
    if goes_along(change.path) or not has_tests_beside_code(change.path):
        return change.now
    if change.old is None or change.new is None:
        return None
    text = with_tests_of(change.path, change.old, change.new)
    return Entry(change.mode, c.w.objects.write_blob(text)) if text is not None else None


def _own_tests(c: Case) -> RedFirst:
    """Of a refactoring, whose new tests pass on the old code, the names that it adds are not asked for."""
    tests = StoryTests.of(c)
    base = c.w.objects.graft(c.green, tests.files)
    if c.story.kind == "refactor":
        found = _red_first(c, tests, NewNames(base), base)
        known = {test for listing in (c.before or {}).values() for test in listing.tests}
        return replace(found, tests=tuple(test for test in found.tests if test not in known), checks=())
    says, silent = (with_new_names(c, base, says=says) for says in (True, False))
    found = _red_first(c, tests, says, base)
    if not found.is_proof and found.blind and silent.tree != says.tree:
        return _red_first(c, tests, silent, base)
    return found


def _red_first(c: Case, tests: StoryTests, names: NewNames, base: str) -> RedFirst:
    """Which tests of a candidate with green checks fail without its code: on the code of before (`base`) and new names
    that do nothing."""
    now = merged(list(listed(c.checks).values())).tests
    mended = sorted(test for test in c.w.history.known_red if now.get(test) == PASSED)
    if all(map(is_manifest, tests.files)):
        return RedFirst(tests=tuple(mended))
    asked = [_without_code(c, tests, names, base, check, result) for check, result in c.testing]
    return RedFirst(
        tuple(dict.fromkeys([*mended, *(test for one in asked for test in one.tests)])),
        tuple(name for one in asked for name in one.checks),
        tuple(dict.fromkeys(test for one in asked for test in one.blind)),
        () if names.hides_old else names.functions,
    )


def _without_code(
    c: Case, tests: StoryTests, names: NewNames, base: str, check: Check, result: CheckResult
) -> RedFirst:
    """What a check says of the story's tests. Where more than the new functions does nothing, or tests cannot be loaded
    beside them, it is asked without the new names as well: what passes on either tree passes."""
    before = (c.before or {}).get(check.name)
    now = result.listing.tests if result.listing else {}
    new = set(now) - before.tests.keys() if before and before.tests else set[str]()
    there = [test for test, outcome in now.items()
             if outcome == PASSED and (test in new or any(map(Key.of(test).means, tests.there)))]  # fmt: skip
    places = {path for test in new if (path := Key.of(test).path)} | {test.path for test in tests.there}
    patient = replace(check, timeout_s=patience_s(check, result))
    without, ended = dict[str, str](), list[CheckResult]()
    for tree, timed in {names.tree: patient, base: check}.items():
        told = c.ask(tree, timed, "red_first", places)
        passing = {test: outcome for test, outcome in without.items() if outcome == PASSED}
        without |= {**(told.listing.tests if told and told.listing else {}), **passing}
        ended += [told] if told else []
        if told and not names.hides_old and without.keys() >= set(there):
            break
    are_red = [not told.is_green for told in ended]
    if now:
        return compared(now, without, there, tests.own, new, is_red=any(are_red))
    if not all(are_red):
        return RedFirst(blind=(check.name,) if tests.own else ())
    return RedFirst(checks=(check.name,) if are_red else ())


def passing_on(c: Case, tests: StoryTests, trees: Iterable[str], names: Collection[str]) -> set[str]:
    """The tests, and checks, that pass on each of these trees, or may fail there as a mark says."""
    left = set(names)
    for tree in dict.fromkeys(trees):
        told = outcomes(c, tests, tree, left) if left else {}
        left = {test for test in left if told.get(test) in (PASSED, XFAILED)}
    return left


def outcomes(c: Case, tests: StoryTests, tree: str, names: Collection[str]) -> dict[str, str]:
    """What becomes of these tests, and of these checks as a whole, on a tree; only their files are run if possible."""
    found: dict[str, str] = {}
    for check, result in c.testing:
        own = [test for test in (result.listing.tests if result.listing else ()) if test in names]
        if not own and check.name not in names:
            continue
        places = {Key.of(test).path for test in own}
        if "" in places:
            places |= {case.path for case in tests.there if any(Key.of(test).means(case) for test in own)}
        patient = replace(check, timeout_s=patience_s(check, result))
        told = c.ask(tree, patient, "red_first", places - {""})
        if told and check.name in names:
            found[check.name] = PASSED if told.is_green else FAILED
        seen = told.listing.tests if told and told.listing else {}
        found |= {test: seen[test] for test in own if test in seen}
    return found
