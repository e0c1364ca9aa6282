"""What was once wrong: a lock that a person holds, editors' leftovers, and the words for an end."""

from __future__ import annotations

from pathlib import Path
from threading import Timer

import pytest

from ralphy.engine.runs.recover import close_stopped
from ralphy.errors import Conflict
from tests.engine.building import assert_clean, build, heard, open_feature, story, works


def test_a_lock_on_the_index_of_the_checkout_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ralphy.engine.feature.persons_git._LEFT_LOCK_S", 0.5)  # not ten seconds
    project = build(tmp_path, story("US-001"))
    (project.repo / "mine.txt").write_text("mine\n", encoding="utf-8")
    project.git("add", "mine.txt")
    lock = project.repo / ".git" / "index.lock"
    lock.touch()

    project.loop(agents=1)

    assert project.landed() == ["login/US-001"]
    assert lock.exists()
    lock.unlink()
    assert project.git("diff", "--cached", "--name-only") == "mine.txt"


def test_a_feature_begins_when_git_lets_go_of_the_index(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    lock = project.repo / ".git" / "index.lock"
    lock.touch()
    release = Timer(1.0, lock.unlink)
    release.start()

    ended = project.loop(agents=1)
    release.join()

    assert "ignored" not in ended.text
    assert project.landed() == ["login/US-001"]
    assert_clean(project)


LEFTOVERS = [".PRD.md.swp", "PRD.md.swo", "PRD.md~", "#PRD.md#", ".#PRD.md", ".DS_Store", "stories/US-001.md~"]


def test_leftovers_and_settings_are_not_committed_but_by_a_person_and_odd_names_stop_nothing(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    for name in LEFTOVERS:
        project.write(name, "half a thought\n")
    (project.folder / ".prd.json.tmp-1" / "inner").mkdir(parents=True)
    project.write(".prd.json.tmp-2", "half of it")
    strays = [".ralphy/notes.txt", ".ralphy/config.yaml~", ".ralphy/prompts/.story.md.swp", ".ralphy/ralphy.mk",
              ".ralphy/schemas/prd.json"]  # fmt: skip
    for path in strays:
        (project.repo / path).parent.mkdir(parents=True, exist_ok=True)
        (project.repo / path).write_text("text\n", encoding="utf-8")
    tracked = project.repo / ".ralphy" / "tracked.txt"
    tracked.write_text("old\n", encoding="utf-8")
    project.git("add", "--force", ".ralphy/tracked.txt")
    project.git("commit", "--quiet", "-m", "chore: a file of a person")
    deep = "/".join(["d" * 40] * 6)
    ignored = [["mkdir", "-p", deep], ["touch", f"{deep}/of-a-check.log", "e" * 250 + ".log"]]
    project.play(stories={"US-001": [works(run=ignored, append={".ralphy/tracked.txt": "new\n"})]})

    project.loop(agents=1)

    committed = project.git("ls-tree", "-r", "--name-only", project.branch).split("\n")
    assert project.landed() == ["login/US-001"]
    assert project.files_of(project.commit_of("US-001"))[-1] == "src/us_001.py"
    assert not {Path(path).name for path in committed} & {Path(name).name for name in (*LEFTOVERS, *strays[:3])}
    kept = [path for path in project.code_files() if path.startswith(".ralphy/")]
    assert kept == [".ralphy/config.yaml", ".ralphy/tracked.txt"]
    assert tracked.read_text() == project.code(".ralphy/tracked.txt") == "old\n"
    assert all((project.folder / name).exists() for name in LEFTOVERS)
    assert all((project.repo / path).exists() for path in strays)
    assert [path.name for path in project.folder.glob(".*.tmp-*")] == [".prd.json.tmp-1"]


def test_a_run_that_an_error_ended_is_recorded_with_the_error(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    said: list[str] = []
    with open_feature(project.repo, project.path, project.env) as w:
        w.listener = heard(said)
        w.record("run", step="story", story="US-001", attempt=1, run="r-1", mode="fresh",
                 green=project.git("rev-parse", "HEAD"), branch="main")  # fmt: skip
        with pytest.raises(Conflict):
            try:
                raise Conflict("the branch was moved")
            except Conflict:
                close_stopped(w)
                raise
    (end,) = project.journal("end")
    assert (end["outcome"], end["detail"]) == ("stopped", "it ended with an error: the branch was moved")
    assert "closed US-001, attempt 1: it ended with an error: the branch was moved" in said
