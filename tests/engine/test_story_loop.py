"""The story loop: which story is next, and what its one commit holds."""

from __future__ import annotations

import json
import re
from pathlib import Path

from ralphy.documents.prd_reader import check_prd
from ralphy.errors import ExitCode
from tests.engine.building import Project, assert_clean, build, story, works
from tests.engine.nights import played_once


@played_once
def two(tmp_path: Path) -> Project:
    """Two stories, both done; the second one's agent commits by itself."""
    project = build(tmp_path, story("US-001"), story("US-002"))
    mine = {**works(), "commit": "wip: half of it", "learnings": "- pattern: files live in src"}
    project.play(stories={"US-001": [works()], "US-002": [mine]})
    project.loop()
    return project


def test_a_story_is_one_valid_commit_with_code_control_files_and_trailers_and_nothing_else(two: Project) -> None:
    assert two.landed() == ["login/US-001", "login/US-002"]
    assert two.files_of(two.commit_of("US-002")) == [
        "docs/features/login/prd.json", "docs/features/login/progress.txt", "docs/features/login/stories/US-002.md",
        "src/us_002.py",
    ]  # fmt: skip
    assert "wip" not in two.git("log", "--all", "--format=%s")  # the agent's own commit

    commit = two.commit_of("US-001")

    assert two.git("log", "-1", "--format=%s", commit) == "feat(login): US-001 Story US-001"
    assert two.trailer("Ralphy-Story", commit) == "login/US-001"
    assert two.trailer("Ralphy-Attempt", commit) == "1"
    assert two.trailer("Ralphy-Run", commit) == two.journal("run")[0]["run"]
    assert float(two.trailer("Ralphy-Cost-USD", commit)) > 0

    there = json.loads(two.git("show", f"{two.commit_of('US-001')}:docs/features/login/prd.json"))
    first, second = there["userStories"]

    assert (first["status"], first["passes"]) == ("completed", True)
    assert (second["status"], second["passes"]) == ("pending", False)
    assert first["execution"]["files_modified"] == ["src/us_001.py"]
    assert first["evidence"]["checks"][0]["exit"] == 0

    written = two.git("show", f"{two.branch}:docs/features/login/prd.json")

    assert check_prd(written.encode(), "prd.json") == json.loads(written)
    assert_clean(two)


def test_learnings_and_commits_stand_in_the_progress_log_and_in_their_storys_document_alone(two: Project) -> None:
    log = two.read("progress.txt")

    assert log.index("- files live in src") < log.index("## [")
    assert log.count("## [") == 2
    assert "files live in src" in two.read("stories/US-002.md")
    assert two.read("stories/US-001.md").count("## [") == 1
    assert "US-002" not in two.read("stories/US-001.md")

    def named(commit: str) -> list[str]:
        return re.findall(r"^Commit: (\S+)$", two.git("show", f"{commit}:docs/features/login/progress.txt"), re.M)

    first, second = two.commit_of("US-001"), two.commit_of("US-002")
    assert named(first) == [] and named(second) == [first[:10]]
    assert named(two.branch) == [first[:10], second[:10]]
    entry = two.read("progress.txt").split("## [")[2]
    assert two.trailer("Ralphy-Run", second) in entry and f"Commit: {second[:10]}\n" in entry


def test_the_branch_is_the_one_that_the_prd_names_and_unknown_fields_survive(tmp_path: Path) -> None:
    project = build(tmp_path)
    (project.folder / "PRD.md").unlink()
    project.plan(story("US-001", mood="good"), branchName="feature/sign-in", team={"lead": "Ada"})

    project.loop(agents=1)

    subject = project.git("log", "-1", "--format=%s", "--grep=^Ralphy-Story", "feature/sign-in")
    assert subject.startswith("feat(login): US-001")
    assert project.git("symbolic-ref", "--short", "HEAD") == "main"
    assert project.prd()["team"] == {"lead": "Ada"}
    assert project.story("US-001")["mood"] == "good"


def test_files_that_an_agent_deletes_are_gone_and_the_tests_among_its_files_are_named(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    tests = ["src/FooTest.java", "src/a_test.go", "src/conftest.py", "src/login.spec.ts", "tests/data.py"]
    code = ["src/attestation.go", "src/contest.py", "src/latest.py"]
    write = dict.fromkeys((*tests, *code), "x = 1\n")
    project.play(stories={"US-001": [works(write=write, delete=["src/base.py"])]})

    project.loop(agents=1)

    assert "src/base.py" in project.files_of(project.commit_of("US-001"))
    assert "src/base.py" not in project.code_files()
    assert project.story("US-001")["testing"]["test_files"] == tests
    assert_clean(project)


def test_a_folder_with_nothing_but_a_prd_json_is_a_feature_its_path_names_it_and_no_other_branch_sees_it(
    tmp_path: Path,
) -> None:
    project = build(tmp_path, story("US-001", model="gpt"), path="[my] own/tasks")
    exclude = project.repo / ".git" / "info" / "exclude"
    exclude.write_text("# mine\n*.orig")
    project.commit("chore: tasks", "[my] own/tasks")

    code, said = project.call("loop", "./[my] own/tasks")

    assert (code, project.landed()) == (ExitCode.WAITING, ["tasks/US-001"])
    assert 'warning: US-001: "gpt" is not a model\'s name; using sonnet' in said
    assert next(entry["model"] for entry in project.journal("run")) == "sonnet"
    project.git("switch", "--quiet", "main")
    other = Project(project.repo, "docs/features/other", project.scenario, project.env)
    other.plan(story("US-002"))

    other.loop(agents=1)

    assert (project.folder / "TASKS.md").exists()
    assert other.landed() == ["other/US-002"]
    assert project.git("status", "--porcelain", "--untracked-files=all") == ""
    assert exclude.read_text() == "# mine\n*.orig\n/\\[my] own/tasks/\n/docs/features/other/\n"
