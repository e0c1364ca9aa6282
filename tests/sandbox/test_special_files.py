"""FIFOs where Git or Ralphy reads: who only looks neither waits for them nor takes them away."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.engine.building import Project, build, story


@pytest.fixture
def piped(tmp_path: Path) -> Project:
    project = build(tmp_path, story("US-001"))
    for name in (".gitignore", ".gitattributes"):
        (project.repo / "sub").mkdir(exist_ok=True)
        os.mkfifo(project.repo / "sub" / name)
    (project.repo / "sub" / "file").write_text("x")
    return project


def test_a_kept_view_is_not_waited_for_either(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    assert project.call("status")[0] == 0
    (project.repo / "sub").mkdir()
    os.mkfifo(project.repo / "sub" / ".gitignore")
    assert project.call("status")[0] == 0


@pytest.mark.parametrize("folder", ["", "notes"])
def test_a_fifo_among_the_documents_is_not_waited_for(tmp_path: Path, folder: str) -> None:
    project = build(tmp_path, story("US-001"))
    assert project.call("loop")[0] == 10
    (project.folder / "notes").mkdir()
    project.write("notes/later.md", "still open\n")
    rules = project.folder / folder / ".gitignore"
    rules.unlink(missing_ok=True)  # Ralphy's own
    os.mkfifo(rules)
    for words in ("status", "why"):
        assert project.call(words)[0] == 0


@pytest.mark.parametrize("words", [("status",), ("why",), ("loop", "--dry-run"), ("validate",)], ids=" ".join)
def test_a_look_ends_and_leaves_a_fifo_where_it_is(piped: Project, words: tuple[str, ...]) -> None:
    code, said = piped.call(*words)
    assert code in (0, 4, 10), said
    assert [stat.S_ISFIFO((piped.repo / "sub" / name).stat().st_mode) for name in (".gitignore", ".gitattributes")] == [
        True, True,
    ]  # fmt: skip
