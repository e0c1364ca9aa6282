"""The parts of a landed story's code: whose are still to be asked about, and what the evidence says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ralphy.pipeline.model import Document, Prd, Story
from ralphy.text.json_coerce import count_of, mapping_of

_MOST_NAMED = 20
_MOST_SAID = 5


def are_due(story: Story, known: Mapping[str, Document]) -> bool:
    """Is the proof of the story's parts still to come? One without a test that fails without it has none."""
    evidence = mapping_of(story.raw.get("evidence"))
    red_first = mapping_of(mapping_of(evidence.get("tests")).get("red_first"))
    has_proof = bool(red_first.get("tests") or red_first.get("checks"))
    is_asked = "parts" in evidence or story.id in known
    return (
        story.is_completed and bool(evidence.get("change")) and has_proof and not is_asked and story.kind != "refactor"
    )


def due(prd: Prd, known: Mapping[str, Document]) -> list[Story]:
    """The stories whose parts are to be asked about; `known` are those whose proof is over and not committed yet."""
    return [story for story in prd.stories if are_due(story, known)]


def noted(proved: int, unproved: Sequence[str], left: int) -> Document:
    """What the evidence says: small enough for prd.json."""
    more = {"more": len(unproved) - _MOST_NAMED} if len(unproved) > _MOST_NAMED else {}
    return {"proved": proved, "of": proved + len(unproved) + left, "unproved": list(unproved[:_MOST_NAMED]),
            "left": left, **more}  # fmt: skip


def with_parts(prd: Prd, known: Mapping[str, Document]) -> Prd:
    """prd.json with what was found of parts since it was committed."""
    for story in due(prd, {}) if known else ():
        if story.id in known:
            prd = prd.with_story(story.id, evidence={**story.raw["evidence"], "parts": known[story.id]})
    return prd


def parts_in_words(evidence: object, most: int = _MOST_SAID) -> str:
    """`31 of 34 parts proved; no test would miss src/pay.py:40-52`; "" if nothing is known of them."""
    found = _parts(evidence)
    if not count_of(found.get("of")):
        return ""
    places, left = _places(found, most), count_of(found.get("left"))
    said = [f"{count_of(found.get('proved'))} of {count_of(found.get('of'))} parts proved",
            f"no test would miss {places}" if places else "", f"{left} not tried" if left else ""]  # fmt: skip
    return "; ".join(part for part in said if part)


def unproved(story: Story) -> str:
    """The places in a story's code that no test would miss; "" if there is none."""
    return _places(_parts(story.raw.get("evidence")), _MOST_NAMED)


def _places(found: Mapping[str, Any], most: int) -> str:
    named = [str(place) for place in found.get("unproved") or ()]
    hidden = max(0, len(named) - most) + count_of(found.get("more"))
    return ", ".join([*named[:most], *([f"{hidden} more"] if hidden else [])])


def _parts(evidence: object) -> Mapping[str, Any]:
    return mapping_of(mapping_of(evidence).get("parts"))
