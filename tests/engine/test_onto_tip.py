"""A person commits on the feature's branch while an agent works: the work is merged onto that, and checked again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.engine.building import Project, build, person, reports, story, works


def committing(project: Project, path: str, text: str) -> dict[str, Any]:
    """An act in which somebody commits a file on the feature's branch while the agent works."""
    return {"run": person(project, f"""
        export GIT_INDEX_FILE=.git/index-of-a-person
        blob=$(printf %s '{text}' | git hash-object -w --stdin)
        git read-tree ralph/login
        git update-index --add --cacheinfo 100644,$blob,{path}
        tree=$(git write-tree)
        git update-ref refs/heads/ralph/login $(git commit-tree $tree -p ralph/login -m "by hand")
    """)}  # fmt: skip


def test_work_is_merged_onto_a_commit_that_came_meanwhile(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), story("US-002", priority=2), limits={"max_attempts": 2})
    meanwhile = committing(project, "src/us_002.py", "MINE = 1\n")
    project.play(stories={"US-001": [works(**committing(project, "src/mine.py", "MINE = 1\n"))],
                          "US-002": [works(**meanwhile), {"write": {"src/other.py": "OTHER = 1\n"}}]})  # fmt: skip

    ended = project.loop(agents=3)

    assert project.landed() == ["login/US-001", "login/US-002"]
    assert "by hand" in project.subjects()
    assert "; merging US-001 onto it" in ended.text
    assert project.code("src/mine.py") == project.code("src/us_002.py") == "MINE = 1\n"
    assert project.code("src/us_001.py") == "WORKS = 1\n"
    assert "it conflicts with what was committed meanwhile, in src/us_002.py" in ended.text


def test_what_is_red_on_the_merged_tree_does_not_land(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 1})
    project.play(stories={"US-001": [works(**committing(project, "src/mine.py", "BROKEN = 1\n"))]})

    project.loop(agents=1)

    assert project.landed() == []
    assert "on top of what was committed meanwhile" in project.story("US-001")["execution"]["last_error"]


def test_a_review_of_code_that_changed_meanwhile_is_repeated_and_says_why(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    project.play(stories={"*": [works()]}, qa=[
        {**reports(), **committing(project, "src/mine.py", "MINE = 1\n")}, reports(),
    ])  # fmt: skip

    ended = project.loop()

    assert "somebody moved the branch while the agent worked; the run is repeated" in ended.text
    assert "error" not in ended.text
    assert "by hand" in project.subjects() and project.read("QA_REPORT.md")
    assert len(project.prompts("qa")) == 2
