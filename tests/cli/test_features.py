"""The life of features as people meet it: several of them, finished, merged, squashed, on branches and on main."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ralphy.cli.main import main
from tests.cli.conftest import Bell, Call, CallIn, Make, heard_while
from tests.engine.building import AGENT, Project, breaks, build, reports, story, works
from tests.engine.nights import played_once
from tests.sampling import sampled

AUTO = {"spec": "auto", "qa": "auto"}
ONE = story("US-001")


def begin(project: Project, name: str, *stories: dict[str, Any]) -> Project:
    """Another feature of the same repository, with a hand-written prd.json."""
    other = Project(project.repo, f"docs/features/{name}", project.scenario, project.env)
    other.plan(*(stories or (ONE,)))
    return other


def merge(project: Project) -> None:
    """Take the finished feature's branch into main, which is checked out, and delete it, as forges do."""
    project.git("merge", "--quiet", "--no-ff", "-m", "Merge login", project.branch)
    project.git("branch", "-D", project.branch)


@played_once
def published(place: Path) -> Project:
    project = build(place, ONE, gates=AUTO)
    project.play(stories={"*": [{"write": {"src/{{feature}}.py": "DONE = 1\n"}}]})
    assert project.loop().code == 0
    return project


@pytest.fixture
def finished(published: Project, call_in: CallIn) -> tuple[Project, Call]:
    """The feature login, ended on its branch; main is checked out."""
    return published, call_in(published)


@played_once
def reviewed(place: Path) -> Project:
    project = build(place, ONE)
    assert project.loop().code == 10
    return project


@pytest.fixture
def at_a_gate(reviewed: Project, call_in: CallIn) -> tuple[Project, Call]:
    """The feature login, whose review waits to be approved."""
    return reviewed, call_in(reviewed)


def lives(call: Call) -> dict[str, str]:
    return {value["feature"]: value["life"] for value in call.json("status", "--all")[1]["features"]}


def test_a_squashed_feature_is_closed_and_the_next_one_needs_no_name(finished: tuple[Project, Call]) -> None:
    project, call = finished
    assert lives(call) == {"login": "published"}
    project.git("merge", "--quiet", "--squash", project.branch)
    project.git("commit", "--quiet", "-m", "feat: login (#1)")
    assert lives(call) == {"login": "merged"}
    assert call("status", "--all")[1].split()[:4] == ["Done", "login", "CLOSED", "1/1"]
    before = project.git("for-each-ref", "refs/heads")
    code, out, _ = call("loop")
    assert (code, out) == (0, "nothing to do: login is merged\n")
    assert project.git("for-each-ref", "refs/heads") == before
    begin(project, "settings")
    assert call("loop")[0] == 0
    assert project.git("branch", "--show-current") == "main"
    assert lives(call) == {"login": "merged", "settings": "published"}


def test_watch_leaves_a_merged_feature_alone_and_goes_on_with_the_next(finished: tuple[Project, Call]) -> None:
    project, call = finished
    merge(project)
    assert call("why", "login")[1] == "ends: login is merged into main and closed\n"
    assert call("loop", "login")[0] == 0
    begin(project, "settings")
    with heard_while(project, "watch") as (heard, _):
        heard.until("login: login is merged into main and closed")
        heard.until("settings: all stories are verified")
    assert project.git("branch", "--list", project.branch) == ""
    assert "start of ralph/login" not in project.git("log", "--format=%s", "main..ralph/settings")


def test_a_story_added_on_main_reopens_a_merged_feature(finished: tuple[Project, Call]) -> None:
    project, call = finished
    merge(project)
    prd = project.prd()
    project.write("prd.json", json.dumps({**prd, "userStories": [*prd["userStories"], story("US-002")]}))
    project.play(stories={"*": [works()]})
    assert lives(call) == {"login": "open"}
    code, _, said = call("loop", "--max-iterations", "1")
    assert (code, "prd.json: your change is committed on ralph/login" in said) == (13, True)
    committed = json.loads(project.code("docs/features/login/prd.json"))
    assert [found["status"] for found in committed["userStories"]] == ["completed", "completed"]
    assert project.git("status", "--porcelain") == ""  # main tracks it


def test_a_finished_feature_says_that_its_base_has_gone_ahead_and_a_merged_one_promises_no_step(
    finished: tuple[Project, Call],
) -> None:
    project, call = finished
    assert "ahead" not in call("loop", "login")[2]
    project.git("commit", "--quiet", "--allow-empty", "-m", "chore: elsewhere")
    assert "login: main is 1 commit ahead: git switch ralph/login && git merge main" in call("loop", "login")[2]
    merge(project)
    code, _, err = call("redo", "qa", "login")
    assert (code, "login is merged into main and closed" in err) == (4, True), err
    assert project.git("status", "--porcelain", "--untracked-files=no") == ""
    assert call("redo", "login", "US-001")[0] == 0


def test_a_kept_attempt_whose_commit_is_gone_stops_nobody(made: Make) -> None:
    project, call = made(ONE, gates=AUTO)
    ref = project.repo / ".git" / "refs" / "ralphy" / "login" / "US-001" / "attempt-1"
    ref.parent.mkdir(parents=True)
    ref.write_text(f"{'1' * 40}\n")
    assert (call("status")[0], call("why")[0]) == (0, 0)


def stand(project: Project, where: str) -> None:
    """Stand where a person may stand: on main, on the feature's branch, on another one, or on a commit."""
    if where == "another branch":
        project.git("switch", "--quiet", "-c", "wip", "main")
    elif where == "a commit":
        project.git("switch", "--quiet", "--detach", "main")
    elif where == "the branch":
        project.switch()
    else:
        project.git("switch", "--quiet", "main")


@pytest.mark.parametrize(
    "where", sampled(["main", "the branch", "another branch", "a commit"], "another branch", "the branch")
)
def test_from_every_branch_the_same_is_said_and_the_work_goes_on(
    at_a_gate: tuple[Project, Call], where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, call = at_a_gate
    stand(project, where)
    monkeypatch.chdir(project.repo / "docs")
    before = project.git("symbolic-ref", "--quiet", "--short", "HEAD") if where != "a commit" else ""
    for words in (("status", "login"), ("status",)):
        value = call.json(*words)[1]
        assert (value["phase"], value["life"], value["tasks_completed"]) == ("AWAITING_QA_VALIDATION", "in_work", 1)
        how = "`touch features/login/APPROVED`, or `ralphy approve login`"
        assert value["next"].endswith(f"ready for review: {how}")
    inbox = call("status", "--all")[1]
    assert inbox.startswith(
        "Needs you\n  login                    AWAITING_QA_VALIDATION     1/1  QA_REPORT.md is ready"
    )
    assert max(map(len, inbox.splitlines())) <= 100
    assert call("why")[1].startswith("waits: QA_REPORT.md is ready for review")
    assert f"commit: {project.commit_of('US-001')[:12]}" in call("story", "show", "US-001")[1]
    assert call("story", "next")[1] == "all stories are completed\n"
    assert call("loop")[0] == 10
    assert call("approve")[0] == 0
    assert call("loop", "login")[0] == 0
    assert lives(call) == {"login": "published"}
    assert (project.git("branch", "--show-current")) == before
    assert project.git("status", "--porcelain", "--untracked-files=no") == ""


def test_a_branch_from_elsewhere_is_shown_and_worked_on_without_being_checked_out(
    at_a_gate: tuple[Project, Call],
) -> None:
    project, call = at_a_gate
    shutil.rmtree(project.folder)
    begin(project, "settings")
    assert lives(call) == {"login": "in_work", "settings": "open"}
    code, out, _ = call("status")
    assert code == 0 and re.findall(r"^  (\w+) {2,}", out, re.M) == ["login", "settings"]
    code, _, err = call("approve")
    assert (code, err.splitlines()) == (3, ["ralphy: 2 features are open: login, settings", "  hint: name one of them"])
    shutil.rmtree(project.folder.with_name("settings"))
    assert call.json("status", "login")[1]["phase"] == "AWAITING_QA_VALIDATION"
    assert call("approve", "login")[0] == 0
    assert project.read("QA_REPORT.md") == project.code("docs/features/login/QA_REPORT.md")
    assert call("loop")[0] == 0


def test_without_any_feature_status_says_how_to_begin_and_is_no_error(made: Make) -> None:
    project, call = made()
    shutil.rmtree(project.folder)
    for words in (("status",), ("status", "--all")):
        assert call(*words)[:2] == (0, 'no features yet: ralphy start "what you want built"\n')
    assert call("status", "login")[0] == 2


def test_a_rejected_feature_is_not_open(made: Make) -> None:
    project, call = made(gates={"spec": "human", "qa": "human"})
    assert call("loop")[0] == 10
    assert call("reject", "--end")[0] == 0
    assert call("loop")[0] == 11
    assert call.json("status", "login")[1]["phase"] == "REJECTED"
    assert lives(call) == {"login": "rejected"}
    assert call("status", "--all")[1].splitlines()[0] == "Rejected"
    begin(project, "settings")
    assert call("loop")[0] == 10
    assert lives(call) == {"login": "rejected", "settings": "in_work"}


def test_while_an_agent_works_every_view_shows_its_story(made: Make, tmp_path: Path) -> None:
    project, call = made(ONE, story("US-002", priority=2), story("US-003", priority=3))
    bell = Bell(tmp_path / "bell")
    project.play(stories={"US-001": [works()], "US-002": [{"run": bell.ring, "hang": True}]})
    project.configure(agent={"command": AGENT}, circuit_breaker={"inactivity_timeout": 1, "max_attempts": 100})
    with heard_while(project, "loop") as (heard, _):
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
        assert re.search(r"^  watchdog: HALF_OPEN, warning \d+/100: ", call("status")[1], re.M)
    assert "US-002 Story US-002: pending" in project.read("TASKS.md")
    value = call.json("status")[1]
    assert (value["status"], value["circuit_breaker"]["state"], value["watchdog"]) == ("ready", "CLOSED", None)


def test_settings_that_were_not_committed_are_in_force_on_every_branch_and_those_of_another_branch_are_missed(
    made: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The feature login is at its second gate; what init wrote was not committed, the settings are the person's own."""
    project, call = made(ONE)
    (project.repo / ".ralphy" / "config.yaml").write_text("safety: {level: minimal}\nlimits: {max_cost_usd: 7}\n")
    project.git("rm", "--quiet", "--cached", ".ralphy/config.yaml")
    project.git("commit", "--quiet", "--amend", "-m", "chore: not set up yet")
    monkeypatch.setenv("RALPHY_AGENT_COMMAND", " ".join(AGENT))
    monkeypatch.setenv("RALPHY_STACK_TEST_COMMAND", f"{AGENT[0]} -S -E check.py")
    assert call("loop")[0] == 10
    settings = (project.repo / ".ralphy" / "config.yaml").read_text()
    assert ".ralphy/config.yaml" not in project.code_files()
    begin(project, "settings")
    assert call("loop", "settings")[0] == 10
    project.git("switch", "--quiet", "-c", "wip")
    assert call("loop")[0] == 10
    assert (project.repo / ".ralphy" / "config.yaml").read_text() == settings

    project.git("switch", "--quiet", "-c", "ralph/other", "main")
    project.git("add", "--force", ".ralphy/config.yaml")
    project.git("commit", "--quiet", "-m", "chore: set up")
    project.git("switch", "--quiet", "main")
    for words in (("loop", "settings"), ("loop",), ("start", "settings"), ("watch",)):
        code, _, err = call(*words)
        assert code == 4 and "ralphy: the project's settings are on branch ralph/other, not in this checkout" in err
    assert "warning: the project's settings are on branch ralph/other" in call("why", "settings")[2]
    project.git("checkout", "--quiet", "ralph/other", "--", ".ralphy")
    project.git("commit", "--quiet", "-m", "chore: set up")
    assert call("loop", "settings")[0] == 10
    project.git("switch", "--quiet", "--detach", "main")
    project.git("rm", "--quiet", "-r", ".ralphy")
    project.git("commit", "--quiet", "-m", "chore: no settings any more")
    assert "settings are on branch" not in call("why", "settings")[2]  # removed on purpose


def test_two_features_in_one_night_are_named_share_its_budget_and_end_with_a_stop(
    finished: tuple[Project, Call],
) -> None:
    project, call = finished
    begin(project, "settings")
    begin(project, "search")
    lines = call("loop", "--dry-run")[1].splitlines()
    assert [line.partition(": ")[0] for line in lines if line and line[0] != " "] == ["search", "settings"]
    before = project.journal("run")
    (project.folder.with_name("search") / "STOP").touch()
    assert call("loop")[0] == 130
    assert project.journal("run") == before
    assert call("loop", "--max-iterations", "1")[0] == 13
    assert len(project.journal("run")) == len(before) + 1
    code, out, err = call("loop")
    assert (code, lives(call)) == (0, {"login": "published", "search": "published", "settings": "published"})
    assert [line.partition(": ")[0] for line in out.splitlines()] == ["search", "settings"]
    assert project.code("src/search.py", "ralph/search") == "DONE = 1\n"
    assert "src/search.py" not in project.code_files("ralph/settings")
    assert err.index("search: ") < err.index("settings: ")


def test_a_night_ends_with_10_only_when_each_feature_waits(made: Make) -> None:
    project, call = made(ONE, limits={"max_attempts": 1})
    begin(project, "settings")
    assert call("loop")[0] == 10
    begin(project, "search")
    project.play(stories={"*": [breaks()]})
    assert call("loop")[0] == 11
    assert call.json("status", "search")[1]["stories"][0]["status"] == "failed"


def test_a_feature_that_is_approved_meanwhile_goes_on_in_the_same_night(made: Make) -> None:
    project, call = made(ONE)
    begin(project, "settings")
    approves = ["sh", "-c", f'[ "$RALPHY_FEATURE" != settings ] || touch {project.folder}/APPROVED']
    project.play(stories={"*": [works()]}, qa=[{**reports(), "run": [approves]}])
    assert call("loop")[0] == 10
    assert lives(call) == {"login": "published", "settings": "in_work"}


def test_a_folder_with_a_space_in_its_name_is_said_with_the_command_that_renames_it(
    made: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, call = made(ONE, gates=AUTO)
    for name in ("Größe und Maß", "größe und maß (2)", "_template", "no documents"):
        (project.repo / "docs/features" / name).mkdir()
    for name in ("Größe und Maß", "größe und maß (2)", "_template"):
        (project.repo / "docs/features" / name / "PRD.md").write_text("# Size\n\n## Objective\n\nIt fits.\n")
    (project.repo / "docs/features/Groe-und-Ma").mkdir()
    monkeypatch.chdir(project.repo / "docs")
    rule = "is not a feature name (letters, digits, - and _, at most 64)"
    said = f"warning: docs/features/Größe und Maß is ignored: 'Größe und Maß' {rule}; rename it: "
    for words in (("status",), ("status", "--all"), ("status",), ("loop", "--dry-run")):
        err = call(*words)[2]
        assert err.count("is ignored") == 2 and err.count(said) == 1, (words, err)
    code, _, err = call("validate")
    assert (code, err.count(rule)) == (3, 2) and "_template" not in err
    code, _, err = call("start", "Größe und Maß")
    assert code == 3 and not (project.repo / "docs/features/grosse-und-mass").exists()
    assert call("loop", "Größe und Maß")[2] == err

    rename = err.splitlines()[-1].removeprefix("  hint: ")
    assert rename == "mv 'features/Größe und Maß' features/Groe-und-Ma-2"
    assert rename in call("status")[2]
    subprocess.run(rename, shell=True, check=True)
    assert "Groe-und-Ma-2" in call("status", "--all")[1]


def test_one_inbox_of_several_repositories_has_commands_that_work_from_here(
    made: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, call = made(ONE, gates=AUTO)
    top = project.repo.parent / "all of them"
    for place in ("shop/front", "one/two/three/four/too-deep", "node_modules/pkg", ".hidden"):
        shutil.copytree(project.repo, top / place)
    shutil.copytree(project.repo, top / "torn")
    (top / "torn/.ralphy/config.yaml").write_text("limits: [")
    shutil.copytree(project.repo, top / "not-ours")
    shutil.rmtree(top / "not-ours/.ralphy")
    monkeypatch.chdir(top.parent)

    code, out, _ = call("status", "--all", "--under", str(top))

    assert code == 3, out
    assert [line for line in out.splitlines() if line and line[0] != " " and line not in ("Ready", "Needs you")] == [
        "all of them/shop/front", "all of them/torn"]  # fmt: skip
    assert "cannot be read: .ralphy/config.yaml:2: is not YAML" in out
    command = "ralphy start login -C 'all of them/shop/front'"
    assert f"    {command}\n" in out
    code, value = call.json("status", "--all", "--under", str(top))
    shop, torn = value["repositories"]
    assert (code, value["ok"], shop["repository"]) == (3, False, str(top / "shop/front"))
    assert [(one["feature"], one["command"]) for one in shop["features"]] == [("login", command)]
    assert torn["features"] == [] and torn["error"]["name"] == "invalid_input"
    assert main([*shlex.split(command)[1:], "--dry-run"]) == 0

    shutil.rmtree(top / "torn")
    assert call("status", "--all", "--under", str(top))[0] == 0
    assert call("status", "--under", str(top))[0] == 3
    assert call("status", "--all", "--under", str(top / "node_modules/pkg/src"))[0] == 2
    code, _, err = call("status", "--all", "--under", "nowhere")
    assert code == 2 and "nowhere cannot be read" in err


def test_a_revert_on_main_reopens_a_merged_feature(finished: tuple[Project, Call]) -> None:
    project, call = finished
    landed = project.commit_of("US-001")
    project.git("merge", "--quiet", "--no-ff", "-m", "Merge login", project.branch)
    project.git("revert", "--no-edit", landed)
    assert lives(call) == {"login": "open"}
    assert call("loop")[0] == 0
    assert "src/login.py" in project.code_files()


def test_a_name_for_a_feature_that_is_there_makes_no_other_one(finished: tuple[Project, Call]) -> None:
    project, call = finished

    code, _, err = call("start", "login", "--name", "other")

    assert code == 3
    assert "login is a feature, and --name names a new one" in err
    assert "hint: ralphy start login" in err
    assert not (project.repo / "docs/features/other").exists()
