"""Ralphy as a person runs it, with the real Claude Code CLI, real git and the real gh, all on loopback."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.adapters.test_forge import gh_environment, real_gh
from tests.doubles.github_api import GitHubApi, loopback_github
from tests.doubles.github_world import World
from tests.doubles.messages_api import Asked
from tests.e2e import claude_cli
from tests.e2e.claude_cli import real_claude
from tests.e2e.greetings import GREETING, SHOUT, SHOUTING, STORIES, pr_step, qa_step, spec_step
from tests.e2e.project import BRANCH, Project, make_hostile, on_a_forge, with_claude
from tests.e2e.scripted import Scripted, bash
from tests.engine.forked import Started

pytestmark = real_claude

HOUSE_RULE = "Every name is written in full.\n"


class Program(Project):
    """Ralphy is a program of its own; -P keeps the repository's modules out of it."""

    def start(self, *words: str, stdout: int = subprocess.DEVNULL) -> Started:
        return Started([sys.executable, "-P", "-m", "ralphy", *words], cwd=self.repo, env=self.env,
                       stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, encoding="utf-8")  # fmt: skip


class TestTheWholeWay:
    pytestmark = real_gh

    def test_a_prd_becomes_a_pull_request(self, git_repo: Path, private_home: Path, tmp_path: Path) -> None:
        seen, canaries, bare = tmp_path / "seen", tmp_path / "canaries", on_a_forge(git_repo, tmp_path)
        make_hostile(git_repo, canaries, "SessionStart", "PreToolUse", apiKeyHelper=f"touch '{canaries}/key'",
                     env={"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"})  # fmt: skip
        (git_repo / "CLAUDE.md").write_text(HOUSE_RULE, encoding="utf-8")
        Project(git_repo, os.environ).git("add", "--all")
        Project(git_repo, os.environ).git("commit", "--quiet", "--message", "chore: house rules")
        spy = bash(f"tr '\\0' '\\n' < /proc/$PPID/cmdline > '{seen}'; env >> '{seen}'")
        script = {"spec": spec_step(STORIES), "US-001": [[spy], *GREETING], "US-002": SHOUTING}
        steps = {**script, "qa": qa_step(), "pr": pr_step()}
        with Scripted(steps) as api, loopback_github(World(git_dir=bare)) as github:
            gh = {name: value for name, value in gh_environment(github).items() if name.startswith("GH_")}
            project = Program(git_repo, with_claude(git_repo, private_home, api.url, **gh).env)
            project.write("PRD.md", "# Greetings\n\n## Objective\n\nPeople are greeted by name, loudly if they like.\n")
            codes = [project.night().code]
            project.approve()
            codes.append(project.night().code)
            project.approve()
            codes.append(project.night().code)
            first, default = api.messages()[0], by_default(project, api, tmp_path / "plain")

        assert codes == [10, 10, 0]
        assert api.left == {}
        assert list(canaries.iterdir()) == []
        version = claude_cli.expected()
        assert (first.model, default.model) == (version.sonnet, version.sonnet)
        prompt = len(json.dumps(api.prompts[0]))  # Ralphy's own words, in both
        assert first.bytes - prompt <= (default.bytes - prompt) * version.lean_share
        assert_ledger(project, bare)
        assert_money(project)
        assert_pull_request(project, github)
        assert_requests(api)
        assert_frame(seen.read_text(), project)


def by_default(project: Project, api: Scripted, folder: Path) -> Asked:
    """The first request for the same prompt and house rules, without the flags that save."""
    seen = len(api.messages())
    project.git("clone", "--quiet", str(project.repo), str(folder))
    (folder / ".claude" / "settings.json").unlink()
    (folder / ".mcp.json").unlink()
    prompt = project.kept("prompt.md")[0].read_text()
    claude_cli.run([*claude_cli.PLAIN], prompt, cwd=folder, env=dict(project.env))
    return api.messages()[seen]


def assert_ledger(project: Project, bare: Path) -> None:
    """One commit a story with its trailers, nothing dirty, and the same on the remote."""
    assert [line for line in project.subjects() if line.startswith("feat")] == [
        "feat(login): US-001 Greet by name",
        "feat(login): US-002 Shout a greeting",
    ]
    assert project.trailers("Ralphy-Story") == ["login/US-001", "login/US-002"]
    assert project.trailers("Ralphy-Attempt") == ["1", "1"]
    runs = {entry["run"] for entry in project.journal("run")}
    assert len(runs) == 5 and set(project.trailers("Ralphy-Run")) < runs
    assert project.git("show", f"{BRANCH}:greet.py") == SHOUT.strip()
    assert project.git("status", "--porcelain") == ""
    assert project.git("--git-dir", str(bare), "rev-parse", BRANCH) == project.git("rev-parse", BRANCH)
    for story in ("US-001", "US-002"):
        found = project.story(story)
        assert (found["passes"], found["status"]) == (True, "completed")
        assert [check["exit"] for check in found["evidence"]["checks"]] == [0]
        assert found["execution"]["last_error"] is None


def assert_money(project: Project) -> None:
    """Cost and tokens are the stream's own, and the trailers say the same."""
    results = [result_of(path) for path in project.kept("stream.ndjson")]
    ends = project.journal("end")
    assert project.outcomes() == [(of, "succeeded") for of in ("spec", "US-001", "US-002", "qa", "pr")]
    assert [entry["cost"] for entry in ends] == [result["total_cost_usd"] for result in results]
    assert min(entry["cost"] for entry in ends) > 0
    for entry, result in zip(ends, results, strict=True):
        used = list(result["modelUsage"].values())
        assert entry["tokens"]["output"] == sum(model["outputTokens"] for model in used) > 0
        assert entry["tokens"]["cache_read"] == sum(model["cacheReadInputTokens"] for model in used) > 0
    assert project.trailers("Ralphy-Cost-USD") == [f"{entry['cost']:.4f}" for entry in ends[1:3]]


def result_of(stream: Path) -> Mapping[str, Any]:
    """The last line of a kept stream, of which every line parses."""
    lines = [json.loads(line) for line in stream.read_text().splitlines()]
    assert [lines[0]["type"], lines[-1]["type"]] == ["system", "result"]
    last: Mapping[str, Any] = lines[-1]
    return last


def assert_pull_request(project: Project, github: GitHubApi) -> None:
    """There is just one, harmless, with the evidence below the agent's words."""
    (pr,) = github.world.prs
    assert (pr["title"], pr["headRefName"], pr["baseRefName"]) == ("Greet people by name", BRANCH, "main")
    assert "@octocat" not in pr["body"] and "Fixes #7" not in pr["body"]
    rows = [line for line in pr["body"].split("## Evidence")[1].splitlines() if line.startswith("|")][2:]
    costs = [float(value) for value in re.findall(r"\| \$(\d+\.\d\d) \|", "\n".join(rows))]
    assert [row.split(" | ")[0] for row in rows] == [
        "| US-001 Greet by name",
        "| US-002 Shout a greeting",
        "| **2 in all**",
    ]
    first = r"\| 1 \| \$\S+ \| test \d+\.\d s; 1 → 2 tests, 1 failed without the story \| 2 \| \+\d+ -\d+ \|$"
    assert min(costs) > 0 and re.search(first, rows[0])
    assert project.prd()["workflow"]["pr"]["url"] == "https://github.com/acme/widget/pull/1"


def assert_requests(api: Scripted) -> None:
    """What was on the wire: the house rules, six tools, and each prompt whole."""
    for step in ("spec", "US-001", "US-002", "qa", "pr"):
        body = api.of(step)[0]
        assert HOUSE_RULE.strip() in json.dumps(body["system"])
        sent = {tool["name"] for tool in body["tools"]}
        assert sent == {"Bash", "Edit", "Glob", "Grep", "Read", "Write"} | claude_cli.expected().more_tools
    prompts = dict(zip(("spec", "US-001", "US-002", "qa", "pr"), api.prompts, strict=True))
    assert "People are greeted by name, loudly if they like." in prompts["spec"]
    assert "shout('Ada') is 'HELLO, ADA!'" in prompts["US-002"]
    assert "EXIT_SIGNAL" in prompts["US-002"] and "pytest -q" in prompts["US-002"]


def assert_frame(seen: str, project: Project) -> None:
    """The CLI's own command line, and an environment that cannot push."""
    lines = seen.splitlines()
    flags = lines[: lines.index("--settings")]
    for flag, value in (("--setting-sources", "user"), ("--model", "sonnet"), ("--output-format", "stream-json")):
        assert flags[flags.index(flag) + 1] == value
    assert {"-p", "--strict-mcp-config", "--dangerously-skip-permissions", "--session-id"} <= set(flags)
    assert flags[flags.index("--append-system-prompt-file") + 1].endswith("/1/tree/CLAUDE.md")
    assert not any(line.startswith(("GH_TOKEN=", "GH_CONFIG_DIR=")) for line in lines)
    assert {"GIT_TERMINAL_PROMPT=0", "DISABLE_TELEMETRY=1"} <= set(lines)
