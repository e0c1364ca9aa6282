"""In CI: the profile, what the environment alone changes, and what GitHub is told."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from ralphy.cli.ci import annotation
from ralphy.cli.output import Output
from ralphy.cli.run.in_ci import flags_of
from ralphy.cli.terminal import wants_colour
from ralphy.config.values import Ci, Config, Limits, PullRequestSettings
from ralphy.resources import template_root
from tests.cli.conftest import Make
from tests.conftest import program
from tests.engine.building import reports, story, works

CI = template_root() / "ci"
WORKFLOWS = ("prove.yml", "ralphy.yml")


def test_the_profile_only_lowers_limits_and_adds_labels() -> None:
    config = Config(
        limits=Limits(max_iterations=20), pr=PullRequestSettings(labels=("one",)), ci=Ci(labels=("one", "two"))
    )
    found = flags_of(config)
    assert found["limits.max_iterations"] == 20 and found["timeouts.agent"] == 1800.0
    assert found["pr.labels"] == ["one", "two"]
    assert not any(name.startswith(("gates.", "git.")) for name in found)
    found = flags_of(replace(config, ci=Ci(max_tasks=3, auto_approve=True, auto_merge=True, branch_prefix="ci/")))
    assert (found["limits.max_iterations"], found["gates.qa"], found["git.branch_prefix"]) == (3, "auto", "ci/")
    assert (found["pr.auto_merge"], found["gates.clarify"]) == (True, "auto")
    answering = flags_of(replace(config, ci=Ci(auto_approve=True, answers=("Q1: A",))))
    assert (answering["gates.spec"], answering.get("gates.clarify")) == ("auto", None)


def test_a_night_in_ci_asks_nobody_and_tells_github(
    made: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:  # fmt: skip
    ci = {"answers": ["US-001: Blue.", "*: Decide yourself."], "auto_approve": True, "branch_prefix": "ci/",
          "author": "Ralphy Bot <bot@example.org>"}  # fmt: skip
    project, call = made(story("US-001"), story("US-002"), ci=ci, gates={"spec": "human", "qa": "human"},
                         limits={"max_attempts": 1})  # fmt: skip
    broken = {"write": {"src/{{slug}}.py": "BROKEN\n"}}
    project.play(stories={"US-001": [{"question": "Which colour?"}, works()], "*": [broken]}, qa=[reports()])
    for name in ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL"):
        monkeypatch.setenv(f"GIT_{name}", "restored at the end")
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    code, _, said = call("start", "login")
    assert code == 11
    assert "answered the question of US-001, as ci.answers says: Blue." in said
    assert project.git("log", "--format=%an <%ae>%cn", "main..ci/login").splitlines()[0] == (
        "Ralphy Bot <bot@example.org>Ralphy Bot"
    )
    lines = [line for line in said.splitlines() if line.startswith("::")]
    assert any(line.startswith("::error file=docs/features/login/prd.json,title=US-002 failed::") for line in lines)
    text = summary.read_text(encoding="utf-8")
    assert text.startswith("<!-- ralphy login -->\n# login: 1 of 2 stories landed") and "## What failed" in text
    assert text.count("# login: ") == 1
    assert "\x1b[" not in said


def test_the_environment_alone_changes_no_setting(made: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    _, call = made(story("US-001"))
    before = call.json("plan")
    monkeypatch.setenv("CI", "true")
    assert call.json("plan") == before
    stops = [row["what"] for row in call.json("plan", "--ci", "--max-cost", "3")[1]["stops"]]
    assert stops[:2] == ["after 50 agent runs", "at $3.00"]
    monkeypatch.setenv("RALPHY_CI_MAX_TASKS", "2")
    assert call.json("plan")[1]["stops"][0]["what"] == "after 2 agent runs"
    monkeypatch.delenv("CI")
    assert call.json("plan") == before
    monkeypatch.setenv("RALPHY_CI_MAX_TOTAL_TIME", "0.001")
    assert call("loop", "--ci")[0] == 13


def test_ci_turns_colour_and_the_live_view_off(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    terminal: Any = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    assert Output().is_live and wants_colour(terminal, "auto", {"TERM": "xterm"})
    monkeypatch.setenv("CI", "true")
    assert not Output().is_live and not wants_colour(terminal, "auto", {"CI": "true"})
    assert wants_colour(terminal, "auto", {"CI": "true", "FORCE_COLOR": "1"})


def test_an_error_stands_beside_its_line_on_github(made: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    project, call = made(story("US-001"))
    project.write("prd.json", project.read("prd.json").replace('"priority": 1', '"priority": "high"'))
    assert "::error" not in call("validate", "login")[2]
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    said = call("status", "login")[2]
    assert "::error file=docs/features/login/prd.json,line=" in said
    assert annotation("error", "50% of\nit", "a,b.py:3:9", "x: y") == (
        "::error file=a%2Cb.py,line=3,title=x%3A y::50%25 of%0Ait"
    )


def test_the_workspace_is_named_by_a_variable_as_by_an_option(
    made: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    from ralphy.__main__ import main

    monkeypatch.setattr("ralphy.__main__._be_done", lambda: None)  # which ends this process's heed of Ctrl-C
    project, _ = made(story("US-001"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RALPHY_WORKSPACE", str(project.repo))
    for words in (["status", "--json"], ["why", "--json"]):
        monkeypatch.setattr("sys.argv", ["ralphy", *words])
        capfd.readouterr()
        with pytest.raises(SystemExit, match="0"):
            main()
        assert json.loads(capfd.readouterr().out)["feature"] == "login"


@pytest.mark.parametrize("name", [*WORKFLOWS, "action.yml"])
def test_what_init_writes_for_github_has_its_shape(name: str) -> None:
    found = yaml.safe_load((CI / name).read_text(encoding="utf-8"))
    if name == "action.yml":
        assert found["runs"]["using"] == "composite"
        steps = found["runs"]["steps"]
        assert all("shell" in step for step in steps if "run" in step)
    else:
        assert found[True] and set(found["permissions"]) <= {"contents", "pull-requests"}
        steps = [step for job in found["jobs"].values() for step in job["steps"]]
        assert all("timeout-minutes" in job for job in found["jobs"].values())
    scripts = [step["run"] for step in steps if "run" in step]
    assert not any("${{" in script for script in scripts), "what a person types would be run by the shell"
    for script in scripts:
        done = subprocess.run(["bash", "-n"], input=script, capture_output=True, encoding="utf-8", check=False)
        assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("actionlint") is None, reason="actionlint is not installed")
def test_the_workflows_pass_actionlint(tmp_path: Path) -> None:
    for name in WORKFLOWS:
        (tmp_path / ".github" / "workflows").mkdir(parents=True, exist_ok=True)
        shutil.copy(CI / name, tmp_path / ".github" / "workflows" / name)
    (tmp_path / ".github" / "actions" / "ralphy").mkdir(parents=True)
    shutil.copy(CI / "action.yml", tmp_path / ".github" / "actions" / "ralphy" / "action.yml")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    done = subprocess.run(["actionlint"], cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout


def test_the_action_passes_what_was_asked_for(tmp_path: Path) -> None:
    """Its script, with a ralphy that notes how it was called."""
    script = yaml.safe_load((CI / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"][1]["run"]
    program(tmp_path / "ralphy", f'echo "$@" >> {tmp_path}/calls\n[ "$1" = trust ] || exit $CODE')
    for code, ended in (("10", 0), ("11", 11)):
        env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "FEATURE": "login", "MAX_COST": "5",
               "AUTO_APPROVE": "true", "CODE": code, "GITHUB_OUTPUT": str(tmp_path / "output")}  # fmt: skip
        argv = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]  # as GitHub calls it
        assert subprocess.run(argv, env=env, check=False).returncode == ended
    assert (tmp_path / "calls").read_text().splitlines()[1] == "loop --ci --max-cost 5 --auto-approve login"
    assert (tmp_path / "output").read_text() == "exit-code=10\nexit-code=11\n"
