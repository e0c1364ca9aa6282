"""How far a story is verified: what its evidence says of the checks, in words that claim nothing more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ralphy.checks.listing import number_of_tests
from ralphy.pipeline.model import Prd, Story
from ralphy.text.first_few import first_few
from ralphy.text.json_coerce import count_of, mapping_of

_MOST_NAMED = 8


def was_verified(evidence: Mapping[str, Any]) -> bool:
    """Did a check run on what was committed, and find something to run?"""
    noted = evidence.get("verified")
    return noted if isinstance(noted, bool) else bool(evidence.get("checks"))


def is_unverified(story: Story) -> bool:
    """Did the story land on the agent's word alone? One that a person accepted, or that was imported, did not."""
    evidence = story.raw.get("evidence") or {}
    return story.is_completed and bool(evidence) and "accepted" not in evidence and not was_verified(evidence)


def is_proved(story: Story) -> bool:
    """Is the story completed, and more than the agent's word behind it? Then its criteria are ticked."""
    return story.is_completed and not is_unverified(story)


def unverified_ids(prd: Prd) -> list[str]:
    return [story.id for story in prd.stories if is_unverified(story)]


def unverified(prd: Prd) -> str:
    """Which stories landed unverified; "" if none did."""
    ids = unverified_ids(prd)
    return f"landed unverified (no check had anything to run): {first_few(ids, _MOST_NAMED)}" if ids else ""


def changed_lines(evidence: Mapping[str, Any]) -> str:
    """How many lines of code the story added and removed, as `+41 -3`; "" if that was not noted."""
    lines = mapping_of(evidence.get("lines"))
    return f"+{count_of(lines.get('added'))} -{count_of(lines.get('removed'))}" if lines else ""


def verified_by(evidence: Mapping[str, Any]) -> str:
    """The checks with their exit codes, and how many tests there were; or that there was nothing."""
    checks: Sequence[Mapping[str, Any]] = evidence.get("checks") or ()
    said = ", ".join(f"{check.get('name')} exit {check.get('exit')}" for check in checks)
    if evidence and not was_verified(evidence):
        said = f"unverified: no tests ran ({said})" if said else "unverified: no checks ran"
    return ", ".join(part for part in (said, number_of_tests(evidence)) if part)
