"""Levels of safety: what is put up, what is said of it, and what ends the run before it begins."""

from __future__ import annotations

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.conftest import program
from tests.engine.building import Project, build, story, works
from tests.sampling import sampled


def without_bwrap(project: Project, tmp_path: Path, script: str = "") -> None:
    """Let `bwrap` not be found, or be this script."""
    folder = tmp_path / "bin"
    if script:
        program(folder / "bwrap", script)
        project.env["PATH"] = f"{folder}:{os.environ['PATH']}"
        return
    folder.mkdir()
    for name in ("git", "sh"):
        (folder / name).symlink_to(f"/usr/bin/{name}")
    project.env["PATH"] = str(folder)


def settings(project: Project) -> dict[str, object]:
    path = project.repo / ".git" / "ralphy" / "checkouts" / "main" / "settings" / "login-1.settings.json"
    found: dict[str, object] = json.loads(path.read_text())
    return found


def test_what_a_command_or_a_variable_names_below_tmp_is_readable(sandbox: None, tmp_path: Path) -> None:
    with TemporaryDirectory(dir="/tmp") as made:
        folder = Path(made, "tools")
        program(folder / "look.sh", 'grep fine "$(dirname "$0")/words" "$WORDS"')
        (folder / "words").write_text("fine\n")
        write = f"touch {folder}/planted"
        project = build(tmp_path, story("US-001"), checks=[{"name": "look", "run": f"{folder}/look.sh"}])
        Path(made, "more").write_text("fine\n")
        project.env["WORDS"] = f"{made}/more"
        project.play(stories={"US-001": [works(run=f"sh -c '{write} || true'")]})
        ended = project.loop()
        assert project.statuses() == {"US-001": "completed"}, ended.text
        assert {path.name for path in folder.iterdir()} == {"words", "look.sh"}


@pytest.mark.parametrize("named", sampled(["./look.sh", "look.sh"], "look.sh"))
@pytest.mark.fault("A4")
def test_agents_and_checks_of_the_repository_run_in_the_sandbox_wherever_ralphy_was_called(
    named: str, sandbox: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There an attempt to change control files fails where it is made."""
    seen = tmp_path / "notes" / "seen"
    seen.parent.mkdir()
    project = build(tmp_path, story("US-001"), checks=[{"name": "look", "run": named}],
                    safety={"writable": [str(seen.parent)]})  # fmt: skip
    project.env["PATH"] = f"{os.environ['PATH']}:."
    program(project.repo / "look.sh", f"cat /proc/1/comm >> '{seen}'")
    project.commit("test: a look", "look.sh")
    places = (".ralphy/config.yaml", ".ralphy/new.md", f"{project.path}/prd.json", f"{project.path}/new.md")
    tries = "; ".join(f"echo x >> {place} && echo {place} >> src/done.txt" for place in places)
    project.play(stories={"US-001": [works(run=["sh", "-c", f"cat /proc/1/comm >> {seen}; {tries}; true"])]})
    for place in (tmp_path, project.repo):
        monkeypatch.chdir(place)
        ended = project.loop(agents=1)
        assert set(seen.read_text().split()) == {"bwrap"}
        assert sum("in a bubblewrap sandbox" in line for line in ended.said) == 1
    assert project.statuses() == {"US-001": "completed"}
    assert [run["sandbox"] for run in project.journal("run")][:1] == ["bwrap"]
    assert "src/done.txt" not in project.code_files()
    assert "warnings" not in project.story("US-001")["evidence"]


@pytest.mark.parametrize("script", ["", "echo 'bwrap: Creating new namespace failed' >&2; exit 1"])
def test_without_bubblewrap_the_work_goes_on_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.delenv("RALPHY_SAFETY_SANDBOX")
    project = build(tmp_path, story("US-001"))
    without_bwrap(project, tmp_path, script)
    ended = project.loop(agents=1)
    assert set(project.statuses().values()) == {"completed"}
    [warning] = [line for line in ended.said if line.startswith("safety:")]
    assert "WITHOUT a sandbox" in warning
    assert "bubblewrap" in warning
    assert "so the agent can do whatever you can" in warning
    assert "Bash(git push:*)" in str(settings(project)["permissions"])


@pytest.mark.parametrize("wanted", [{"sandbox": "bwrap"}])
def test_a_compulsory_sandbox_that_is_missing_ends_it_before_the_first_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: dict[str, str]
) -> None:
    monkeypatch.delenv("RALPHY_SAFETY_SANDBOX")
    project = build(tmp_path, story("US-001"), safety=wanted)
    without_bwrap(project, tmp_path, "echo 'bwrap: Creating new namespace failed' >&2; exit 1")
    code, said = project.call("loop", "login")
    assert code == 5
    assert "Creating new namespace failed" in said
    assert "user namespaces" in said
    assert project.journal("run") == []


def test_the_level_is_said_once_and_not_when_quiet_and_minimal_has_no_settings_of_its_own(tmp_path: Path) -> None:
    project = build(tmp_path, *(story(f"US-00{number}") for number in range(1, 4)))
    one = ("loop", "login", "--max-iterations", "1")
    assert "minimal; no sandbox" in project.call(*one, "--safety-level", "minimal")[1]
    assert not (project.repo / ".git" / "ralphy" / "checkouts" / "main" / "settings").exists()
    assert "safety:" not in project.call(*one, "-q")[1]
    assert project.call(*one)[1].count("safety: moderate; WITHOUT a sandbox") == 1
