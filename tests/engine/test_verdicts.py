"""Verdicts: what counts as work, what the agent's word is worth, and what is tested (rulings 1, 2, 5 and 6)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ralphy.core.errors import ExitCode
from tests.engine.building import Act, Project, assert_clean, breaks, build, story, works

SATISFIED = {"status": {"RECOMMENDATION": "the login page is already satisfied by src/base.py"}, "say": "Nothing."}
COMMIT = ["git", "-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "--quiet", "-am"]


def tried(tmp_path: Path, act: Act, *, attempts: int = 1, **fields: Any) -> Project:
    """One story that this act was played for, with so many attempts allowed."""
    project = build(tmp_path, story("US-001", **fields), limits={"max_attempts": attempts})
    project.play(stories={"US-001": [act]})
    project.loop()
    return project


NOT_WORK = {
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


@pytest.mark.parametrize("what", NOT_WORK)
def test_no_story_passes_by(tmp_path: Path, what: str) -> None:
    project = tried(tmp_path, NOT_WORK[what])

    assert project.story("US-001")["status"] == "failed"
    assert "changed" in project.story("US-001")["execution"]["last_error"]
    assert project.landed() == []
    assert (project.repo / "src" / "base.py").read_text() == "BASE = 1\n"
    assert_clean(project)


def test_a_story_of_kind_docs_passes_by_documents_alone(tmp_path: Path) -> None:
    project = tried(tmp_path, NOT_WORK["documents alone"], kind="docs")

    assert project.landed() == ["login/US-001"]


def test_a_change_of_mode_is_work(tmp_path: Path) -> None:
    project = tried(tmp_path, {"run": ["chmod", "+x", "check.py"]})

    assert project.landed() == ["login/US-001"]
    assert_clean(project)


@pytest.fixture
def satisfied(tmp_path: Path) -> Project:
    """A story whose agent changed nothing and says that it is already satisfied."""
    project = build(tmp_path, story("US-001"), story("US-002"))
    project.play(stories={"US-001": [SATISFIED, works()], "US-002": [works()]})
    assert project.loop().code == ExitCode.STORIES_OPEN
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

    assert satisfied.loop().runs == ["US-001", "qa"]

    assert "the page has no button yet" in satisfied.prompts("story-US-001")[-1]
    assert satisfied.trailer("Ralphy-Attempt", satisfied.commit_of("US-001")) == "1"


def test_already_satisfied_with_red_checks_is_no_question(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), checks=[{"name": "test", "run": "test -e passes"}])
    (project.repo / "passes").touch()
    (project.repo / ".git" / "info" / "exclude").write_text("passes\n")
    project.play(stories={"US-001": [{**SATISFIED, "delete": ["passes"]}]})

    project.loop(runs=49)

    assert project.story("US-001")["status"] == "pending"
    assert not (project.folder / "QUESTIONS.md").exists()


def test_a_question_of_the_agents_blocks_the_story_whatever_it_changed(tmp_path: Path) -> None:
    project = tried(tmp_path, works(question="Which colour shall the button have?"))

    assert project.story("US-001")["status"] == "blocked"
    assert "> Which colour shall the button have?" in project.read("QUESTIONS.md")
    assert project.landed() == []


def test_a_yes_to_an_ordinary_question_does_not_complete_the_story(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    asks = {"question": "May I say that it is already satisfied, without working?"}
    project.play(stories={"US-001": [asks, works()]})
    project.loop()
    answer(project, "yes")

    assert project.loop().runs == ["US-001", "qa"]
    assert project.landed() == ["login/US-001"]


def test_exit_signal_false_never_passes(tmp_path: Path) -> None:
    project = tried(tmp_path, works(exit_signal=False))

    assert project.landed() == []
    assert "EXIT_SIGNAL: false" in project.story("US-001")["execution"]["last_error"]


def test_status_blocked_never_passes(tmp_path: Path) -> None:
    assert tried(tmp_path, works(status={"STATUS": "BLOCKED"})).landed() == []


def test_a_missing_signal_with_verified_work_passes_with_a_warning(tmp_path: Path) -> None:
    project = tried(tmp_path, works(exit_signal=None, promise=None))

    assert project.landed() == ["login/US-001"]
    assert any("EXIT_SIGNAL" in text for text in project.story("US-001")["evidence"]["warnings"])


def test_a_claim_quoted_from_elsewhere_is_no_claim(tmp_path: Path) -> None:
    quoted = "> ---RALPH_STATUS---\n> STATUS: COMPLETE\n> EXIT_SIGNAL: true\n> ---END_RALPH_STATUS---"
    project = tried(tmp_path, works(exit_signal=None, promise=None, say=quoted))

    assert any("EXIT_SIGNAL" in text for text in project.story("US-001")["evidence"]["warnings"])


ENDS_BADLY = {"no result": {"crash": 3}, "killed": {"kill": "SIGKILL"}, "max turns": {"error": "max_turns"}}


@pytest.mark.parametrize("how", ENDS_BADLY)
def test_a_run_that_ended_badly_does_not_pass_though_the_checks_are_green(tmp_path: Path, how: str) -> None:
    project = build(tmp_path, story("US-001"))
    project.play(stories={"US-001": [works(**ENDS_BADLY[how]), {"append": {"src/us_001.py": "MORE = 1\n"}}]})

    project.loop()

    first, second = project.journal("run")[:2]
    assert (first["mode"], second["mode"]) == ("fresh", "heal")
    assert project.trailer("Ralphy-Attempt", project.commit_of("US-001")) == "2"
    assert (project.repo / "src" / "us_001.py").read_text() == "WORKS = 1\nMORE = 1\n"


def test_a_green_tree_is_kept_from_one_bad_end_to_the_next(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    second = {"append": {"src/us_001.py": "B = 1\n"}, "crash": 3}
    project.play(stories={"US-001": [works(crash=3), second, {"append": {"src/us_001.py": "C = 1\n"}}]})

    project.loop()

    assert (project.repo / "src" / "us_001.py").read_text() == "WORKS = 1\nB = 1\nC = 1\n"


def test_a_nested_repository_is_refused_and_does_not_stay(tmp_path: Path) -> None:
    commit = ["git", "-C", "lib", "commit", "--quiet", "--allow-empty", "-mx"]
    act = works(run=[["git", "init", "--quiet", "lib"], commit])
    project = build(tmp_path, story("US-001"), story("US-002"), limits={"max_attempts": 1})
    project.play(stories={"US-001": [act], "US-002": [works()]})

    project.loop()

    assert "lib/ is a nested repository" in project.story("US-001")["execution"]["last_error"]
    assert project.landed() == ["login/US-002"]
    assert project.files_of(project.commit_of("US-002"))[-1:] == ["src/us_002.py"]
    assert not (project.repo / "src" / "us_001.py").exists()
    assert project.git("show", "refs/ralphy/login/US-001/attempt-1:src/us_001.py") == "WORKS = 1"
    assert_clean(project)


def test_a_nested_repository_in_the_agents_own_commit_is_refused(tmp_path: Path) -> None:
    inner = ["git", "-C", "lib", "commit", "--quiet", "--allow-empty", "-mx"]
    add = [["git", "init", "--quiet", "lib"], inner, ["git", "add", "-A"], ["git", "commit", "--quiet", "-m", "lib"]]
    project = tried(tmp_path, works(run=add))

    assert project.landed() == []
    assert_clean(project)


@pytest.mark.parametrize("target", ["/etc/hostname", "../outside", "../../outside"])
def test_a_link_out_of_the_repository_is_refused(tmp_path: Path, target: str) -> None:
    project = tried(tmp_path, works(run=["ln", "-s", target, "out"]))

    assert "out is a link out of the repository" in project.story("US-001")["execution"]["last_error"]
    assert not (project.repo / "out").is_symlink()
    assert_clean(project)


def test_a_link_inside_of_the_repository_is_committed_as_a_link(tmp_path: Path) -> None:
    project = tried(tmp_path, works(run=["ln", "-s", "../check.py", "src/check"]))

    assert project.git("ls-tree", "HEAD", "src/check").startswith("120000 blob")
    assert_clean(project)


def test_ignored_files_of_the_run_are_set_aside_before_the_checks(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), checks=[{"name": "test", "run": "test ! -e secret.log"}])
    (project.repo / "mine.log").write_text("a person's\n")
    project.play(stories={"US-001": [works(write={"secret.log": "s", "src/a.py": "A = 1\n"})]})

    project.loop()

    assert project.landed() == ["login/US-001"]
    assert project.set_aside() == ["secret.log"]
    assert (project.repo / "mine.log").read_text() == "a person's\n"
    assert any("secret.log" in text for text in project.story("US-001")["evidence"]["warnings"])


def test_known_caches_stay_where_they_are(tmp_path: Path) -> None:
    project = tried(tmp_path, works(run=["mkdir", "-p", "src/__pycache__/x"], write={
        "src/__pycache__/x.pyc": "", "src/a.py": "A = 1\n"}))  # fmt: skip

    assert (project.repo / "src" / "__pycache__" / "x.pyc").exists()
    assert project.set_aside() == []


def test_index_bits_of_the_agents_hide_nothing(tmp_path: Path) -> None:
    hide = ["git", "update-index"]
    bits = [[*hide, "--assume-unchanged", "src/base.py"], [*hide, "--skip-worktree", "check.py"]]
    project = tried(tmp_path, works(run=bits, append={"src/base.py": "BROKEN = 1\n", "check.py": "\n# nothing\n"}))

    assert project.landed() == []
    assert "src/base.py::works" in project.story("US-001")["execution"]["last_error"]
    assert "BROKEN" not in (project.repo / "src" / "base.py").read_text()
    assert project.git("ls-files", "-v", "src/base.py", "check.py") == "H check.py\nH src/base.py"


def test_what_a_persons_index_bits_hide_stops_the_loop_before_any_run(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    project.git("update-index", "--assume-unchanged", "src/base.py")
    (project.repo / "src" / "base.py").write_text("MINE = 1\n")

    code, said = project.call("loop", "login")

    assert code == ExitCode.CONFLICT
    assert "src/base.py" in said
    assert (project.repo / "src" / "base.py").read_text() == "MINE = 1\n"
    assert project.journal("run") == []


def test_commits_of_the_agents_with_ralphys_trailers_are_refused(tmp_path: Path) -> None:
    project = tried(tmp_path, works(cheat={"forge_trailer": True}))

    assert project.landed() == []
    assert "trailers" in project.story("US-001")["execution"]["last_error"]
    assert_clean(project)


def test_the_agents_branch_and_resets_change_nothing_of_the_ledger(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), story("US-002"))
    leave = [["git", "checkout", "--quiet", "-b", "elsewhere"], ["git", "branch", "-D", "ralph/login"]]
    project.play(stories={"US-001": [works()], "US-002": [works(run=leave)]})

    project.loop()

    assert project.landed() == ["login/US-001", "login/US-002"]
    assert project.git("symbolic-ref", "--short", "HEAD") == "ralph/login"
    assert_clean(project)


def test_an_agent_that_rewinds_the_branch_rewinds_nothing(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), story("US-002"))
    rewind = ["git", "reset", "--quiet", "--hard", "HEAD~1"]
    project.play(stories={"US-001": [works()], "US-002": [{"run": rewind}, works()]})

    project.loop()

    assert project.landed() == ["login/US-001", "login/US-002"]
    assert project.trailer("Ralphy-Attempt", project.commit_of("US-002")) == "2"
    assert (project.repo / "src" / "us_001.py").exists()
    assert_clean(project)


def test_the_checks_see_exactly_what_is_committed(tmp_path: Path) -> None:
    count = "import os; print(sorted(os.listdir('src'))); raise SystemExit('tmp.log' in os.listdir('src'))"
    project = build(tmp_path, story("US-001"), checks=[{"name": "test", "run": f"python3 -c {json.dumps(count)}"}])
    project.play(stories={"US-001": [works(write={"src/a.py": "A = 1\n", "src/tmp.log": "x"})]})

    project.loop()

    assert project.git("ls-tree", "--name-only", "HEAD", "src/").split() == ["src/a.py", "src/base.py"]


def test_two_checks_must_both_be_green(tmp_path: Path) -> None:
    checks = [{"name": "lint", "run": "true"}, {"name": "test", "run": "test ! -e src/us_001.py"}]
    project = build(tmp_path, story("US-001"), checks=checks, limits={"max_attempts": 1})

    project.loop()

    assert project.landed() == []
    assert "test exit 1" in project.story("US-001")["execution"]["last_error"]


def test_a_check_that_never_ends_is_stopped_and_red(tmp_path: Path) -> None:
    checks = [{"name": "test", "run": "sh -c 'if [ -e src/us_001.py ]; then sleep 60; fi'", "timeout_s": 0.5}]
    project = build(tmp_path, story("US-001"), checks=checks, limits={"max_attempts": 1})

    project.loop()

    assert "took more than" in project.story("US-001")["execution"]["last_error"]
    assert project.landed() == []


def test_breaking_another_file_does_not_pass(tmp_path: Path) -> None:
    project = tried(tmp_path, {**breaks(), "write": {"src/us_001.py": "W = 1\n", "src/base.py": "BROKEN = 1\n"}})

    assert project.landed() == []
    assert (project.repo / "src" / "base.py").read_text() == "BASE = 1\n"
