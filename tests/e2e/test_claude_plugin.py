"""The plugin in the real Claude Code CLI: its commands, its skill, its hooks, and two stories done in one session."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ralphy.documents.session_loop import PATH
from ralphy.resources import template_root
from tests.doubles.messages_api import MessagesApi
from tests.e2e import claude_cli
from tests.e2e.claude_cli import Run, real_claude
from tests.e2e.greetings import GREET, SHOUT, STORIES, TEST_GREET, TEST_SHOUT
from tests.e2e.project import BRANCH, Project, with_claude
from tests.e2e.scripted import bash

pytestmark = real_claude

PLUGIN = template_root() / "claude-plugin"


def committed(**files: str) -> dict[str, object]:
    """A command that writes files and commits them on the feature's branch."""
    writes = "".join(f"mkdir -p tests && cat > {path.replace('__', '/')}.py <<'END'\n{text}END\n"
                     for path, text in files.items())  # fmt: skip
    return {"blocks": [bash(f"git switch -q {BRANCH}\n{writes}git add -A && git commit -qm 'do it'")]}


def run_plugin(steps: Sequence[object], prompt: str, repo: Path, home: Path) -> tuple[Project, Run, list[str]]:
    """(the project, the run of the CLI, the bodies of its requests) with two stories planned."""
    with MessagesApi({"steps": steps}, keep_bodies=True) as api:
        project = with_claude(repo, home, api.url)
        project.plan(*STORIES)
        flags = [*claude_cli.PLAIN, "--plugin-dir", str(PLUGIN)]
        run = claude_cli.finish(claude_cli.start(flags, prompt, cwd=repo, env=project.env), timeout_s=120.0)
        told = [json.dumps(asked.body) for asked in api.requests if asked.is_message]
    assert run.returncode == 0, run.stderr
    return project, run, told


def test_a_session_does_two_stories_and_the_loop_ends_by_itself(git_repo: Path, private_home: Path) -> None:
    """The first answer does nothing, and is held back; then each story is committed, judged, and the next one told."""
    done = {"blocks": ["<promise>STORY_DONE</promise>"]}
    steps = [
        {"blocks": ["I am done."]},
        *(committed(greet=GREET, tests__test_greet=TEST_GREET), done),
        *(committed(greet=SHOUT, tests__test_shout=TEST_SHOUT), done),
    ]
    project, run, told = run_plugin(steps, "/ralphy:ralph login", git_repo, private_home)

    init = run.of("system", "init")[0]
    commands = {f"ralphy:{name}" for name in ("ralph", "ralph-exec", "decompose", "cancel-ralph")}
    assert commands <= set(init["slash_commands"]) and "ralphy:ralphy" in init["skills"]
    assert "mode: hook (2 stories are left" in told[0] and "# US-001: Greet by name" in told[0]
    assert "Stop hook feedback" in told[1] and "nothing is committed on ralph/login" in told[1]
    assert "US-001 is verified and completed" in told[3] and "# US-002: Shout a greeting" in told[3]
    assert len(told) == len(steps)
    assert {story["id"]: story["status"] for story in project.prd()["userStories"]} == {
        "US-001": "completed", "US-002": "completed",
    }  # fmt: skip
    assert project.story("US-002")["evidence"]["verified"] is True
    assert not (git_repo / PATH).exists() and PATH not in project.git("ls-tree", "-r", "--name-only", BRANCH)


def test_the_plugin_and_its_marketplace_are_valid(private_home: Path) -> None:
    env = claude_cli.environment(private_home, "http://127.0.0.1:9")
    for manifest in ("plugin.json", "marketplace.json"):
        done = subprocess.run(
            [str(claude_cli.program()), "plugin", "validate", str(PLUGIN / ".claude-plugin" / manifest)],
            env=env, capture_output=True, encoding="utf-8", check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
