"""The nouns: how prd.json is read as a value, and how a change gives a new one."""

from __future__ import annotations

import pytest

from ralphy.pipeline.model import Answer, Prd, Status, Story


@pytest.mark.parametrize(
    "fields, status",
    [
        ({}, Status.PENDING),
        ({"passes": False}, Status.PENDING),
        ({"passes": True}, Status.COMPLETED),
        ({"passes": False, "status": "in_progress"}, Status.IN_PROGRESS),
        ({"passes": True, "status": "completed"}, Status.COMPLETED),
        ({"status": "failed"}, Status.FAILED),
        ({"status": "blocked"}, Status.BLOCKED),
    ],
)
def test_a_storys_status_is_its_own_or_comes_from_passes(fields: dict[str, object], status: Status) -> None:
    it = Story.of({"id": "a", "title": "t", **fields}, 0)
    assert it.status is status
    assert it.is_completed == (status is Status.COMPLETED)
    assert it.is_open == (status in (Status.PENDING, Status.IN_PROGRESS))


def test_a_record_that_is_not_there_is_empty_and_only_yes_is_yes() -> None:
    workflows: list[dict[str, object]] = [{}, {"steps": None}, {"steps": {"spec": None}}, {"approvals": []}]
    for raw in ({}, *({"workflow": workflow} for workflow in workflows)):
        found = Prd.of({"userStories": [], **raw})
        assert (found.step("spec"), found.gate_verdicts) == ({}, ())
    for text in ("yes", " Yes.\n", "OK!", "y", "oui", "ja"):
        assert Answer("US-001", text).is_yes
    for text in ("", "no", "yes, but with OAuth", "yesterday", "not ok"):
        assert not Answer("US-001", text).is_yes
