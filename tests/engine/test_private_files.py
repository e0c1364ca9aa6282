"""Private files: what runs leave in a feature folder is for nobody's commit, whichever branch is looked at."""

from __future__ import annotations

from pathlib import Path

from tests.engine.building import Project, build, story, works


def seen_on_main(project: Project) -> str:
    project.git("switch", "--quiet", "main")
    return project.git("status", "--porcelain", "--untracked-files=all")


def meddled(tmp_path: Path) -> Project:
    """A feature whose agent approved it in the checkout, so that there is something set aside."""
    project = build(tmp_path, story("US-001"))
    project.play(stories={"US-001": [works(run=["touch", str(project.folder / "APPROVED")])]})
    project.loop()
    return project


def test_nothing_private_shows_up_on_the_base_branch(tmp_path: Path) -> None:
    project = meddled(tmp_path)
    assert project.prompts("US-001")
    assert project.set_aside()
    assert not [row for row in seen_on_main(project).splitlines() if ".ralphy/" in row]


def test_a_gitignore_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    ignore = project.folder / ".ralphy" / "runs" / ".gitignore"
    ignore.parent.mkdir(parents=True, exist_ok=True)
    ignore.write_text("*\n!kept.txt\n")
    project.play(stories={"US-001": [works()]})
    project.loop()
    assert ignore.read_text() == "*\n!kept.txt\n"
    assert project.landed() == ["login/US-001"]
