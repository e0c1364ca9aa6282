"""The acceptance tests of a story: red on the code of before, green with the story, and those of earlier stories still.

They are laid over a tree in the clean lane, never written as objects of Git: what is sealed can be read from those.
"""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson

from ralphy.agents.protocol import Outcome
from ralphy.checks.first_error import first_error
from ralphy.config.values import Check
from ralphy.documents.criteria import items_of
from ralphy.documents.feature_folder import artifact_digest
from ralphy.engine.feature import documents
from ralphy.engine.lane_use.trial import words_for
from ralphy.engine.verify.case import AcceptanceResult, Case, Verdict
from ralphy.engine.workspace.workspace import Workspace
from ralphy.pipeline.acceptance import (
    DOCUMENT,
    GREEN,
    MISSING,
    OFF,
    SEALED,
    Acceptance,
    Asked,
    TestFile,
    dropped_of,
    named_of,
    outcomes,
    read_acceptance,
)
from ralphy.pipeline.model import Prd, Story
from ralphy.pipeline.steps import names
from ralphy.prompts.budget import clip

_MOST_REFUSALS = 3  # by the same tests alone; then a person is asked
_MOST_OF_A_LINE, _MOST_OF_A_TEST = 200, 1500
_OF_A_TEST = r"^_+ (?:.*\W)?{}(?:\W.*)? _+$"  # pytest's heading of a failure


def acceptance_of(w: Workspace) -> Acceptance:
    """The tests of ACCEPTANCE.md; none where there is no such document, or the setting is off."""
    text = "" if w.config.acceptance.tests == OFF else documents.text(w, DOCUMENT)
    return read_acceptance(text, documents.shown_at(w, DOCUMENT)) if text.strip() else Acceptance()


def acceptance_is_approved(c: Case) -> Verdict | None:
    """A person's edit of ACCEPTANCE.md counts once it is approved."""
    if not acceptance_of(c.w).files:
        return None
    approvals = [a for a in _prd_before(c).gate_verdicts if a.gate == names.SPEC and a.verdict == "approved"]
    digest = artifact_digest(documents.read(c.w, DOCUMENT) or b"")
    if not approvals or any(digest in a.digest.split("+") for a in approvals):
        return None
    return c.no("ACCEPTANCE.md was edited meanwhile: it is approved first", goes_on=True)


def acceptance_tests_pass(c: Case) -> Verdict | None:
    """The tests of the story and of those completed before it pass. After three refusals by the same ones alone, a
    person is asked."""
    c.acceptance = _ask_acceptance(c)
    refused = c.acceptance.refused
    if not refused:
        return None
    why = f"the acceptance tests of {', '.join(refused)} do not pass"
    feedback = "\n".join([f"{why}:", *(f"- {line}" for line in c.acceptance.lines),
                          "If one asks for what the story does not say, STATUS is BLOCKED: name the criterion and the "
                          "reason in RECOMMENDATION, and a person decides."])  # fmt: skip
    past = c.w.history.of(names.STORY, c.story.id)
    if (*refused,) == past.acceptance and past.refusals + 1 >= _MOST_REFUSALS:
        reason = f"{why}, in {_MOST_REFUSALS} attempts in a row, and nothing else is wrong: {c.claim.recommendation}"
        reason += "".join(f"\n{line}" for line in c.acceptance.lines)
        asks = _question_about(c.w, c.story, refused, reason)
        return c.no(why, feedback, outcome=Outcome.NEEDS_INPUT, goes_on=True, asks=asks)
    return c.no(why, feedback, goes_on=True)


def _ask_acceptance(c: Case) -> AcceptanceResult:
    """Run the acceptance tests of a story, and of those completed before, on a candidate."""
    prd, acceptance, story = _prd_before(c), acceptance_of(c.w), c.story.id
    dropped = dropped_of(prd)
    done = {other.id for other in prd.stories if other.is_completed}
    own, files = acceptance.of({story}, dropped), acceptance.of({*done, story}, dropped)
    flags = [f"acceptance: a person dropped the test of {one}" for one in dropped if one.startswith(f"{story}.")]
    if not files:
        return AcceptanceResult(flags=flags)
    if not (c.w.config.acceptance.command or c.w.checks):
        missing = [_row(one, MISSING, MISSING) for one in outcomes(own, None, is_green=False)]
        return AcceptanceResult(missing, flags=[*flags, "acceptance tests could not be run: set acceptance.command"])
    after, output = _outcomes_on(c, c.tree, files)
    refused = [one for one in after if one.outcome != GREEN]
    if refused:
        lines = [_line(c.w, prd, one, output) for one in refused]
        rows = [_row(one, MISSING, one.outcome) for one in after if one.criterion.story == story]
        return AcceptanceResult(rows, sorted({str(one.criterion) for one in refused}), lines, flags)
    before = {one[:3]: one.outcome for one in _outcomes_on(c, c.green, own)[0]} if own else {}
    rows = [_row(one, before.get(one[:3], MISSING), one.outcome) for one in after if one.criterion.story == story]
    blind = [one for one in after if before.get(one[:3]) == GREEN]
    flags += [f"acceptance: {one.criterion} {_name(c.w, one)} passes without the story's code" for one in blind]
    return AcceptanceResult(rows, flags=flags)


def _question_about(w: Workspace, story: Story, criteria: Sequence[str], reason: str) -> str:
    """What a person is asked about acceptance tests: both sides, and the ways on."""
    where, texts = documents.shown_at(w, DOCUMENT), list[str]()
    for file in acceptance_of(w).of({story.id}):
        named = [(str(criterion), test) for criterion, test in file.tests if str(criterion) in criteria]
        texts += [f"{criterion}: {_criterion(story, criterion)}" for criterion in dict(named)]
        if named and w.config.acceptance.tests != SEALED:
            texts.append(f"{file.path} asks in {', '.join(test for _, test in named)}:\n\n"
                         f"{textwrap.indent(clip(file.text, _MOST_OF_A_TEST), '    ')}")  # fmt: skip
    return "\n".join([
        f"{reason}\n", *texts,
        f"\nThe tests are in {where}. Answer `keep` and what the implementer should do; `drop {' '.join(criteria)}`, "
        "and no test asks about that any more; or edit the test, approve it again, and answer `edited`.",
    ])  # fmt: skip


def with_other_side(w: Workspace, story: Story, asks: str) -> str:
    """An agent's question; where it is about acceptance tests, with their text."""
    own = {str(criterion) for file in acceptance_of(w).of({story.id}) for criterion, _ in file.tests}
    named = [one for one in named_of(asks, story.id) if one in own]
    named = named or [one for one in w.history.of(names.STORY, story.id).acceptance if one in own]
    named = named or (sorted(own) if "acceptance test" in asks.lower() else [])
    return _question_about(w, story, named, f"The agent says: {asks}") if named else asks


def _prd_before(c: Case) -> Prd:
    entry = c.w.objects.at(c.green, c.w.feature.in_repository("prd.json"))
    data = c.w.objects.read(entry.oid) if entry else None
    return Prd.of(orjson.loads(data)) if data else Prd.of({"userStories": []})


def _outcomes_on(c: Case, tree: str, files: Sequence[TestFile]) -> tuple[list[Asked], str]:
    """What becomes of each test on a tree, and what is printed."""
    paths, command = [file.path for file in files if file.tests], c.w.config.acceptance.command
    check = Check(names.ACCEPTANCE, _filled(command, paths)) if command else _check_for(c, paths)
    over = {file.path: file.text.encode() for file in files}
    result = c.ask(tree, replace(check, name=names.ACCEPTANCE), "acceptance_tests", () if command else paths, over)
    asked = outcomes(files, result.listing if result else None, is_green=result is not None and result.is_green)
    return asked, result.output if result else ""


def _check_for(c: Case, paths: Sequence[str]) -> Check:
    """The first check that can be asked for these files; else the first that runs tests."""
    checks = [check for check, _ in c.testing] or list(c.w.checks)
    return next((check for check in checks if words_for(c.w, check, paths)), checks[0])


def _filled(command: str, paths: Sequence[str]) -> str:
    words = shlex.split(command)
    return shlex.join([part for word in words for part in (paths if word == "{files}" else [word])])


def _row(one: Asked, before: str, after: str) -> dict[str, Any]:
    """A row of `evidence.acceptance`."""
    return {"criterion": one.criterion.number, "test": one.test, "before": before, "after": after}


def _name(w: Workspace, one: Asked) -> str:
    """The name of a test; a sealed one is not named."""
    return "its test" if w.config.acceptance.tests == SEALED else f"{one.path}::{one.test}"


def _line(w: Workspace, prd: Prd, one: Asked, output: str) -> str:
    story = next((story for story in prd.stories if story.id == one.criterion.story), None)
    text = _criterion(story, str(one.criterion)) if story else ""
    why = "it did not run" if one.outcome == MISSING else _last_line(output, one.test) or "it fails"
    return f"{one.criterion} ({clip(text, _MOST_OF_A_LINE)}): {_name(w, one)}: {why}"


def _criterion(story: Story, criterion: str) -> str:
    items, number = items_of(story.raw, "acceptanceCriteria"), int(criterion.rpartition(".")[2])
    return items[number - 1].text if number <= len(items) else ""


def _last_line(output: str, test: str) -> str:
    """The first error in the output of a failing test: one line, without the place."""
    head = re.search(_OF_A_TEST.format(re.escape(test)), output, re.M)
    error = first_error(output[head.end() :] if head else output)
    return error.message[:_MOST_OF_A_LINE] if error else ""
