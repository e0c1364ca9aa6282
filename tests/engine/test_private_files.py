"""Private files: what runs leave in a feature folder is for nobody's commit, whichever branch is looked at."""

from __future__ import annotations

from pathlib import Path

from tests.engine.building import Project, build, story, works


def seen_on_main(project: Project) -> str:
    project.git("switch", "--quiet", "main")
    return project.git("status", "--porcelain", "--untracked-files=all")


def test_nothing_private_shows_up_on_the_base_branch_and_a_gitignore_that_is_there_stays(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    ignore = project.folder / ".ralphy" / "runs" / ".gitignore"
    ignore.parent.mkdir(parents=True)
    ignore.write_text("*\n!kept.txt\n")
    approves = ["touch", str(project.folder / "APPROVED")]  # it is set aside
    project.play(stories={"US-001": [works(run=approves)]})

    project.loop(agents=1)

    assert project.landed() == ["login/US-001"]
    assert project.prompts("US-001") and project.set_aside()
    assert not [row for row in seen_on_main(project).splitlines() if ".ralphy/" in row]
    assert ignore.read_text() == "*\n!kept.txt\n"
