"""story …: prd.json changed from the command line is changed as the engine changes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Bell, Call, CallIn, Make
from tests.engine.building import Project, assert_clean, build, held, story, works
from tests.engine.nights import played_once

TWO = (story("US-001"), story("US-002", priority=2, dependsOn=["US-001"]))
Begun = tuple[Project, Call]


@played_once
def one_landed(place: Path) -> Project:
    project = build(place, *TWO, limits={"max_iterations": 1})
    assert project.loop().code == 13
    return project


@pytest.fixture
def begun(one_landed: Project, call_in: CallIn) -> Begun:
    """A feature whose first story is completed on its branch; the second is open."""
    return one_landed, call_in(one_landed)


def test_the_list_shows_every_story_and_its_status(made: Make) -> None:
    project, call = made(*TWO)
    code, out, _ = call("story", "list")
    assert code == 0
    assert [line.split()[1] for line in out.splitlines()] == ["US-001", "US-002"]
    assert "(blocked, after US-001)" in out
    assert call("tasks", "list")[1] == call("story")[1] == out
    code, value = call.json("story", "list")
    assert [(row["id"], row["status"]) for row in value["stories"]] == [("US-001", "pending"), ("US-002", "blocked")]
    project.plan()
    assert call("story", "next")[0] == 2


def test_next_is_what_the_loop_takes_up(begun: Begun) -> None:
    project, call = begun
    code, value = call.json("story", "next")
    assert (code, value["story"]["id"]) == (0, "US-002")
    assert project.loop().runs == ["US-002"]
    assert call("story", "next")[:2] == (0, "all stories are completed\n")


def test_show_tells_the_commit_and_that_it_was_reverted(begun: Begun) -> None:
    project, call = begun
    commit = project.commit_of("US-001")
    code, value = call.json("story", "show", "login/US-001")
    assert (code, value["status"], value["commit"]["commit"]) == (0, "completed", commit)
    assert commit[:12] in call("story", "show", "US-001")[1]
    project.switch()
    project.git("revert", "--no-edit", commit)
    _, value = call.json("story", "show", "US-001")
    assert (value["status"], value["commit"]["reverted_by"]) == ("pending", project.git("rev-parse", "HEAD"))
    assert "reverted by" in call("story", "show", "US-001")[1]


def test_show_tells_criteria_and_tasks_of_every_form_in_full_and_that_there_is_no_commit(made: Make) -> None:
    criteria = [{"id": "AC1", "text": "Hashed"}, {"title": "Unique", "description": "per shop"}]
    ticked = ["It works", {"description": "Well", "done": True}]
    _, call = made(story("US-001", acceptanceCriteria=criteria, tasks=["Write it"], notes="Mind the gap."),
                   story("US-002", passes=True, acceptanceCriteria=ticked))  # fmt: skip
    _, out, _ = call("story", "show", "US-001")
    assert [line for line in ("[ ] AC1: Hashed", "[ ] Unique: per shop", "[ ] Write it", "Mind the gap.")
            if line not in out] == []  # fmt: skip
    code, out, _ = call("story", "show", "US-002")
    assert code == 0
    assert "none (imported, accepted or squash-merged)" in out
    assert "[x] It works" in out


def test_an_unknown_story_what_prd_json_could_not_hold_and_another_ralphys_work_change_nothing(made: Make) -> None:
    project, call = made(*TWO)
    before = project.read("prd.json")
    for verb in ("show", "start", "done", "fail", "reset"):
        code, value = call.json("story", verb, "us-001")
        assert (verb, code, value["error"]["hint"]) == (verb, 2, "did you mean US-001?")
    for meant, near in (("us-001", "US-001"), ("US-01", "US-001"), ("sepc", "spec")):
        code, value = call.json("redo", meant)
        assert (meant, code, value["error"]["hint"]) == (meant, 3, f"did you mean {near}?")
    for what, (words, code) in NOT_ADDED.items():
        assert (what, call("story", "add", *words)[0]) == (what, code)
    changing = ("story add X", "story start US-001", "story fail US-001", "story reset US-001", "reset")
    with held(project):
        for line in changing:
            code, _, err = call(*line.split())
            assert (line, code, "edit prd.json" in err, "ralphy abort" in err) == (line, 4, True, True), err
    assert project.read("prd.json") == before


def test_a_story_is_added_behind_the_others_and_committed(begun: Begun) -> None:
    project, call = begun
    code, value = call.json(
        "story", "add", "Sign out", "--description", "As a customer", "--criteria", "One", "--criteria", "Two",
        "--after", "US-001",
    )  # fmt: skip
    assert (code, value["story"]["id"]) == (0, "US-003")
    assert project.story("US-003") == {
        "id": "US-003", "title": "Sign out", "description": "As a customer", "acceptanceCriteria": ["One", "Two"],
        "priority": 3, "passes": False, "status": "pending", "dependsOn": ["US-001"],
    }  # fmt: skip
    assert project.subjects()[-1] == "chore(login): US-003 is added"
    assert "US-003" in project.read("TASKS.md")
    assert_clean(project)
    assert project.loop().runs == ["US-002"]


def test_before_there_is_a_branch_a_story_is_written_and_not_committed(made: Make) -> None:
    """The first one of a bare feature, too."""
    project, call = made()
    head = project.git("rev-parse", "HEAD")
    assert call("story", "add", "Sign out", "login")[0] == 0
    assert project.story("US-001")["title"] == "Sign out"
    assert call("story", "add", "Sign up", "--priority", "0")[0] == 0
    assert project.git("rev-parse", "HEAD") == head
    assert call.json("story", "next")[1]["story"]["id"] == "US-002"


NOT_ADDED = {
    "a line break": (["Two\nlines"], 3),
    "nothing": ([""], 3),
    "an unknown dependency": (["X", "--after", "US-9"], 2),
    "a negative priority": (["X", "--priority", "-1"], 3),
    "no title": ([], 3),
}


def test_a_started_story_comes_first_and_only_an_open_one_without_open_dependencies_starts(made: Make) -> None:
    stories = (
        story("US-001"),
        story("US-002", dependsOn=["US-001"]),
        story("US-003"),
        story("US-004", status="failed"),
    )
    project, call = made(*stories)
    code, out, _ = call("story", "start", "US-003")
    assert (code, out) == (0, "US-003 is in progress: it is the next story, `ralphy loop login` works on it\n")
    assert call.json("story", "next")[1]["story"]["id"] == "US-003"
    before = project.prd()["userStories"]
    assert call("story", "start", "US-003")[0] == 0
    assert project.prd()["userStories"] == before
    assert call("story", "start", "US-002")[0] == 4
    code, _, said = call("story", "start", "US-004")
    assert code == 4
    assert "ralphy story reset US-004 login" in said
    # Below the lowest priority the others move up.
    project.plan(story("US-001", priority=0), story("US-002", priority=0), story("US-003", priority=1))
    call("story", "start", "US-002")
    assert {s["id"]: s["priority"] for s in project.prd()["userStories"]} == {"US-001": 1, "US-002": 0, "US-003": 2}


def test_a_started_story_is_in_progress_until_it_is_completed_failed_or_reset(made: Make) -> None:
    project, call = made(*TWO, story("US-003"), story("US-004"))
    project.play(stories={"*": [works()]})

    def shown() -> dict[str, str]:
        return {row["id"]: row["status"] for row in call.json("tasks", "list")[1]["stories"]}

    for started in ("US-001", "US-003", "US-004"):
        code, value = call.json("tasks", "start", started)
        assert (code, value["story"]["status"]) == (0, "in_progress")
    assert shown() == {"US-001": "in_progress", "US-002": "blocked", "US-003": "in_progress", "US-004": "in_progress"}
    assert "US-003 Story US-003: in_progress" in project.read("TASKS.md")
    assert "in_progress" not in project.statuses().values()
    call("tasks", "fail", "US-003")
    call("tasks", "reset", "US-004")
    assert shown() == {"US-001": "in_progress", "US-002": "blocked", "US-003": "failed", "US-004": "pending"}
    call("tasks", "reset", "US-003")
    assert call("loop", "--max-iterations", "1")[0] == 13
    assert shown() == {"US-001": "in_progress", "US-002": "blocked", "US-003": "pending", "US-004": "completed"}
    assert call("loop", "--max-iterations", "2")[0] == 13
    assert shown() == {"US-001": "completed", "US-002": "pending", "US-003": "completed", "US-004": "completed"}
    assert call("tasks", "start", "US-001")[0] == 4


def test_a_failed_story_blocks_its_dependents_and_says_why_and_a_completed_one_can_not_fail(begun: Begun) -> None:
    project, call = begun
    call("story", "add", "Sign out", "--after", "US-002")
    code, value = call.json("story", "fail", "US-002", "-m", "the API is gone")
    assert (code, value["story"]["status"], value["story"]["last_error"]) == (0, "failed", "the API is gone")
    assert call("story", "next")[:2] == (11, "failed: US-002; blocked: US-003\n")
    assert project.loop().code == 11
    assert call("story", "fail", "US-001")[0] == 4
    assert project.story("US-001")["status"] == "completed"
    assert_clean(project)


def test_a_reset_story_is_done_again(begun: Begun) -> None:
    project, call = begun
    assert call("story", "reset", "US-001")[0] == 0
    assert project.statuses() == {"US-001": "pending", "US-002": "pending"}
    project.play(stories={"US-001": [works(), {"write": {"src/again.py": "AGAIN = 1\n"}}]})
    assert project.loop().runs == ["US-001"]
    assert_clean(project)


def test_a_persons_work_counts_when_the_checks_are_green(begun: Begun) -> None:
    project, call = begun
    project.switch()
    (project.repo / "src" / "mine.py").write_text("MINE = 1\n")
    project.commit("feat: by hand", "src/mine.py")
    head = project.git("rev-parse", "HEAD")
    code, value = call.json("story", "done", "US-002")
    assert (code, value["story"]["passes"]) == (0, True)
    evidence = project.story("US-002")["evidence"]
    assert (evidence["accepted"], evidence["base"]) == ("accepted by a person", head)
    assert [(check["name"], check["exit"]) for check in evidence["checks"]] == [("test", 0)]
    assert project.trailer("Ralphy-Event") == "accepted US-002 login"
    assert project.loop().runs == ["qa"]
    assert_clean(project)


def test_a_persons_word_completes_a_story_only_when_what_is_committed_is_green(begun: Begun) -> None:
    project, call = begun
    project.switch()
    (project.repo / "src" / "mine.py").write_text("BROKEN = 1\n")
    project.commit("feat: by hand", "src/mine.py")
    code, value = call.json("story", "done", "US-002")
    assert code == 4
    assert "src/mine.py::works" in value["error"]["message"]
    assert project.story("US-002")["passes"] is False
    project.git("reset", "--quiet", "--soft", "HEAD~1")
    project.git("reset", "--quiet")
    tip = project.tip
    assert call("story", "done", "US-002")[0] == 0  # what is not committed is not tested
    assert project.story("US-002")["evidence"]["base"] == tip
    assert (project.repo / "src" / "mine.py").read_text() == "BROKEN = 1\n"


def test_a_story_is_not_done_before_there_is_a_branch_and_before_what_it_depends_on(made: Make, begun: Begun) -> None:
    project, call = begun
    call("story", "add", "Sign out", "--after", "US-002")
    assert call("story", "done", "US-003")[0] == 4
    project, call = made(*TWO)
    assert call("story", "done", "US-001")[0] == 4
    assert "status" not in project.story("US-001")


def test_a_question_about_a_story_that_is_done_is_gone(made: Make) -> None:
    project, call = made(story("US-001"))
    project.play(stories={"US-001": [{"question": "Which colour?"}]})
    assert project.loop().code == 10
    assert "Which colour?" in project.read("QUESTIONS.md")
    assert call("story", "done", "US-001")[0] == 0
    assert "Which colour?" not in project.read("QUESTIONS.md")
    assert_clean(project)


def test_off_the_features_branch_a_change_is_made_on_it(begun: Begun) -> None:
    project, call = begun
    assert call("story", "add", "X")[0] == 0
    project.git("switch", "--quiet", "--detach", "main")
    assert call("redo", "US-001")[0] == 0
    assert project.statuses() == {"US-001": "pending", "US-002": "pending", "US-003": "pending"}
    assert '"US-003"' in project.code("docs/features/login/prd.json")
    assert_clean(project)


def test_what_a_dead_run_left_is_cleared_before_a_change(made: Make) -> None:
    project, call = made(*TWO)
    bell = Bell(project.repo.parent / "bell")
    project.play(stories={"US-001": [{"write": {"src/half.py": "HALF = 1\n"}, "run": bell.ring, "hang": True}]})
    with project.start("loop") as process:
        bell.wait()
        process.kill()
    code, _, said = call("story", "fail", "US-001")
    assert code == 0, said
    assert project.statuses() == {"US-001": "failed", "US-002": "pending"}
    assert not (project.repo / "src" / "half.py").exists()
    assert_clean(project)


def test_validate_warns_of_a_document_that_is_named_and_missing(made: Make) -> None:
    _, call = made(story("US-001", context={"parent_brief": "docs/gone.md"}))
    code, out, _ = call("validate")
    assert code == 0
    assert 'warning: userStories[0].context.parent_brief names "docs/gone.md", which does not exist' in out


def test_validate_looks_at_a_feature_that_ralphy_has_excluded_from_git(begun: Begun) -> None:
    project, call = begun
    project.write("prd.json", "{")
    project.write(".ralphy/config.yaml", "limits: {max_attemps: 3}\n")
    assert project.git("status", "--porcelain") == ""

    assert call("validate", "login")[0] == 3
    code, _, said = call("validate")
    assert (code, "docs/features/login/prd.json:1" in said, "docs/features/login/.ralphy/config.yaml:1" in said) == (
        3, True, True,
    )  # fmt: skip
