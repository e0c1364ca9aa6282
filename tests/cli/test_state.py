"""state get|set, story add --id and prompt show, as scripts written for other tools call them."""

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
    code, value = call.json("tasks", "create", "Log in", "--id", "auth.login", "--after", "US-001")
    assert (code, value["schema"], value["story"]["id"]) == (0, "ralphy/story-add@1", "auth.login")
    added = project.story("auth.login")
    assert (added["title"], added["dependsOn"]) == ("Log in", ["US-001"])
    assert call.json("state", "get")[1]["currentTask"] == "US-001"
    assert call("tasks", "add", "Again", "--id", "AUTH.login")[0] == ExitCode.CONFLICT
    assert call("tasks", "add", "Bad", "--id", "../x")[0] == ExitCode.INVALID


def test_a_prompt_is_shown_and_no_agent_is_started(made: Make) -> None:
    project, call = made(story("US-001"), story("US-002", dependsOn=["US-001"]))
    project.write(".ralphy/prompts/story.md.j2", "Mine: {{ story.id }} {{ story.title }}\n" * 5)
    code, out, _ = call("prompt", "show", "story", "login", "--story", "US-002")
    assert code == 0 and "Mine: US-002 Story US-002" in out and "EXIT_SIGNAL" in out
    assert "Mine: US-001" in call.json("prompt", "show", "story")[1]["prompt"]
    assert "QA_REPORT.md" in call("prompt", "show", "qa")[1]
    assert call("prompt", "show", "story", "--story", "US-9")[0] == ExitCode.NOT_FOUND
    assert not (project.folder / ".ralphy" / "runs").exists()
