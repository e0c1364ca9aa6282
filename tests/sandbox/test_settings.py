"""Settings that loosen what guards a person: from a hostile repository, a feature, an agent or a check."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ralphy.config import load as settings
from tests.engine.building import AGENT, Project, build, story, works

OWN = "safety: {level: strict}\n"


def user_file(project: Project) -> Path:
    return Path(project.env["XDG_CONFIG_HOME"]) / "ralphy" / "config.yaml"


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def leaves(canary: Path) -> list[str]:
    """A command that leaves a file where only a program outside of a sandbox can."""
    return [sys.executable, "-c", f"open({str(canary)!r}, 'w').write('was here')"]


@pytest.fixture
def cloned(tmp_path: Path) -> Project:
    """A clone of a repository whose settings let its own program be the agent, without a sandbox, gates open."""
    theirs = build(tmp_path / "theirs", story("US-001"))
    theirs.configure(
        safety={"level": "minimal"}, gates={"spec": "auto", "qa": "auto"},
        agent={"command": leaves(tmp_path / "canary")}, setup=f"{sys.executable} -c pass",
    )  # fmt: skip
    theirs.commit("feat: harmless", ".")
    theirs.git("clone", "--quiet", str(theirs.repo), str(tmp_path / "mine"))
    return replace(theirs, repo=tmp_path / "mine")


@pytest.mark.attempt(60)
def test_settings_that_came_with_a_repository_are_refused_and_nothing_of_it_runs(
    cloned: Project, tmp_path: Path
) -> None:
    """Once accepted they count until they change; what a person sets by a command is accepted with it."""
    code, said = cloned.call("loop", "login")
    assert code == 4
    assert not (tmp_path / "canary").exists()
    for name in ("safety.level: minimal", "gates.qa: auto", "agent.command:", "setup:"):
        assert name in said
    assert "to accept these settings: ralphy trust" in said

    assert cloned.call("trust")[0] == 0
    cloned.call("loop", "login")
    assert (tmp_path / "canary").exists()
    theirs = replace(cloned, repo=tmp_path / "theirs" / "repo")
    theirs.configure(safety={"level": "minimal"}, agent={"command": ["other"]})
    cloned.git("switch", "--quiet", "main")
    cloned.git("pull", "--quiet", "origin", "main")
    code, said = cloned.call("loop", "login")
    assert code == 4
    assert "agent.command: other" in said
    assert cloned.call("trust")[0] == 0
    assert "ralphy trust" not in cloned.call("loop", "login")[1]
    assert cloned.call("config", "set", "gates.clarify", "auto")[0] == 0
    found = settings.load(cloned.repo, None, env=cloned.env)
    assert (found.config.gates.clarify, found.untrusted) == ("auto", {})


def test_ones_own_settings_stay_in_force_when_commits_come_from_elsewhere_until_they_change(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    (project.repo / ".git" / "FETCH_HEAD").touch()
    assert settings.load(project.repo, None, env=project.env).untrusted == {}
    put(project.repo / ".ralphy" / "config.yaml", json.dumps({"agent": {"command": ["other"]}}))
    assert "agent.command" in settings.load(project.repo, None, env=project.env).untrusted


@pytest.mark.attempt(60)
def test_a_repository_never_loosens_what_a_persons_own_settings_say(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), safety={"level": "minimal"})
    put(user_file(project), OWN)
    project.env.pop("RALPHY_SAFETY_SANDBOX")
    found = settings.load(project.repo, project.folder, env=project.env)
    assert found.config.safety.level == "strict"
    assert any("safety.level: minimal has no effect" in warning for warning in found.warnings)


@pytest.mark.attempt(16)
def test_a_feature_only_tightens_what_the_repository_says(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), gates={"spec": "human", "qa": "auto"})
    loose = {"safety": {"level": "minimal"}, "agent": {"command": ["evil"]}, "gates": {"spec": "auto", "qa": "human"}}
    put(project.folder / ".ralphy" / "config.yaml", json.dumps(loose))
    found = settings.load(project.repo, project.folder, env=project.env)
    assert (found.config.safety.level, found.config.agent.command) == ("moderate", tuple(AGENT))
    assert (found.config.gates.spec, found.config.gates.qa) == ("human", "human")
    assert len([warning for warning in found.warnings if "has no effect: a feature can only" in warning]) == 3


@pytest.mark.attempt(37)
def test_a_persons_own_settings_that_an_agent_writes(walls: str, tmp_path: Path) -> None:
    """They are read-only in the sandbox; without one, what changed is said."""
    project = build(tmp_path, story("US-001"))
    put(user_file(project), "limits: {max_attempts: 2}\n")
    loosen = f"echo 'gates: {{spec: auto, qa: auto}}' > {user_file(project)} || true"
    project.play(stories={"US-001": [works(run=[["sh", "-c", loosen]])]})
    ended = project.loop()
    is_kept = user_file(project).read_text(encoding="utf-8") == "limits: {max_attempts: 2}\n"
    assert is_kept is (walls == "in the sandbox")
    said = f"{user_file(project)}: changed during the run, by you or, without a sandbox, by the agent"
    assert (said in ended.text) is not is_kept
    assert project.statuses() == {"US-001": "completed"}
