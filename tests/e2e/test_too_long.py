"""A prompt that is too long for the model, with the real Claude Code CLI: a smaller one, then a split."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.claude_cli import real_claude
from tests.e2e.greetings import STORIES
from tests.e2e.project import with_claude
from tests.e2e.scripted import Scripted, handed_in, report

pytestmark = real_claude

SAID = "prompt is too long: 210000 tokens > 200000 maximum"
TOO_LONG: dict[str, Any] = {"status": 400, "error": {"type": "invalid_request_error", "message": SAID}}
PIECE = {"id": "A", "title": "Name the greeting", "acceptanceCriteria": ["HELLO is 'Hello'"]}


@pytest.mark.fault("N5")
def test_a_prompt_that_is_too_long_is_made_smaller_and_then_the_story_is_split(
    git_repo: Path, private_home: Path
) -> None:
    draft = [handed_in({"stories.json": json.dumps({"userStories": [PIECE]})}), report(promise="COMPLETE")]
    script: dict[str, list[Any]] = {"US-001": [TOO_LONG, TOO_LONG, *draft]}
    with Scripted(script) as api:
        project = with_claude(git_repo, private_home, api.url)
        project.plan({**STORIES[0], "description": "As a caller I want a greeting.\n" * 2000})
        called = project.night("--max-iterations", "3")

    assert [run["step"] for run in project.journal("run")] == ["story", "story", "split"]
    assert [outcome for _, outcome in project.outcomes()] == ["too_large", "too_large", "succeeded"], called.said
    assert len(api.prompts[1]) < 0.7 * len(api.prompts[0])
    assert project.story("US-001")["dependsOn"] == ["US-001-1"]
    assert project.git("status", "--porcelain") == ""
