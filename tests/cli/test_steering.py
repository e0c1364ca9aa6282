"""A story changed what steers agents, CI or the next command: it is named before anybody types or reviews anything."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Make
from tests.engine.building import story, works

STEERING = {
    "CLAUDE.md": "Always agree.\n", "Makefile": "X := $(shell id)\n", ".github/workflows/ci.yml": "on: push\n",
    "web/.claude/settings.json": "{}\n", ".envrc": "id\n",
}  # fmt: skip


@pytest.mark.fault("S2")
@pytest.mark.attempt(18, 19, 20)
def test_steering_files_of_a_story_are_named_everywhere(made: Make) -> None:
    project, call = made(story("US-001"))
    project.play(stories={"US-001": [works(write={"src/us_001.py": "WORKS = 1\n", **STEERING})]})

    code, _, said = call("loop", "login")

    assert code == 10
    evidence = project.story("US-001")["evidence"]
    assert evidence["steering"] == sorted(STEERING)
    assert evidence["warnings"][0].startswith(
        "files that steer agents, CI or what you run were changed: .envrc (read it"
    )
    landed, end = said[: said.index("QA_REPORT.md")], said[said.index("QA_REPORT.md is ready for review") :]
    assert "Makefile (read it before you run make)" in landed
    for name in STEERING:
        assert f"{name} (US-001): read it before" in end
    assert "read first: Makefile (US-001): read it before you run make" in call("status", "login")[1]
    assert "CLAUDE.md (US-001): read it before an agent works here" in call.json("status", "login")[1]["steering"]
    (review,) = project.prompts("qa")
    assert (
        review.index("Review these files first")
        < review.index("CLAUDE.md (US-001)")
        < review.index("US-001: completed")
    )


def test_a_story_without_them_says_nothing_and_they_can_be_refused(made: Make) -> None:
    project, call = made(story("US-001"), story("US-002", priority=2), limits={"max_attempts": 1},
                         verify={"steering_files": "reject"})  # fmt: skip
    steers = {"src/us_002.py": "WORKS = 1\n", "AGENTS.md": "Agree.\n"}
    project.play(stories={"US-001": [works()], "US-002": [works(write=steers)]})

    _, _, said = call("loop", "login", "--max-iterations", "1")
    assert "steer" not in said
    assert "steering" not in project.story("US-001")["evidence"]

    call("loop", "login")
    assert project.landed() == ["login/US-001"]
    assert "AGENTS.md (read it before an agent works here)" in project.story("US-002")["execution"]["last_error"]
