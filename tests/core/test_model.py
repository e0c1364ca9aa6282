"""The nouns: how prd.json is read as a value, and how a change gives a new one."""

from __future__ import annotations

from ralphy.pipeline.model import Answer, Prd


def test_a_record_that_is_not_there_is_empty_and_only_yes_is_yes() -> None:
    workflows: list[dict[str, object]] = [{}, {"steps": None}, {"steps": {"spec": None}}, {"approvals": []}]
    for raw in ({}, *({"workflow": workflow} for workflow in workflows)):
        found = Prd.of({"userStories": [], **raw})
        assert (found.step("spec"), found.gate_verdicts) == ({}, ())
    for text in ("yes", " Yes.\n", "OK!", "y", "oui", "ja"):
        assert Answer("US-001", text).is_yes
    for text in ("", "no", "yes, but with OAuth", "yesterday", "not ok"):
        assert not Answer("US-001", text).is_yes
