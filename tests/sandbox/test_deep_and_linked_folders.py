"""Folders that an agent nests thousands deep, or makes links of: nothing crashes, nothing outside is touched."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralphy.files.tree_walk import remove
from tests.engine.building import ROOT, build, story, works

NEST = """
import os, sys
os.makedirs(sys.argv[1], exist_ok=True)
os.chdir(sys.argv[1])
for _ in range(int(sys.argv[2])):
    os.mkdir("d")
    os.chdir("d")
open("file", "w").write("x")
"""


@pytest.fixture(autouse=True)
def cleared(tmp_path: Path) -> Iterator[None]:
    """pytest itself fails over folders that are too deep for it."""
    yield
    remove(tmp_path)


@pytest.mark.attempt(40)
@pytest.mark.parametrize(
    ("where", "depth"),
    # Deeper than Python recurses; Git's own time grows with the square of the depth.
    [("{{outbox}}/deep", 3000), ("deep", 1100), pytest.param("deep", 1500, marks=pytest.mark.soak)],
)
def test_thousands_of_nested_folders_crash_neither_the_run_nor_a_later_start(
    tmp_path: Path, where: str, depth: int
) -> None:
    project = build(tmp_path, story("US-001"), story("US-002"), limits={"max_attempts": 1})
    project.play(stories={"US-001": [works(run=[[sys.executable, "-c", NEST, where, str(depth)]])], "*": [works()]})
    ended = project.loop()
    assert project.statuses()["US-002"] == "completed", ended.text


@pytest.mark.attempt(41)
def test_gc_removes_nothing_through_a_link(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    kept = tmp_path / "Documents"
    for number in range(210):
        (kept / "runs" / f"{number:03}").mkdir(parents=True)
    for folder in (kept, kept / "outbox", kept / "set-aside"):
        folder.mkdir(exist_ok=True)
        (folder / "letter.txt").write_text("dear")
    for name, linked in (("yy", ".ralphy"), ("zz", ".ralphy/outbox")):
        place = project.repo / "docs" / "features" / name
        (place / linked).parent.mkdir(parents=True)
        (place / "PRD.md").write_text(f"# {name}")
        (place / linked).symlink_to(kept)
    later = "import time; now = time.time(); time.time = lambda: now + 1e7; from ralphy.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-P", "-c", later, "gc"], cwd=project.repo, env={**project.env, "PYTHONPATH": str(ROOT)},
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(list((kept / "runs").iterdir())) == 210
    assert [(kept / folder / "letter.txt").exists() for folder in (".", "outbox", "set-aside")] == [True] * 3
