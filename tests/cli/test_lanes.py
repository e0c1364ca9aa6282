"""lanes: each is listed with what it is used for, and goes when nobody uses it."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralphy.git.commands import discover
from ralphy.lanes.pool import Pool
from tests.cli.conftest import Call


@pytest.fixture
def pool(git_repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pool]:
    """Lanes 1 and clean-1 of the repository: the first had a story, and this process uses none."""
    monkeypatch.setenv("RALPHY_LANES_DIR", str(tmp_path / "lanes"))
    made = Pool(discover(git_repo), tmp_path / "lanes", None, "moderate")
    for lane in (made.agent(), made.clean()):
        (lane.home / "tree").mkdir(exist_ok=True)
        (lane.home / "tree" / "big").write_bytes(b"x" * (3 << 20))
    note = {"feature": "login", "story": "US-003", "since": time.time() - 7200, "kept": "the story failed"}
    (made.agent().home / "lane.json").write_text(json.dumps(note), encoding="utf-8")
    made.close()
    yield made
    made.close()


def test_lanes_are_listed_with_what_they_are_used_for(pool: Pool, call: Call, git_repo: Path) -> None:
    (git_repo / ".ralphy").mkdir()
    (git_repo / ".ralphy" / "config.yaml").write_text("checks: [{name: test, run: cd web}]\n", encoding="utf-8")
    code, out, err = call("lanes")
    assert (code, err) == (0, "")
    first, clean = out.splitlines()
    assert first == "1        laid out 2 h ago for login/US-003, 3 MB, kept: the story failed, free"
    assert clean.startswith("clean-1  laid out ")
    code, value = call.json("lanes")
    assert (code, value["schema"], value["folder"], value["freed_bytes"]) == (0, "ralphy/lanes@1", str(pool.folder), 0)
    facts = {key: value["lanes"][0][key] for key in ("name", "feature", "story", "kept", "pid")}
    assert facts == {"name": "1", "feature": "login", "story": "US-003", "kept": "the story failed", "pid": None}


def test_a_named_lane_goes_and_without_lanes_that_is_said(pool: Pool, call: Call) -> None:
    assert call("lanes", "--rm", "1", "--all")[0] == 3
    assert len(pool.listed()) == 2
    code, out, _ = call("lanes", "--rm", "1")
    assert (code, out.splitlines()[0]) == (0, "deleted 1 lane: 3 MB freed")
    assert [lane.name for lane in pool.listed()] == ["clean-1"]
    code, _, err = call("lanes", "--rm", "1")
    assert code == 2
    assert "there is no lane 1" in err
    assert call("lanes", "--all")[0] == 0
    assert call("lanes")[:2] == (0, "there are no lanes\n")


def test_a_lane_in_use_stays(pool: Pool, call: Call, git_repo: Path) -> None:
    pool.agent()
    code, _, err = call("lanes", "--rm", "1", "--rm", "clean-1")
    assert code == 4
    assert "lane 1 is in use: pid" in err
    assert len(pool.listed()) == 2
    code, out, _ = call("lanes", "--all")
    assert (code, [lane.name for lane in pool.listed()]) == (0, ["1"])
    assert "in use by pid" in out


@pytest.fixture
def left_over(pool: Pool, git_repo: Path, tmp_path: Path) -> Path:
    """The lane of a worktree that was removed, and that of one that is there."""
    for name in ("away", "here"):
        subprocess.run(["git", "worktree", "add", "-q", "-b", name, tmp_path / name], cwd=git_repo, check=True)
        other = Pool(discover(tmp_path / name), tmp_path / "lanes", None, "moderate")
        home = other.agent().home
        (home / "tree").mkdir()
        (home / "tree" / "big").write_bytes(b"x" * (2 << 20))
        other.close()
        if name == "away":
            found = home
    subprocess.run(["git", "worktree", "remove", "--force", tmp_path / "away"], cwd=git_repo, check=True)
    return found


def test_gc_deletes_the_lanes_of_a_removed_worktree_alone(left_over: Path, pool: Pool, call: Call) -> None:
    assert call.json("gc", "--dry-run")[1]["lanes"] == [str(pool.folder / "clean-1"), str(left_over.parent)]
    feature = pool._repository.root / "docs" / "features" / "login"
    feature.mkdir(parents=True)
    (feature / "PRD.md").write_text("# Login\n", encoding="utf-8")
    assert f"would delete: lane {left_over.parent}\n" in call("gc", "--dry-run")[1]
    code, out, _ = call("gc")
    assert code == 0
    assert "removed 1 lane" in out
    assert not left_over.exists()
    assert [lane.name for lane in pool.listed()] == ["1", "clean-1"]


def test_a_folder_of_lanes_that_came_with_the_repository_is_not_used(
    pool: Pool, call: Call, git_repo: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("RALPHY_LANES_DIR")
    settings = f"lanes: {{dir: {tmp_path / 'lanes'}}}\n"
    (git_repo / ".ralphy").mkdir()
    (git_repo / ".ralphy" / "config.yaml").write_text(settings, encoding="utf-8")
    assert len(call.json("lanes")[1]["lanes"]) == 2, "what a person wrote here holds"
    (git_repo / ".git" / "FETCH_HEAD").write_text("", encoding="utf-8")
    subprocess.run(["git", "add", ".ralphy"], cwd=git_repo, check=True)
    env = {**os.environ, "GIT_REFLOG_ACTION": "pull"}
    subprocess.run(["git", "commit", "-qm", "theirs"], cwd=git_repo, env=env, check=True)
    _, value = call.json("lanes")
    assert value["lanes"] == []
