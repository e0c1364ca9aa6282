"""The acceptance tests of a story: red on the code of before, green with the story, and those of earlier stories still.

They are laid over a tree in the clean lane, never written as objects of Git: what is sealed can be read from those.
"""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from ralphy.checks.first_error import first_error
from ralphy.config.values import Check
from ralphy.documents.criteria import items_of
from ralphy.documents.feature_folder import artifact_digest
from ralphy.engine.feature import documents
from ralphy.engine.lane_use.checks import CheckResult, argv
from ralphy.engine.lane_use.take_over import Candidate
from ralphy.engine.lane_use.trial import Told, try_tree, words_for
from ralphy.engine.verify.red_first import with_tests
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

MOST_REFUSALS = 3  # by the same tests alone; then a person is asked
_MOST_OF_A_LINE, _MOST_OF_A_TEST = 200, 1500
_OF_A_TEST = r"^_+ (?:.*\W)?{}(?:\W.*)? _+$"  # pytest's heading of a failure
_HEADING = re.compile(r"^(?:_{3,}|={3,}) .* (?:_{3,}|={3,})$")


@dataclass(frozen=True, slots=True)
class Found:
    """What the acceptance tests said: `rows` for the evidence, `refused` the criteria whose tests did not pass, `lines`
    a sentence on each of these for the next attempt, `flags` what a reader should know."""

    rows: Sequence[dict[str, Any]] = ()
    refused: Sequence[str] = ()
    lines: Sequence[str] = ()
    flags: Sequence[str] = field(default_factory=tuple)


def acceptance_of(w: Workspace) -> Acceptance:
    """The tests of ACCEPTANCE.md; none where there is no such document, or the setting is off."""
    text = "" if w.config.acceptance.tests == OFF else documents.text(w, DOCUMENT)
    return read_acceptance(text, documents.shown_at(w, DOCUMENT)) if text.strip() else Acceptance()


def is_as_approved(w: Workspace, candidate: Candidate) -> bool:
    """Is the document the one that a person has approved?"""
    if not acceptance_of(w).files:
        return True
    said = [a for a in _prd_before(w, candidate).approvals if a.gate == names.SPEC and a.verdict == "approved"]
    digest = artifact_digest(documents.read(w, DOCUMENT) or b"")
    return not said or any(digest in a.digest.split("+") for a in said)


def ask_acceptance(w: Workspace, story: Story, candidate: Candidate, results: Sequence[CheckResult]) -> Found:
    """What the acceptance tests of a story, and of those completed before, say of a candidate."""
    prd, acceptance = _prd_before(w, candidate), acceptance_of(w)
    dropped = dropped_of(prd)
    done = {other.id for other in prd.stories if other.is_completed}
    own, files = acceptance.of({story.id}, dropped), acceptance.of({*done, story.id}, dropped)
    flags = [f"acceptance: a person dropped the test of {one}" for one in dropped if one.startswith(f"{story.id}.")]
    if not files:
        return Found(flags=flags)
    if _way(w, files, results) is None:
        missing = [_row(one, MISSING, MISSING) for one in outcomes(own, None, is_green=False)]
        return Found(missing, flags=[*flags, "acceptance tests could not be run: set acceptance.command"])
    told = _tried(w, candidate.tree, results, files)
    after = _said(files, told)
    refused = [one for one in after if one.said != GREEN]
    before = (
        {}
        if refused or not own
        else {one[:3]: one.said for one in _said(own, _tried(w, candidate.green, results, own))}
    )
    rows = [_row(one, before.get(one[:3], MISSING), one.said) for one in after if one.criterion.story == story.id]
    blind = [one for one in after if before.get(one[:3]) == GREEN]
    flags += [f"acceptance: {one.criterion} {_name(w, one)} passes without the story's code" for one in blind]
    lines = [_line(w, prd, one, told.output if told else "") for one in refused]
    return Found(rows, sorted({str(one.criterion) for one in refused}), lines, flags)


def question_about(w: Workspace, story: Story, criteria: Sequence[str], reason: str) -> str:
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
    """An agent's question; where it is about acceptance tests, with what these say."""
    own = {str(criterion) for file in acceptance_of(w).of({story.id}) for criterion, _ in file.tests}
    named = [one for one in named_of(asks, story.id) if one in own]
    named = named or [one for one in w.history.of(names.STORY, story.id).acceptance if one in own]
    named = named or (sorted(own) if "acceptance test" in asks.lower() else [])
    return question_about(w, story, named, f"The agent says: {asks}") if named else asks


def _prd_before(w: Workspace, candidate: Candidate) -> Prd:
    entry = w.objects.at(candidate.green, w.feature.in_repository("prd.json"))
    data = w.objects.read(entry.oid) if entry else None
    return Prd.of(orjson.loads(data)) if data else Prd.of({"userStories": []})


def _way(w: Workspace, files: Sequence[TestFile], results: Sequence[CheckResult]) -> tuple[Check, list[str]] | None:
    """The check that runs these files, and its words; as a whole if none can be asked for files."""
    paths, command = [file.path for file in files if file.tests], w.config.acceptance.command
    if command:
        return Check(names.ACCEPTANCE, command), list(_filled(shlex.split(command), paths))
    checks = [check for check, _ in with_tests(w, results)] or list(w.checks)
    for check in checks:
        if words := words_for(w, check, paths):
            return check, words
    return (checks[0], list(argv(checks[0]))) if checks else None


def _filled(words: Sequence[str], paths: Sequence[str]) -> Iterator[str]:
    for word in words:
        yield from paths if word == "{files}" else [word]


def _tried(w: Workspace, tree: str, results: Sequence[CheckResult], files: Sequence[TestFile]) -> Told | None:
    way = _way(w, files, results)
    if way is None:
        return None
    check, words = way
    over = {file.path: file.text.encode() for file in files}
    return try_tree(w, tree, replace(check, name=names.ACCEPTANCE), words, "acceptance_tests", over)


def _said(files: Sequence[TestFile], told: Told | None) -> list[Asked]:
    return outcomes(files, told.listing if told else None, is_green=told is not None and told.is_green)


def _row(one: Asked, before: str, after: str) -> dict[str, Any]:
    """A row of `evidence.acceptance`."""
    return {"criterion": one.criterion.number, "test": one.test, "before": before, "after": after}


def _name(w: Workspace, one: Asked) -> str:
    """What may be said of a test: of a sealed one nothing."""
    return "its test" if w.config.acceptance.tests == SEALED else f"{one.path}::{one.test}"


def _line(w: Workspace, prd: Prd, one: Asked, output: str) -> str:
    story = next((found for found in prd.stories if found.id == one.criterion.story), None)
    text = _criterion(story, str(one.criterion)) if story else ""
    why = "it did not run" if one.said == MISSING else _last_line(output, one.test) or "it fails"
    return f"{one.criterion} ({clip(text, _MOST_OF_A_LINE)}): {_name(w, one)}: {why}"


def _criterion(story: Story, criterion: str) -> str:
    items, number = items_of(story.raw, "acceptanceCriteria"), int(criterion.rpartition(".")[2])
    return items[number - 1].text if number <= len(items) else ""


def _last_line(output: str, test: str) -> str:
    """What the failure of a test comes down to: one line, without the place."""
    found = first_error("\n".join(_of_test(output.splitlines(), test)) or output)
    return found.said[:_MOST_OF_A_LINE] if found else ""


def _of_test(lines: Sequence[str], test: str) -> Iterator[str]:
    head, is_in = re.compile(_OF_A_TEST.format(re.escape(test))), False
    for line in lines:
        is_in = bool(head.match(line)) or (is_in and not _HEADING.match(line))
        if is_in:
            yield line
