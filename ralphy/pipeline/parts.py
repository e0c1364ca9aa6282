"""The parts of a landed story's code that no test needs: which stories are due, and what was found of the others.

What was found is noted in the workflow of prd.json, by the story and the digest of its change: a story's own lines stay
as its commit wrote them, so that the commit can be reverted. `with_parts` has it in the evidence, for who reads that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ralphy.pipeline.model import Document, Prd, Story
from ralphy.text.json_coerce import count_of, mapping_of

_MOST_NAMED = 20
_MOST_PRINTED = 5


def due(prd: Prd, known: Mapping[str, Document]) -> list[Story]:
    """The stories whose parts are to be tried; `known` is what was found and is not committed yet.

    Not those without a test that fails without them (they are unproved as a whole), nor refactorings.
    """
    results = _results(prd, known)
    proved = [story for story in prd.stories if story.kind != "refactor" and _has_proof(story)]
    return [story for story in proved if not _result_of(story, results)]


def noted(change: str, proved: int, unproved: Sequence[str], left: int) -> Document:
    """What is kept of the parts of a change: small enough for prd.json."""
    more = {"more": len(unproved) - _MOST_NAMED} if len(unproved) > _MOST_NAMED else {}
    return {"change": change, "proved": proved, "of": proved + len(unproved) + left,
            "unproved": list(unproved[:_MOST_NAMED]), "left": left, **more}  # fmt: skip


def recorded(prd: Prd, known: Mapping[str, Document]) -> Prd:
    """prd.json with what was found noted in its workflow, that of changes which are there no more left out."""
    results = _results(prd, known)
    current = {story.id: results[story.id] for story in prd.stories if _result_of(story, results)}
    return prd.with_workflow(parts=current) if current != prd.workflow.get("parts", {}) else prd


def with_parts(prd: Prd, known: Mapping[str, Document] | None = None) -> Prd:
    """prd.json with what is known of parts in the stories' evidence: to be read, not to be written."""
    if not (results := _results(prd, known or {})):
        return prd
    return prd.with_stories([_with_parts(story, _result_of(story, results)) for story in prd.stories])


def _with_parts(story: Story, result: Mapping[str, Any]) -> Document:
    parts = {name: value for name, value in result.items() if name != "change"}
    return {**story.raw, "evidence": {**story.raw["evidence"], "parts": parts}} if parts else story.raw


def unproved(story: Story) -> str:
    """The places in a story's code that no test needs; "" if there is none."""
    return _places(_parts_in(story.raw.get("evidence")), _MOST_NAMED)


def parts_in_words(evidence: object, most: int = _MOST_PRINTED) -> str:
    """`2 of 34 changes untested: src/pay.py:40-52, src/pay.py:60; 3 not tried`, `no untested changes (34 tried)`; "" if
    nothing is known of them."""
    parts = _parts_in(evidence)
    number, left = count_of(parts.get("of")), count_of(parts.get("left"))
    if not number:
        return ""
    places = _places(parts, most)
    if untested := untested_changes(parts):
        return untested + (f": {places}" if places else "") + (f"; {left} not tried" if left else "")
    return f"{left} of {number} changes not tried" if left else f"no untested changes ({number} tried)"


def untested_changes(parts: Mapping[str, Any]) -> str:
    """`2 of 34 changes untested`; "" if none is."""
    number, proved, left = (count_of(parts.get(name)) for name in ("of", "proved", "left"))
    untested = number - proved - left
    return f"{untested} of {number} changes untested" if untested else ""


def _results(prd: Prd, known: Mapping[str, Document]) -> Mapping[str, Any]:
    return {**mapping_of(prd.workflow.get("parts")), **known}


def _result_of(story: Story, results: Mapping[str, Any]) -> Mapping[str, Any]:
    """What was found of the story's code as it landed; {} if nothing was."""
    result = mapping_of(results.get(story.id))
    change = mapping_of(story.raw.get("evidence")).get("change")
    return result if story.is_completed and change and result.get("change") == change else {}


def _has_proof(story: Story) -> bool:
    evidence = mapping_of(story.raw.get("evidence"))
    red_first = mapping_of(mapping_of(evidence.get("tests")).get("red_first"))
    has_red = bool(red_first.get("tests") or red_first.get("checks"))
    return story.is_completed and bool(evidence.get("change")) and has_red


def _places(parts: Mapping[str, Any], most: int) -> str:
    named = [str(place) for place in parts.get("unproved") or ()]
    hidden = max(0, len(named) - most) + count_of(parts.get("more"))
    return ", ".join([*named[:most], *([f"{hidden} more"] if hidden else [])])


def _parts_in(evidence: object) -> Mapping[str, Any]:
    return mapping_of(mapping_of(evidence).get("parts"))
