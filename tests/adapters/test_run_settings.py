"""The settings that an agent of Claude Code runs with."""

from __future__ import annotations

import json
from pathlib import Path

from ralphy.agents.claude.run_settings import write_settings


def test_other_sessions_of_the_person_send_no_prompts_into_a_run(tmp_path: Path) -> None:
    settings = json.loads(write_settings(tmp_path, "login", []).read_text())
    assert settings["crossSessionInbound"] == "refuse"
    assert "hooks" not in settings


def test_the_deny_rules_name_what_is_kept(tmp_path: Path) -> None:
    git, prd = tmp_path / ".git", tmp_path / "feature" / "prd.json"
    git.mkdir()
    rules = json.loads(write_settings(tmp_path / "s", "x", [git, prd]).read_text())["permissions"]["deny"]
    assert f"Edit(/{git}/**)" in rules
    assert f"Edit(/{prd})" in rules
    assert {"AskUserQuestion", "Bash(git push:*)", "Read(~/.ssh/**)"} <= set(rules)
