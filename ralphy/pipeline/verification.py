"""How far a story is verified: what its evidence says of the checks, in words that claim nothing more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ralphy.checks.listing import number_of_tests
from ralphy.pipeline.model import Prd, Story
from ralphy.text.counted import counted
from ralphy.text.first_few import first_few
from ralphy.text.json_coerce import count_of, mapping_of

_MOST_NAMED = 8
# The purposes of check runs in words, in the order in which they are listed.
_ASKED = {
    "candidate": "the checks",
    "again": "failures once more",
    "probe": "tests that are made to fail",
    "acceptance_tests": "acceptance tests",
    "old_tests": "old versions of edited tests",
    "red_first": "its tests without its code",
}


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
    """Whether each check passed, and how many tests there were; or that there was nothing."""
    checks: Sequence[Mapping[str, Any]] = evidence.get("checks") or ()
    summary = ", ".join(map(outcome_of, checks))
    if evidence and not was_verified(evidence):
        summary = f"unverified: no tests ran ({summary})" if summary else "unverified: no checks ran"
    return ", ".join(part for part in (summary, number_of_tests(evidence)) if part)


def outcome_of(check: Mapping[str, Any]) -> str:
    """`test passed`, `test exit 1`, or `test failed` where it was stopped or could not start."""
    code = check.get("exit")
    return f"{check.get('name')} {'passed' if code == 0 else 'failed' if code is None else f'exit {code}'}"


def runs_in_words(runs: Mapping[str, Any]) -> str:
    """`1 whole run and 3 narrowed`."""
    whole, narrowed = count_of(runs.get("whole")), count_of(runs.get("narrowed"))
    whole_runs = counted(whole, "whole run")
    return f"{whole_runs} and {narrowed} narrowed" if narrowed else whole_runs


def asked_of(evidence: Mapping[str, Any]) -> str:
    """What was asked by running checks, how many runs that took, and the tests that proved the story; "" if nothing was
    noted: `the checks, its tests without its code (1 whole run and 2 narrowed); proved by test_pay.py::test_tax`."""
    runs = mapping_of(evidence.get("check_runs"))
    asked = [words for purpose, words in _ASKED.items() if purpose in mapping_of(runs.get("asked"))]
    red = mapping_of(mapping_of(evidence.get("tests")).get("red_first"))
    proof = [str(one) for kind in ("tests", "checks") for one in red.get(kind) or ()]
    proved = f"; proved by {first_few(proof, _MOST_NAMED)}" if proof else ""
    return f"{', '.join(asked)} ({runs_in_words(runs)}){proved}" if asked else ""
