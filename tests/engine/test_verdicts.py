"""Verdicts: what counts as work, and what the agent's word is worth."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralphy.errors import ExitCode
from tests.engine.building import Act, Project, assert_clean, build, story, works
from tests.engine.nights import played_once
from tests.sampling import sampled

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


SAMPLE = ["nothing at all", "an empty commit", "comments alone", "documents alone"]


@pytest.mark.fault("A1")
@pytest.mark.attempt(57)
@pytest.mark.parametrize("whats", [SAMPLE, pytest.param(sorted({*NOT_WORK} - {*SAMPLE}), marks=pytest.mark.soak)])
def test_no_story_passes_by_what_is_no_work(tmp_path: Path, whats: list[str]) -> None:
    names = {f"US-{number:03}": what for number, what in enumerate(whats, start=1)}
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


def test_already_satisfied_is_a_question_and_a_yes_completes_the_story(satisfied: Project) -> None:
    assert satisfied.statuses() == {"US-001": "blocked", "US-002": "completed"}
    assert "## US-001: Story US-001" in satisfied.read("QUESTIONS.md")
    assert "already satisfied by src/base.py" in satisfied.read("QUESTIONS.md")
    assert_clean(satisfied)
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


ENDS_BADLY: dict[str, Act] = {
    "no result": {"crash": 3},
    "killed": {"kill": "SIGKILL"},
    "max turns": {"error": "max_turns"},
}


@pytest.mark.parametrize("how", sampled(ENDS_BADLY, "no result"))
def test_a_run_that_ended_badly_passes_after_a_complete_report_alone(tmp_path: Path, how: str) -> None:
    report = "---RALPH_STATUS---\nSTATUS: COMPLETE\nEXIT_SIGNAL: true\nRECOMMENDATION: none\n---END_RALPH_STATUS---"
    project = build(tmp_path, story("US-001"), story("US-002"))
    more = {"append": {"src/{{slug}}.py": "MORE = 1\n"}}
    project.play(stories={"US-001": [works(**ENDS_BADLY[how]), more],
                          "US-002": [works(say=[report, "and then"], crash=3)]})  # fmt: skip

    project.loop(agents=3)

    assert [run["mode"] for run in project.journal("run")] == ["fresh", "heal", "fresh"]
    assert project.trailer("Ralphy-Attempt", project.commit_of("US-001")) == "2"
    assert project.code("src/us_001.py") == "WORKS = 1\nMORE = 1\n"
    assert project.landed() == ["login/US-001", "login/US-002"]
    assert any("ended badly" in text for text in project.story("US-002")["evidence"]["warnings"])


def test_every_check_must_be_green_and_one_that_never_ends_is_red(tmp_path: Path) -> None:
    hangs = "sh -c 'if [ -e src/us_002.py ]; then sleep 600; fi'"
    checks = [{"name": "lint", "run": "true"}, {"name": "late", "run": hangs, "timeout_s": 0.5},
              {"name": "test", "run": "test ! -e src/us_001.py"}]  # fmt: skip
    project = build(tmp_path, story("US-001"), story("US-002"), checks=checks, limits={"max_attempts": 1})

    project.loop(agents=2)

    assert project.landed() == []
    assert "test exit 1" in project.story("US-001")["execution"]["last_error"]
    assert "took more than" in project.story("US-002")["execution"]["last_error"]
