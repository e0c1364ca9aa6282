"""Checks that write into tracked files: it is in nobody's commit and not in the checkout, and costs no attempt."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.building import Act, Project, assert_clean, breaks, build, story, works
from tests.sampling import sampled

WRITES = {
    "adds to it": "echo more >> report.txt",
    "removes it": "rm -f report.txt",
    "makes a folder of it": "rm -rf report.txt; mkdir report.txt; echo 1 > report.txt/part",
    "makes a link of it": "ln -sf check.py report.txt",
    "makes it executable": "chmod +x report.txt",
}


def writing(tmp_path: Path, script: str, *acts: Act) -> Project:
    """A project whose check changes a tracked file each time; the stories' agents do these acts."""
    ids = [f"US-{number:03}" for number in range(1, len(acts) + 1)]
    project = build(tmp_path, *map(story, ids), limits={"max_attempts": 1})
    (project.repo / "report.txt").write_text("old\n")
    (project.repo / "check.sh").write_text(f"{script}\npython3 check.py\n")
    project.commit("chore: a check that writes a report", "report.txt", "check.sh")
    project.configure(gates={"spec": "auto", "qa": "human"}, limits={"max_attempts": 1},
                      checks=[{"name": "test", "run": "sh check.sh"}])  # fmt: skip
    project.play(stories=dict(zip(ids, ([act] for act in acts), strict=True)))
    return project


@pytest.mark.parametrize("how", sampled(WRITES, "makes a folder of it"))
def test_what_the_checks_write_into_a_tracked_file_is_in_no_commit_not_even_a_persons(tmp_path: Path, how: str) -> None:
    project = writing(tmp_path, WRITES[how], breaks(), works(), works())

    project.loop(agents=3)

    assert project.landed() == ["login/US-002", "login/US-003"]
    assert project.git("ls-tree", project.branch, "report.txt").split()[0] == "100644"
    assert project.code("report.txt") == "old\n"
    assert (project.repo / "report.txt").read_text() == "old\n"
    assert_clean(project)
    assert project.call("story", "done", "login/US-001")[0] == 0  # what a person accepts is checked, too
    assert set(project.statuses().values()) == {"completed"}
    assert_clean(project)


def test_a_story_may_change_or_remove_that_file_itself(tmp_path: Path) -> None:
    changes = works(write={"report.txt": "new\n", "src/a.py": "A = 1\n"})
    project = writing(tmp_path, WRITES["makes a link of it"], changes, works(delete=["report.txt"]), works())

    project.loop(agents=3)

    first, *later = (project.commit_of(f"US-00{number}") for number in (1, 2, 3))
    assert project.code("report.txt", first) == "new\n"
    assert [project.git("ls-tree", commit, "report.txt") for commit in later] == ["", ""]
    assert_clean(project)
