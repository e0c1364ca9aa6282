"""state get|set and story add --id, as scripts written for ralph-dev call them."""

from __future__ import annotations

from ralphy.errors import ExitCode
from tests.cli.conftest import Make
from tests.engine.building import Act, story

DRAFT: Act = {"outbox": {"SPEC.md": "# Login\n", "stories.json": {"userStories": [story("US-001")]}}}


def test_a_script_follows_the_phases_and_moves_only_where_it_may(made: Make) -> None:
    project, call = made(gates={"spec": "human", "qa": "human"})
    project.play(spec=[DRAFT])
    assert call.json("state", "get")[1]["phase"] == "breakdown"
    assert call("loop")[0] == ExitCode.WAITING
    code, _, err = call("state", "set", "--phase", "deliver")
    assert code == ExitCode.CONFLICT and "cannot go from breakdown to deliver" in err
    assert call.json("state", "set", "login", "--phase", "implement")[1]["phase"] == "implement"
    assert (project.folder / "APPROVED").exists()
    assert call("loop")[0] == ExitCode.WAITING
    value = call.json("state", "get", "login")[1]
    assert (value["phase"], value["currentTask"], value["tasks_completed"]) == ("deliver", None, 1)
    assert call("state", "set", "--phase", "deliver")[0] == 0
    assert call("state", "set", "--phase", "breakdown")[0] == 0
    assert not (project.folder / "SPEC.md").exists()


def test_a_task_is_made_with_an_id_of_its_own(made: Make) -> None:
    project, call = made(story("US-001"))
    assert call("tasks", "add", "Log in", "--id", "auth.login", "--after", "US-001")[0] == 0
    assert project.story("auth.login")["dependsOn"] == ["US-001"]
    assert call.json("state", "get")[1]["currentTask"] == "US-001"
    assert call("tasks", "add", "Again", "--id", "AUTH.login")[0] == ExitCode.CONFLICT
    assert call("tasks", "add", "Bad", "--id", "../x")[0] == ExitCode.INVALID
