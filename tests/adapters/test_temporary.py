"""Folders for a while: swept when their process has died, and nobody else's ever."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ralphy.files import temporary

MADE = "from ralphy.files import temporary; print(temporary.make('reports', '{owner}'))"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def of_the_dead(owner: str) -> Path:
    """A folder that a process made which has ended since."""
    done = subprocess.run([sys.executable, "-c", MADE.format(owner=owner)], capture_output=True, check=True, text=True)
    folder = Path(done.stdout.strip())
    (folder / "report.xml").write_text("<x/>")
    return folder


def test_those_in_a_folder_of_their_own_are_removed_too(place: Path) -> None:
    hidden = place / "hidden"
    hidden.mkdir()
    made = of_the_dead("one")
    folder = made.rename(hidden / made.name)

    assert temporary.sweep("one", hidden) == 1
    assert not folder.exists()


def test_those_of_the_living_and_of_other_checkouts_stay() -> None:
    mine, others = temporary.make("proxy", "one"), of_the_dead("another")

    assert temporary.sweep("one") == 0
    assert mine.is_dir()
    assert others.is_dir()


def test_a_link_with_such_a_name_leads_nowhere(place: Path) -> None:
    folder = of_the_dead("one")
    kept = place / "kept"
    folder.rename(kept)
    folder.symlink_to(kept)

    assert temporary.sweep("one") == 0
    assert (kept / "report.xml").exists()


def test_they_are_for_their_user_alone() -> None:
    assert temporary.make("reports", "one").stat().st_mode & 0o777 == 0o700
