"""FIFOs where Git or Ralphy reads: who only looks neither waits for them nor takes them away."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tests.engine.building import build, story


def test_a_kept_view_is_not_waited_for_either(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    assert project.call("status")[0] == 0
    (project.repo / "sub").mkdir()
    os.mkfifo(project.repo / "sub" / ".gitignore")
    assert project.call("status")[0] == 0


def test_a_fifo_among_the_documents_is_not_waited_for(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    assert project.loop().code == 10
    (project.folder / "notes").mkdir()
    project.write("notes/later.md", "still open\n")
    for folder in ("", "notes"):
        rules = project.folder / folder / ".gitignore"
        rules.unlink(missing_ok=True)  # Ralphy's own
        os.mkfifo(rules)
        assert [project.call(word)[0] for word in ("status", "why")] == [0, 0]


def test_a_look_ends_and_leaves_a_fifo_where_it_is(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    pipes = [project.repo / "sub" / name for name in (".gitignore", ".gitattributes")]
    (project.repo / "sub").mkdir()
    (project.repo / "sub" / "file").write_text("x")
    for pipe in pipes:
        os.mkfifo(pipe)
    for words in (("status",), ("why",), ("loop", "--dry-run"), ("validate",)):
        code, said = project.call(*words)
        assert code in (0, 4, 10), said
        assert [stat.S_ISFIFO(pipe.stat().st_mode) for pipe in pipes] == [True, True]
