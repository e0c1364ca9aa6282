"""decompose: a PRD becomes stories that wait for approval, as a person calls it."""

from __future__ import annotations

import json
import shlex
import subprocess

import pytest

from ralphy.errors import ExitCode
from tests.cli.conftest import Make
from tests.engine.building import AGENT, PRD_MD, Act

PRD = "# PRD: Sign in, quickly\n\n## Objective\n\n- People sign in with a password\n"
STORIES: list[Act] = [
    {"id": "US-001", "title": "Store users", "priority": 1},
    {"id": "US-002", "title": "Check passwords", "priority": 2, "dependsOn": ["US-001"]},
    {"id": "US-003", "title": "Send a mail", "priority": 3, "dependsOn": ["US-001"]},
]
CIRCLE = [{**STORIES[0], "dependsOn": ["US-002"]}, STORIES[1]]


def drafts(stories: list[Act]) -> Act:
    return {"outbox": {"SPEC.md": "# Sign in\n", "stories.json": {"userStories": stories}}}


def test_a_prd_becomes_a_feature_with_stories_in_waves_and_nothing_is_built(made: Make) -> None:
    project, call = made(gates={"spec": "human", "qa": "human"})
    project.play(spec=[drafts(CIRCLE), drafts(STORIES)])
    (project.repo / "IDEA.md").write_text(PRD)
    code, out, _ = call("decompose", "IDEA.md", "--granularity", "small")
    assert code == 0
    assert out.splitlines()[-4:-1] == ["  1  US-001 Store users", "  2  US-002 Check passwords (after US-001)",
                                       "  2  US-003 Send a mail (after US-001)"]  # fmt: skip
    assert "ralphy approve sign-in-quickly" in out
    project.path = "docs/features/sign-in-quickly"
    first, second = project.prompts("spec")
    assert "3 to 5 stories for a day" in first and "US-001 -> US-002" in second.replace("→", "->")
    assert set(project.statuses().values()) == {"pending"} and project.landed() == []
    assert not (project.folder / "ralph.sh").exists()
    value = json.loads(call("--json", "decompose", f"{project.path}/PRD.md")[1].splitlines()[-1])
    assert (value["schema"], value["feature"]) == ("ralphy/decompose@1", "sign-in-quickly")
    assert [(row["id"], row["wave"]) for row in value["stories"]] == [("US-001", 1), ("US-002", 2), ("US-003", 2)]
    assert len(project.prompts("spec")) == 2


def test_without_settings_it_also_writes_a_loop_that_needs_no_ralphy_and_says_what_to_fill_in(
    made: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, call = made()
    project.play(spec=[drafts(STORIES)])
    (project.repo / ".ralphy" / "config.yaml").unlink()
    monkeypatch.setenv("RALPHY_AGENT_COMMAND", shlex.join(AGENT))
    (project.repo / "IDEA.md").write_text(PRD)
    code, out, err = call("decompose", "IDEA.md")
    folder = project.folder.parent / "sign-in-quickly"
    assert code == 0, err
    assert "created docs/features/sign-in-quickly/ralph.sh" in out and "TO CUSTOMISE" in out
    assert "## TO CUSTOMISE" in (folder / "prompt.md").read_text()
    project.git("add", "--all")
    project.git("commit", "--quiet", "-m", "chore: sign in")
    done = subprocess.run([folder / "ralph.sh"], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "CHECKS is empty" in done.stderr and "TO CUSTOMISE" in done.stderr
    (folder / "ralph.sh").unlink()
    assert call("decompose", f"{folder}/PRD.md", "--no-ralph-sh")[0] == 0
    assert not (folder / "ralph.sh").exists()


def test_what_cannot_be_decomposed_is_said_and_nothing_is_made(made: Make) -> None:
    project, call = made()
    (project.repo / "IDEA.md").write_text(PRD)
    (project.repo / "empty.md").write_text("words\n")
    assert call("decompose", "none.md")[0] == ExitCode.NOT_FOUND
    for word in ("login", project.path):
        assert f"hint: ralphy decompose {project.folder}/PRD.md" in call("decompose", word)[2]
    code, _, err = call("decompose", "empty.md")
    assert code == ExitCode.INVALID and "empty.md:1: no title" in err
    code, _, err = call("decompose", "IDEA.md", "--name", "login")
    assert code == ExitCode.CONFLICT and "--name NAME" in err
    code, value = call.json("decompose", "IDEA.md", "--dry-run", "--granularity", "large")
    assert (code, value["feature"], value["granularity"]) == (0, "sign-in-quickly", "large")
    assert [path.name for path in project.folder.parent.iterdir()] == ["login"]
    assert project.read("PRD.md") == PRD_MD
