"""Where main tracks a feature's documents its versions stand in the checkout: nothing freezes, nothing is refused."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ralphy.engine.feature.documents import to_read
from tests.engine.branching import opened
from tests.engine.building import ONE_RUN, PRD_MD, Project, build, drive, reports, story, works
from tests.engine.driver import KILLED
from tests.sampling import sampled

SPEC = "# Login\n\n## US-001\n\nSign in.\n\n## US-002\n\nSign out.\n"
NEWER = SPEC.replace("Sign in.", "Sign in with a key.")
TO_SEE = "to read Ralphy's: "


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Two stories, planned by hand and committed on main, which a person stays on."""
    made = build(tmp_path, story("US-001"), story("US-002", priority=2), gates={"spec": "human", "qa": "human"})
    made.write("PRD.md", f"{PRD_MD}\nNobody else signs in.\n")
    commit(made)
    drafted = json.dumps({"userStories": [story("US-001"), story("US-002", priority=2)]})
    made.play(
        spec=[{"outbox": {"SPEC.md": text, "stories.json": drafted}} for text in (SPEC, NEWER)],
        stories={"*": [works()]},
        qa=[reports()],
    )
    return made


def commit(project: Project) -> None:
    project.commit("docs: plan the login", ".")


def begun(project: Project) -> None:
    """The specification is approved, and the first story landed."""
    project.loop()
    project.approve()
    project.loop(**ONE_RUN)
    assert project.landed() == ["login/US-001"]


def printed(project: Project, *words: str) -> str:
    """What `ralphy` says, on stdout and stderr."""
    with project.start(*words, stdout=subprocess.PIPE) as process:
        out, error = process.communicate(timeout=120)
    return out + error


def pasted(project: Project, text: str) -> str:
    """What the command prints that a text names, in a folder of the repository."""
    (command,) = {line.partition(TO_SEE)[2] for line in text.splitlines() if TO_SEE in line}
    return subprocess.run(["sh", "-ec", command], cwd=project.repo / "src", env=project.env, capture_output=True,
                          encoding="utf-8", check=True).stdout  # fmt: skip


def add_story(project: Project, story_id: str) -> None:
    prd = project.prd()
    prd["userStories"].append(story(story_id, priority=3))
    project.write("prd.json", json.dumps(prd, indent=2))


def on_branch(project: Project) -> list[str]:
    return [found["title"] for found in json.loads(project.code(f"{project.path}/prd.json"))["userStories"]]


@pytest.mark.parametrize("decides", [Project.approve, lambda project: project.write("REJECTED", "with a key")])
def test_a_word_on_a_document_of_main_is_written_on_the_branch(
    project: Project, decides: Callable[[Project], None]
) -> None:
    project.write("SPEC.md", SPEC)
    commit(project)
    assert project.loop().rest.reason.startswith("SPEC.md is ready for review")
    decides(project)
    project.loop(**ONE_RUN)
    assert project.git("status", "--short") == ""
    assert project.read("SPEC.md") == SPEC


def test_story_by_story_and_gate_by_gate_nothing_freezes_and_each_view_says_the_same(project: Project) -> None:
    of_main = project.code(f"{project.path}/prd.json", "main")
    project.loop()
    project.approve()
    for completed, done in enumerate(("US-001", "US-002", "qa", "pr")):
        said = printed(project, "loop", "login", "--max-iterations", "1")
        stories = min(completed + 1, 2)
        assert (project.read("prd.json") + "\n", project.git("status", "--porcelain")) == (of_main, ""), done
        status = printed(project, "status", "login")
        assert f"{stories} of 2 stories completed" in status
        assert project.read("TASKS.md").startswith(f"# Tasks: {stories} of 2 completed")
        tip = project.code(f"{project.path}/prd.json")
        assert pasted(project, said) == pasted(project, status) == tip, done
        assert [found["status"] for found in json.loads(tip)["userStories"]].count("completed") == stories
        for branch in (project.branch, "main"):
            project.switch(branch)
        if done == "qa":
            project.approve()

    assert "to merge it: git merge ralph/login" in said
    project.git("merge", "--quiet", "--no-edit", project.branch)
    assert set(project.statuses().values()) == {"completed"}
    assert project.git("status", "--porcelain") == ""
    assert TO_SEE not in printed(project, "status", "login")


def test_a_persons_edits_of_what_main_tracks_reach_the_branch_and_main_s_version_is_back(project: Project) -> None:
    project.write("TASKS.md", "# Tasks\n")
    commit(project)
    begun(project)
    of_main = project.read("prd.json"), project.read("PRD.md")

    add_story(project, "US-003")
    project.write("PRD.md", of_main[1].replace("sign in", "sign in with a key"))
    ended = project.loop(**ONE_RUN)
    assert "PRD.md, prd.json: your change is committed on ralph/login" in ended.text
    assert (project.read("prd.json"), project.read("PRD.md")) == of_main

    project.write("prd.json", of_main[0].replace("Story US-002", "Sign out"))
    project.write("PRD.md", of_main[1].replace("Nobody", "No robot"))
    project.loop(**ONE_RUN)

    assert on_branch(project) == ["Story US-001", "Sign out", "Story US-003"]
    both = of_main[1].replace("sign in", "sign in with a key").replace("Nobody", "No robot")
    assert project.code(f"{project.path}/PRD.md") == both
    assert (project.read("prd.json"), project.read("PRD.md")) == of_main
    assert project.git("status", "--porcelain") == ""

    project.write("PRD.md", of_main[1].replace("Nobody", "Not one robot"))
    ended = project.loop(**ONE_RUN)
    assert project.read("TASKS.md") == "# Tasks\n"
    assert "PRD.md: replaced by your version, which began with another one: git log -p ralph/login" in ended.text
    project.git("merge", "--quiet", "--no-edit", project.branch)


@pytest.mark.parametrize("point", sampled(["branch_made", "documents_noted"], "branch_made"))
def test_a_kill_while_the_branch_begins_leaves_nothing_modified(project: Project, point: str) -> None:
    assert drive(project, "die", point, "1") == KILLED

    project.loop()

    assert project.read("SPEC.md") == SPEC
    assert project.git("status", "--porcelain") == ""


def test_an_edit_that_a_person_has_staged_reaches_the_branch_and_stays_staged(project: Project) -> None:
    begun(project)
    add_story(project, "US-003")
    edited = project.read("prd.json")
    project.git("add", "--all")

    project.loop(**ONE_RUN)
    project.loop(**ONE_RUN)

    assert on_branch(project) == ["Story US-001", "Story US-002", "Story US-003"]
    assert project.read("prd.json") == edited
    assert project.git("status", "--porcelain") == f"M  {project.path}/prd.json"


def test_a_gate_shows_the_document_that_waits_and_not_the_one_that_main_tracks(project: Project) -> None:
    project.write("SPEC.md", "# Of an earlier round\n")
    commit(project)
    printed(project, "redo", "spec", "login")
    begun(project)
    assert project.code(f"{project.path}/SPEC.md") == SPEC
    printed(project, "redo", "spec", "login")

    said = printed(project, "loop", "login")

    assert project.read("SPEC.md") == "# Of an earlier round\n"
    assert "SPEC.md is ready for review" in said
    assert pasted(project, said[said.index("SPEC.md is ready") :]) == project.code(f"{project.path}/SPEC.md")
    assert pasted(project, printed(project, "status", "login")) == NEWER
    with opened(project) as w:
        assert to_read(w, "SPEC.md").decode() == NEWER
    assert project.git("status", "--porcelain") == ""


def test_a_document_of_the_branch_that_is_removed_is_restored_with_a_message(project: Project) -> None:
    begun(project)
    project.write("notes.md", "Mind the keys.\n")
    project.loop(**ONE_RUN)
    (project.folder / "notes.md").unlink()

    said = printed(project, "loop", "login", "--no-wait")

    assert "notes.md: removed from docs/features/login; restored from ralph/login" in said
    assert project.read("notes.md") == "Mind the keys.\n"
