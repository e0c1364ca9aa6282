"""The real Claude Code CLI in the open sandbox, with a person's login that is renewed meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ralphy.agents.claude.preset import FOLDER
from tests.doubles.login_server import LoginServer, access, credentials
from tests.doubles.messages_api import Response
from tests.e2e.claude_cli import real_claude
from tests.e2e.project import Project, with_claude
from tests.e2e.scripted import Scripted, bash, prompt_of, report, write

pytestmark = [*real_claude, pytest.mark.usefixtures("sandbox")]

STORY = {"id": "US-001", "title": "Greet by name", "acceptanceCriteria": ["greet() greets"]}
OTHER = {"id": "US-002", "title": "Wave", "acceptanceCriteria": ["wave() waves"]}
TEST = "from {0} import {0}\n\n\ndef test_{0}() -> None:\n    assert {0}() == '{0}'\n"


def work(name: str) -> list[Mapping[str, Any]]:
    return [write(f"{name}.py", f"def {name}() -> str:\n    return '{name}'\n"),
            write(f"tests/test_{name}.py", TEST.format(name))]  # fmt: skip


SETTINGS = ("~/.claude/settings.json", "~/.claude/shell-snapshots/x.sh", "~/.bashrc", "~/.claude/commands/x.md")
PLANTS = bash(
    "; ".join(f"(mkdir -p $(dirname {at}); echo HACK >> {at})" for at in SETTINGS) + "; git commit -qam mine; true"
)


@pytest.fixture
def home(private_home: Path) -> Path:
    """A person who uses Claude Code themselves, and signs their commits."""
    (private_home / ".claude" / "skills").mkdir(parents=True)
    (private_home / ".claude" / "settings.json").write_text("{}")
    (private_home / ".bashrc").write_text("true\n")
    key = private_home / "signing"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    with (private_home / "gitconfig").open("a") as file:
        file.write(f"[commit]\n\tgpgSign = true\n[gpg]\n\tformat = ssh\n[user]\n\tsigningkey = {key}.pub\n")
    return private_home


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[LoginServer]:
    with LoginServer(tmp_path / "provider") as running:
        yield running


def logged_in(repo: Path, home: Path, url: str, provider: LoginServer) -> Project:
    """A shell of somebody who is logged in."""
    project = with_claude(repo, home, url, **provider.environment)
    return Project(repo, {name: value for name, value in project.env.items() if name != "ANTHROPIC_API_KEY"})


def assert_nothing_stayed(home: Path, project: Project) -> None:
    assert (home / ".claude" / "settings.json").read_text() == "{}"
    assert (home / ".bashrc").read_text() == "true\n"
    left = {path.name for path in (home / ".claude").iterdir()}
    assert left <= {"settings.json", "skills", "projects", ".credentials.json"}
    assert {path.name for path in (home / ".claude" / "projects").iterdir()} == {
        Path(FOLDER.sessions(str(project.repo))).name
    }


def test_a_login_that_runs_out_is_renewed_in_the_run(git_repo: Path, home: Path, provider: LoginServer) -> None:
    login = home / ".claude" / ".credentials.json"
    login.write_text(credentials(1, expires_ms=int(time.time() * 1000) - 1000))
    was = login.stat().st_ino
    script = {"US-001": [[PLANTS], work("greet"), report()], "US-002": [work("wave"), report()]}
    with Scripted(script) as api:
        project = logged_in(git_repo, home, api.url, provider)
        project.plan(STORY, OTHER)
        ended = project.night("--max-iterations", "2")
        used, told = {asked.auth for asked in api.messages()}, json.dumps(api.of("US-001")[-1]["messages"])
    assert "in a bubblewrap sandbox" in ended.said
    assert told.count("Read-only file system") >= 2
    assert "gpg failed" not in told
    assert project.outcomes() == [("US-001", "succeeded"), ("US-002", "succeeded")], ended.said
    assert provider.renewed == [1], "the second run has the new one"
    assert json.loads(login.read_text())["claudeAiOauth"]["accessToken"] == access(2)
    assert (login.stat().st_ino, used) == (was, {("authorization",)})
    assert_nothing_stayed(home, project)
    sessions = home / ".claude" / FOLDER.sessions(str(project.repo))
    assert len(list(sessions.glob("*.jsonl"))) == 2, "the runs' conversations can be looked at"


class Renewing(Scripted):
    """While the first run works, the person's own session renews the login: the file is another one then, and what the
    run has is void."""

    def __init__(self, script: Mapping[str, Any], login: Path, provider: LoginServer) -> None:
        super().__init__(script)
        self.login, self.provider = login, provider

    def pick(self, path: str, request: Mapping[str, Any]) -> tuple[Response, str]:
        prompt = prompt_of(request)
        if not prompt or (self.prompts and prompt != self.prompts[0]):
            return super().pick(path, request)
        if not self.prompts:
            self.prompts.append(prompt)
            self.provider.renewed.append(1)
            new = self.login.with_name("new")
            new.write_text(credentials(2))
            os.replace(new, self.login)
        return {"status": 401}, "refused"


@pytest.mark.fault("N3")
def test_a_login_that_is_renewed_outside_costs_no_attempt(git_repo: Path, home: Path, provider: LoginServer) -> None:
    login = home / ".claude" / ".credentials.json"
    login.write_text(credentials(1))
    with Renewing({"US-001": [work("greet"), report()]}, login, provider) as api:
        project = logged_in(git_repo, home, api.url, provider)
        project.plan(STORY)
        ended = project.night("--max-iterations", "2")
    assert project.outcomes() == [("US-001", "stopped"), ("US-001", "succeeded")], ended.said
    assert "the login was renewed outside during the run" in ended.said
    assert project.trailers("Ralphy-Attempt") == ["1"]
    assert json.loads(login.read_text())["claudeAiOauth"]["accessToken"] == access(2)


@pytest.mark.fault("N3")
def test_a_login_that_is_refused_and_is_still_the_same_ends_it(
    git_repo: Path, home: Path, provider: LoginServer
) -> None:
    login = home / ".claude" / ".credentials.json"
    login.write_text(credentials(1))
    provider.refuses = True
    with Scripted({"US-001": [{"status": 401}] * 20}) as api:
        project = logged_in(git_repo, home, api.url, provider)
        project.plan(STORY)
        ended = project.night("--max-iterations", "2")
    assert (ended.code, project.outcomes()) == (5, [("US-001", "fatal")]), ended.said
