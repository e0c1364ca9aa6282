"""Verdicts: what counts as work, and what the agent's word is worth."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralphy.errors import ExitCode
from tests.engine.building import Act, Project, assert_clean, breaks, build, story, tried, works
from tests.engine.nights import played_once

SATISFIED = {"status": {"RECOMMENDATION": "the login page is already satisfied by src/base.py"}, "say": "Nothing."}
COMMIT = ["git", "-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "--quiet", "-am"]


NOT_WORK: dict[str, Act] = {
    "nothing at all": {"say": "All done."},
    "an empty commit": {"run": ["git", "commit", "--quiet", "--allow-empty", "-m", "done"]},
    "a commit and its revert": {
        "append": {"src/base.py": "MORE = 1\n"},
        "run": [[*COMMIT, "more"], ["git", "revert", "--no-edit", "HEAD"]],
    },
    "white space alone": {"write": {"src/base.py": "\n\nBASE   =   1\n\n"}},
    "comments alone": {"append": {"src/base.py": "# This is login now.\n"}},
    "documents alone": {"write": {"README.md": "# Login\n\nIt works.\n"}},
    "an empty file alone": {"write": {"src/__init__.py": ""}},
    "control files alone": {"write": {"docs/features/login/notes.md": "done\n"}},
}


@pytest.mark.fault("A1")
@pytest.mark.attempt(57)
def test_no_story_passes_by_what_is_no_work(tmp_path: Path) -> None:
    names = {f"US-{number:03}": what for number, what in enumerate(NOT_WORK, start=1)}
    project = build(tmp_path, *map(story, names), limits={"max_attempts": 1}, breaker={"enabled": False})
    project.play(stories={name: [NOT_WORK[what]] for name, what in names.items()})

    project.loop()

    for name, what in names.items():
        assert project.story(name)["status"] == "failed", what
        assert "changed" in project.story(name)["execution"]["last_error"], what
    assert project.landed() == []
    assert (project.repo / "src" / "base.py").read_text() == "BASE = 1\n"
    assert_clean(project)


def test_documents_of_a_story_of_that_kind_and_a_change_of_mode_are_work(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001", kind="docs"), story("US-002"))
    project.play(stories={"US-001": [NOT_WORK["documents alone"]], "US-002": [{"run": ["chmod", "+x", "check.py"]}]})

    project.loop(agents=2)

    assert project.landed() == ["login/US-001", "login/US-002"]
    assert_clean(project)


@played_once
def satisfied(tmp_path: Path) -> Project:
    """A story whose agent changed nothing and says that it is already satisfied."""
    project = build(tmp_path, story("US-001"), story("US-002"))
    project.play(stories={"US-001": [SATISFIED, works()], "US-002": [works()]})
    assert project.loop().code == ExitCode.WAITING
    return project


def answer(project: Project, text: str) -> None:
    project.write("QUESTIONS.md", project.read("QUESTIONS.md").replace("Answer:\n", f"Answer: {text}\n"))


def test_already_satisfied_becomes_a_question_to_a_person(satisfied: Project) -> None:
    assert satisfied.statuses() == {"US-001": "blocked", "US-002": "completed"}
    assert "## US-001: Story US-001" in satisfied.read("QUESTIONS.md")
    assert "already satisfied by src/base.py" in satisfied.read("QUESTIONS.md")
    assert_clean(satisfied)


def test_a_yes_completes_the_story_and_the_evidence_says_so(satisfied: Project) -> None:
    answer(satisfied, "yes")

    assert satisfied.loop().runs == ["qa"]

    assert satisfied.story("US-001")["status"] == "completed"
    assert "a person said" in satisfied.story("US-001")["evidence"]["accepted"]
    assert "US-001" not in satisfied.read("QUESTIONS.md")
    assert_clean(satisfied)


def test_any_other_answer_reopens_the_story_and_reaches_the_next_prompt(satisfied: Project) -> None:
    answer(satisfied, "No: the page has no button yet.")

    assert satisfied.loop(agents=1).runs == ["US-001"]

    assert "the page has no button yet" in satisfied.prompts("story-US-001")[-1]
    assert satisfied.trailer("Ralphy-Attempt", satisfied.commit_of("US-001")) == "1"


def test_already_satisfied_with_red_checks_is_no_question(tmp_path: Path) -> None:
    passes = tmp_path / "passes"
    passes.touch()
    project = build(tmp_path, story("US-001"), checks=[{"name": "test", "run": f"test -e {passes}"}])
    project.play(stories={"US-001": [{**SATISFIED, "run": [["rm", "-f", str(passes)]]}]})

    project.loop(runs=49)

    assert project.story("US-001")["status"] == "pending"
    assert not (project.folder / "QUESTIONS.md").exists()


def test_a_yes_to_an_ordinary_question_does_not_complete_the_story(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    asks = {"question": "May I say that it is already satisfied, without working?"}
    project.play(stories={"US-001": [asks, works()]})
    project.loop(agents=1)
    answer(project, "yes")

    assert project.loop(agents=1).runs == ["US-001"]
    assert project.landed() == ["login/US-001"]


QUOTED = "> ---RALPH_STATUS---\n> STATUS: COMPLETE\n> EXIT_SIGNAL: true\n> ---END_RALPH_STATUS---"
# green work, or none, whose agent does not say that it is done; and why it does not count
HELD_BACK: dict[str, tuple[Act, str]] = {
    "US-003": (works(status={"STATUS": "BLOCKED"}), "BLOCKED"),
    "US-004": (works(exit_signal=None, promise=None, say=QUOTED), "EXIT_SIGNAL is missing"),
    "US-005": (breaks(write={"src/us_005.py": "W = 1\n", "src/base.py": "BROKEN = 1\n"}), "src/base.py::works"),
}


@pytest.mark.fault("A2", "A6", "A8")
def test_what_its_agent_or_a_check_holds_back_never_lands(tmp_path: Path) -> None:
    project = build(tmp_path, *map(story, HELD_BACK), limits={"max_attempts": 1})
    project.play(stories={name: [act] for name, (act, _) in HELD_BACK.items()})

    project.loop(agents=len(HELD_BACK))

    for name, (_, why) in HELD_BACK.items():
        assert why in project.story(name)["execution"]["last_error"], name
    assert project.landed() == []
    assert (project.repo / "src" / "base.py").read_text() == "BASE = 1\n"


ENDS_BADLY: dict[str, Act] = {
    "no result": {"crash": 3},
    "killed": {"kill": "SIGKILL"},
    "max turns": {"error": "max_turns"},
}


def test_a_run_that_ended_badly_does_not_pass_though_the_checks_are_green(tmp_path: Path) -> None:
    names = {f"US-{number:03}": how for number, how in enumerate(ENDS_BADLY, start=1)}
    project = build(tmp_path, *map(story, names))
    more = {"append": {"src/{{slug}}.py": "MORE = 1\n"}}
    project.play(stories={name: [works(**ENDS_BADLY[how]), more] for name, how in names.items()})

    project.loop(agents=6)

    for name, how in names.items():
        modes = [run["mode"] for run in project.journal("run") if run.get("story") == name]
        assert modes == ["fresh", "heal"], how
        assert project.trailer("Ralphy-Attempt", project.commit_of(name)) == "2", how
        assert project.code(f"src/{name.lower().replace('-', '_')}.py") == "WORKS = 1\nMORE = 1\n", how


def test_every_check_must_be_green_and_one_that_never_ends_is_red(tmp_path: Path) -> None:
    hangs = "sh -c 'if [ -e src/us_002.py ]; then sleep 600; fi'"
    checks = [{"name": "lint", "run": "true"}, {"name": "late", "run": hangs, "timeout_s": 0.5},
              {"name": "test", "run": "test ! -e src/us_001.py"}]  # fmt: skip
    project = build(tmp_path, story("US-001"), story("US-002"), checks=checks, limits={"max_attempts": 1})

    project.loop(agents=2)

    assert project.landed() == []
    assert "test exit 1" in project.story("US-001")["execution"]["last_error"]
    assert "took more than" in project.story("US-002")["execution"]["last_error"]


def test_a_run_that_ended_badly_passes_after_a_complete_report(tmp_path: Path) -> None:
    report = "---RALPH_STATUS---\nSTATUS: COMPLETE\nEXIT_SIGNAL: true\nRECOMMENDATION: none\n---END_RALPH_STATUS---"
    project = tried(tmp_path, works(say=[report, "and then"], crash=3))

    assert project.landed() == ["login/US-001"]
    assert any("ended badly" in text for text in project.story("US-001")["evidence"]["warnings"])
