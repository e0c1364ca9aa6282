"""What a story's own tests prove: red first, and more than that a name exists.

A test that fails without the story's code may fail only since a name is missing. So it is run again on the code of
before with the names alone that the story adds (decision record 021).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ralphy.checks.listing import FAILED, PASSED
from ralphy.engine.lane_use.checks import CheckResult, argv
from ralphy.engine.lane_use.take_over import Candidate
from ralphy.engine.lane_use.trial import patience_s, try_tree, words_for
from ralphy.engine.verify.following import following
from ralphy.engine.verify.hollow_trees import Hollow
from ralphy.engine.verify.parts import hunks_in
from ralphy.engine.verify.red_first import WrittenTests, laid_over, red_first, with_tests
from ralphy.engine.workspace.workspace import Workspace
from ralphy.pipeline.model import Story
from ralphy.testguard.findings import Finding, Kind
from ralphy.testguard.kept.test_keys import Key
from ralphy.testguard.written.red_first import RedFirst, without_empty

_MOST_NOTED = 20
_DOCUMENTS = re.compile(r"(?:^|/)(?:docs?|documentation|examples?|samples?)/")
_CODE = (".py", ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".go", ".rs", ".java", ".kt", ".rb", ".php", ".c", ".cc",
         ".cpp", ".h", ".hpp", ".cs", ".swift", ".scala", ".ex", ".sh", ".sql", ".lua")  # fmt: skip


def own_tests(w: Workspace, story: Story, candidate: Candidate, results: Sequence[CheckResult]) -> RedFirst | None:
    """What the story's own tests prove; None if nobody asks."""
    if w.config.verify.unproved == "off" or story.kind == "docs" or all(result.is_empty for result in results):
        return None
    found = red_first(w, candidate, results)
    if story.kind == "refactor":
        written = WrittenTests.of(w, candidate, laid_over(w, candidate, results))
        follows = following(w, candidate)
        own = [case for case in written.own if not follows(case.path)]
        return _with_new_texts(found, WrittenTests(written.there, own))
    written = WrittenTests.of(w, candidate, laid_over(w, candidate, results))
    return _without_weak(w, candidate, results, without_empty(found, written.own))


def _with_new_texts(found: RedFirst, written: WrittenTests) -> RedFirst:
    """Without the tests whose text is as it was: they fail on the code of before as their imports follow a new name."""
    checks = found.checks if written.own or not written.there else ()
    return replace(found, tests=tuple(test for test in found.tests if not _is_old(test, written)), checks=checks)


def _is_old(test: str, written: WrittenTests) -> bool:
    """Does a test stand in a file that the story changed, with the text that it had before?"""
    key = Key.of(test)
    return any(map(key.means, written.there)) and not any(map(key.means, written.own))


def code_in_documents(w: Workspace, story: Story, candidate: Candidate) -> list[Finding]:
    """The code that a story of kind `docs` changes; what stands in folders of documents or examples is none."""
    if w.config.verify.unproved == "off" or story.kind != "docs":
        return []
    places = [hunk.place for change, hunk in hunks_in(w, candidate)
              if change.path.endswith(_CODE) and not _DOCUMENTS.search(change.path)]  # fmt: skip
    return [Finding(Kind.UNPROVED, f"{place} is code, and the story is of kind docs") for place in places]


def unproved(w: Workspace, story: Story, found: RedFirst) -> list[Finding]:
    """What speaks against the story's own tests."""
    return [Finding(Kind.UNPROVED, said) for said in _why_unproved(w, story, found)]


def _why_unproved(w: Workspace, story: Story, found: RedFirst) -> Iterator[str]:
    if story.kind == "refactor":
        yield from (f"{test} fails without the refactoring" for test in (*found.tests, *found.checks))
        return
    if not found.is_proof:
        yield from (f"{test} passes although {found.what}" for test in found.weak)
        yield from (f"{test} passes without the story's code" for test in found.blind)
        yield from (f"{test} asserts nothing" for test in found.empty)
        yield from () if found.blind or found.weak or found.empty else ["no test covers this story's code"]
    text = json.dumps(story.raw, ensure_ascii=False)
    still_red = sorted(test for test in w.history.known_red - set(found.tests) if test in text)
    yield from (f"{test} belongs to the story, and still fails" for test in still_red)


def evidence_of(found: RedFirst) -> dict[str, Any]:
    """Small enough for prd.json: how many, and the first names."""
    named = {"tests": found.tests, "checks": found.checks, "blind": found.blind, "weak": found.weak}
    return {"number": len(found.tests), **{word: list(names[:_MOST_NOTED]) for word, names in named.items() if names}}


def _without_weak(
    w: Workspace, candidate: Candidate, results: Sequence[CheckResult], found: RedFirst
) -> RedFirst:  # fmt: skip
    """The same with the tests apart that pass with names alone, whether the new functions return a value or none."""
    left: Collection[str] = {*found.tests, *found.checks} - w.history.known_red
    base, last = w.objects.graft(candidate.green, laid_over(w, candidate, results)) if left else "", ""
    functions: Sequence[str] = ()
    for says in (True, False) if left else ():
        tree, functions = Hollow.of(w, results, says=says).with_names(base, candidate)
        if not functions:
            return found
        if left and tree != last:
            told = outcomes(w, candidate, results, tree, left)
            left = [one for one in left if told.get(one) == PASSED]
        last = tree
    if not left:
        return found
    apart = found.without([one for one in (*found.tests, *found.checks) if one in left], functions)
    written = WrittenTests.of(w, candidate, laid_over(w, candidate, results))
    return replace(apart, weak=tuple(one for one in apart.weak if not _is_old(one, written)))


def outcomes(
    w: Workspace, candidate: Candidate, results: Sequence[CheckResult], tree: str, names: Collection[str]
) -> dict[str, str]:
    """What becomes of these tests, and of these checks as a whole, on a tree; only their files are run if possible."""
    found: dict[str, str] = {}
    for check, result in with_tests(w, results):
        own = [test for test in (result.listing.tests if result.listing else ()) if test in names]
        if not own and check.name not in names:
            continue
        places = {Key.of(test).path for test in own}
        if "" in places:
            written = WrittenTests.of(w, candidate, laid_over(w, candidate, results)).there
            places |= {case.path for case in written if any(Key.of(test).means(case) for test in own)}
        words = words_for(w, check, sorted(places - {""})) or argv(check)
        told = try_tree(w, tree, replace(check, timeout_s=patience_s(check, result)), words, "red_first")
        if told and check.name in names:
            found[check.name] = PASSED if told.is_green else FAILED
        listed = told.listing.tests if told and told.listing else {}
        found |= {test: listed[test] for test in own if test in listed}
    return found
