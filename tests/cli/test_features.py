"""The life of features as people meet it: several of them, finished, merged, squashed, on branches and on main."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Bell, Call, Heard, Make
from tests.engine.building import AGENT, PATIENCE_S, Project, story, works

AUTO = {"spec": "auto", "qa": "auto"}
ONE = story("US-001")


def begin(project: Project, name: str, *stories: dict[str, Any]) -> Project:
    """Another feature of the same repository, with a hand-written prd.json."""
    other = Project(project.repo, f"docs/features/{name}", project.scenario, project.env)
    other.plan(*(stories or (ONE,)))
    return other


def merge(project: Project, how: str) -> None:
    """Take the finished feature's branch into main, as people and forges do, and stand on main."""
    project.git("switch", "--quiet", "main")
    if how.startswith("squash"):
        project.git("merge", "--quiet", "--squash", project.branch)
        project.git("commit", "--quiet", "-m", "feat: login (#1)")
    else:
        project.git("merge", "--quiet", "--no-ff", "-m", "Merge login", project.branch)
    if "deleted" in how:
        project.git("branch", "-D", project.branch)


@pytest.fixture
def finished(made: Make) -> tuple[Project, Call]:
    """The feature login, ended on its branch, which is checked out."""
    project, call = made(ONE, gates=AUTO)
    project.play(stories={"*": [{"write": {"src/{{feature}}.py": "DONE = 1\n"}}]})
    assert call("loop")[0] == 0
    return project, call


def lives(call: Call) -> dict[str, str]:
    return {value["feature"]: value["life"] for value in call.json("status", "--all")[1]["features"]}


@pytest.mark.parametrize("how", ["merge, deleted", "squash"])
def test_a_merged_feature_is_closed_and_the_next_one_needs_no_name(finished: tuple[Project, Call], how: str) -> None:
    project, call = finished
    assert lives(call) == {"login": "published"}
    merge(project, how)
    assert lives(call) == {"login": "merged"}
    assert call("status", "--all")[1].split()[:3] == ["login", "CLOSED", "1/1"]
    before = project.git("for-each-ref", "refs/heads")
    code, out, _ = call("loop")
    assert (code, out) == (0, "nothing to do: login is merged\n")
    assert project.git("for-each-ref", "refs/heads") == before
    begin(project, "settings")
    assert call("loop")[0] == 0
    assert project.git("branch", "--show-current") == "ralph/settings"
    assert lives(call) == {"login": "merged", "settings": "published"}


def test_watch_leaves_a_merged_feature_alone_and_goes_on_with_the_next(finished: tuple[Project, Call]) -> None:
    project, call = finished
    merge(project, "merge, deleted")
    assert call("why", "login")[1] == "ends: login is merged into main and closed\n"
    assert call("loop", "login")[0] == 0
    begin(project, "settings")
    with project.start("watch") as process:
        assert process.stderr
        heard = Heard(process.stderr.fileno())
        heard.until("login: login is merged into main and closed")
        heard.until("settings: all stories are verified")
        process.terminate()
        process.communicate(timeout=PATIENCE_S)
    assert project.git("branch", "--list", project.branch) == ""
    assert "start of ralph/login" not in project.git("log", "--format=%s", "main..ralph/settings")


def test_a_revert_on_main_reopens_a_merged_feature(finished: tuple[Project, Call]) -> None:
    project, call = finished
    landed = project.commit_of("US-001")
    merge(project, "merge")
    project.git("revert", "--no-edit", landed)
    assert lives(call) == {"login": "open"}
    assert call("loop")[0] == 0
    assert project.git("branch", "--show-current") == project.branch
    assert (project.repo / "src" / "login.py").exists()


def test_a_story_added_on_main_reopens_a_merged_feature(finished: tuple[Project, Call]) -> None:
    project, call = finished
    merge(project, "merge, deleted")
    prd = project.prd()
    project.write("prd.json", json.dumps({**prd, "userStories": [*prd["userStories"], story("US-002")]}))
    project.play(stories={"*": [works()]})
    assert lives(call) == {"login": "open"}
    assert call("loop", "--max-iterations", "1")[0] == 13
    assert project.statuses() == {"US-001": "completed", "US-002": "completed"}


def test_a_step_of_a_merged_feature_is_not_promised_to_run_again(finished: tuple[Project, Call]) -> None:
    project, call = finished
    merge(project, "merge, deleted")
    code, _, err = call("redo", "qa", "login")
    assert (code, "login is merged into main and closed" in err) == (4, True), err
    assert project.git("status", "--porcelain", "--untracked-files=no") == ""
    assert call("redo", "US-001", "login")[0] == 0


def test_a_kept_attempt_whose_commit_is_gone_stops_nobody(made: Make) -> None:
    project, call = made(ONE, gates=AUTO)
    ref = project.repo / ".git" / "refs" / "ralphy" / "login" / "US-001" / "attempt-1"
    ref.parent.mkdir(parents=True)
    ref.write_text(f"{'1' * 40}\n")
    assert call("status")[0] == 0
    assert call("why")[0] == 0


def test_from_main_the_question_of_a_step_is_what_a_feature_waits_for(made: Make) -> None:
    project, call = made(ONE, gates=AUTO)
    project.play(stories={"*": [works()]}, qa=[{"question": "One shop or many?"}])
    assert call("loop")[0] == 10
    project.git("switch", "--quiet", "main")
    said = call.json("status", "login")[1]["next"]
    assert said.startswith("the qa agent asks a question: answer it in QUESTIONS.md"), said


def test_from_main_status_shows_what_is_on_branches(made: Make) -> None:
    project, call = made(ONE)
    assert call("loop")[0] == 10
    project.git("switch", "--quiet", "main")
    for words in (("status", "login"), ("status",)):
        value = call.json(*words)[1]
        assert (value["phase"], value["life"], value["tasks_completed"]) == ("AWAITING_QA_VALIDATION", "in_work", 1)
        assert value["next"].endswith("(on ralph/login: git switch ralph/login)")
    assert call("status", "--all")[1].startswith("login                    AWAITING_QA_VALIDATION     1/1")
    code, _, err = call("loop")
    assert (code, err.splitlines()[-1]) == (4, "  hint: git switch ralph/login")
    assert call("loop", "login")[0] == call("approve", "login")[0] == 4


def test_a_branch_without_a_folder_is_shown_beside_an_open_feature(made: Make) -> None:
    project, call = made(ONE)
    assert call("loop")[0] == 10
    project.git("switch", "--quiet", "main")
    begin(project, "settings")
    assert lives(call) == {"login": "in_work", "settings": "open"}
    code, _, err = call("loop")
    assert code == 3
    assert err.splitlines() == [
        "ralphy: 2 features are open: login, settings",
        "  hint: name one: ralphy loop login (make loop FEATURE=login)",
    ]
    assert call("status")[0] == 3


def test_a_finished_feature_that_is_not_merged_yet_needs_no_name_beside_it(finished: tuple[Project, Call]) -> None:
    project, call = finished
    project.git("switch", "--quiet", "main")
    begin(project, "settings")
    assert call.json("status")[1]["feature"] == "settings"
    assert lives(call) == {"login": "published", "settings": "open"}


def test_a_rejected_feature_is_not_open(made: Make) -> None:
    project, call = made(gates={"spec": "human", "qa": "human"})
    assert call("loop")[0] == 10
    (project.folder / "REJECTED").touch()
    assert call("loop")[0] == 11
    assert lives(call) == {"login": "rejected"}
    begin(project, "settings")
    assert call("loop")[0] == 10
    assert project.git("branch", "--show-current") == "ralph/settings"


def test_a_branch_in_another_worktree_is_not_moved(made: Make, tmp_path: Path) -> None:
    project, call = made(ONE)
    project.git("worktree", "add", "--quiet", "-b", project.branch, str(tmp_path / "other"))
    tip = project.git("rev-parse", project.branch)
    assert call("loop")[0] == 4
    assert project.git("rev-parse", project.branch) == tip


def test_while_an_agent_works_every_view_shows_its_story(made: Make, tmp_path: Path) -> None:
    project, call = made(ONE, story("US-002", priority=2), story("US-003", priority=3))
    bell = Bell(tmp_path / "bell")
    project.play(stories={"US-001": [works()], "US-002": [{"run": bell.ring, "hang": True}]})
    project.configure(agent={"command": AGENT}, circuit_breaker={"inactivity_timeout": 1, "max_attempts": 100})
    with project.start("loop") as process:
        assert process.stderr
        heard = Heard(process.stderr.fileno())
        bell.wait()
        assert "US-002 Story US-002: in_progress" in project.read("TASKS.md")
        assert "US-001 Story US-001: completed" in project.read("TASKS.md")
        heard.until("(HALF_OPEN)")
        for words in (("story", "list"), ("status",), ("status", "login")):
            rows = {row["id"]: row["status"] for row in call.json(*words)[1]["stories"]}
            assert rows == {"US-001": "completed", "US-002": "in_progress", "US-003": "pending"}
        value = call.json("status")[1]
        assert (value["status"], value["circuit_breaker"]["state"]) == ("running", "HALF_OPEN")
        assert value["circuit_breaker"]["last_trigger"] == value["watchdog"]["trigger"]
        assert "  watchdog: HALF_OPEN, warning 1/100: " in call("status")[1]
        process.terminate()
        process.communicate(timeout=PATIENCE_S)
    assert "US-002 Story US-002: pending" in project.read("TASKS.md")
    value = call.json("status")[1]
    assert (value["status"], value["circuit_breaker"]["state"], value["watchdog"]) == ("ready", "CLOSED", None)


@pytest.fixture
def set_up(made: Make, monkeypatch: pytest.MonkeyPatch) -> tuple[Project, Call]:
    """The feature login at its second gate; what init wrote was not committed, the settings are the person's own."""
    project, call = made(ONE)
    (project.repo / ".ralphy" / "config.yaml").write_text("safety: {level: minimal}\nlimits: {max_cost_usd: 7}\n")
    project.git("rm", "--quiet", "--cached", ".ralphy/config.yaml")
    project.git("commit", "--quiet", "--amend", "-m", "chore: not set up yet")
    monkeypatch.setenv("RALPHY_AGENT_COMMAND", " ".join(AGENT))
    monkeypatch.setenv("RALPHY_STACK_TEST_COMMAND", f"{AGENT[0]} -S -E check.py")
    assert call("loop")[0] == 10
    return project, call


def test_settings_that_a_branch_took_along_are_missed_and_not_replaced_by_defaults(
    set_up: tuple[Project, Call],
) -> None:
    project, call = set_up
    project.git("switch", "--quiet", "main")
    begin(project, "settings")
    for words in (("loop", "settings"), ("start", "settings"), ("watch",)):
        code, _, err = call(*words)
        assert code == 4 and "ralphy: the project's settings are on branch ralph/login, not in this checkout" in err
    assert "warning: the project's settings are on branch ralph/login" in call("why", "settings")[2]
    project.git("checkout", "--quiet", project.branch, "--", ".ralphy")
    project.git("commit", "--quiet", "-m", "chore: set up")
    assert call("loop", "settings")[0] == 10
    project.git("switch", "--quiet", "--detach", "main")
    project.git("rm", "--quiet", "-r", ".ralphy")
    project.git("commit", "--quiet", "-m", "chore: no settings any more")
    assert "settings are on branch" not in call("why", "settings")[2]  # removed on purpose


@pytest.mark.xfail(strict=True, reason="lanes: what init wrote goes with the first feature's branch")
def test_settings_that_were_not_committed_are_in_force_on_every_branch(set_up: tuple[Project, Call]) -> None:
    project, call = set_up
    project.git("switch", "--quiet", "main")
    begin(project, "settings")
    assert call("loop", "settings")[0] == 10


@pytest.mark.xfail(strict=True, reason="lanes: a finished feature holds the checkout until a person switches branches")
def test_two_features_in_one_night(finished: tuple[Project, Call]) -> None:
    project, call = finished
    begin(project, "settings")
    assert call("loop")[0] == 0
    assert lives(call) == {"login": "published", "settings": "published"}
