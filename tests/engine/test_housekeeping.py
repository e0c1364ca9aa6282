"""Housekeeping: old attempts are let go, what stays is packed, and nothing that somebody may want is touched."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from ralphy.config.values import Config, Limits
from ralphy.engine import housekeeping
from ralphy.engine.workspace.checkout import Checkout
from ralphy.errors import ExitCode
from ralphy.git import commands as git
from ralphy.git.run_lock import Lock
from ralphy.lanes.pool import Pool
from tests.engine.building import PATIENCE_S, Project, assert_clean, beside, breaks, build, story, works
from tests.engine.nights import played_once

DAY_S = 86400
LONG_AGO = int(time.time()) - 60 * DAY_S


@played_once
def tried(tmp_path: Path) -> Project:
    """A story with two failed attempts and a landed one, settings that keep three attempts of a story."""
    project = build(tmp_path, story("US-001"), limits={"keep_attempts": 3})
    project.play(stories={"US-001": [breaks(), breaks(), works()]})
    project.loop(agents=3)
    return project


@contextmanager
def looking(project: Project) -> Iterator[tuple[Checkout, Pool]]:
    checkout = Checkout.of(git.discover(project.repo, project.env))
    with closing(checkout), closing(housekeeping.pool_of(checkout, Config())) as pool:
        yield checkout, pool


def keep(project: Project, name: str, at: int) -> str:
    """A ref below refs/ralphy to a commit of its own that was made then."""
    env = {**project.env, "GIT_COMMITTER_DATE": f"{at} +0000", "GIT_AUTHOR_DATE": f"{at} +0000"}
    made = subprocess.run(["git", "commit-tree", "HEAD^{tree}", "-m", name], cwd=project.repo, env=env, check=True,
                          capture_output=True, encoding="utf-8")  # fmt: skip
    project.git("update-ref", f"refs/ralphy/login/{name}", made.stdout.strip())
    return f"refs/ralphy/login/{name}"


def test_the_newest_attempts_stay_and_all_of_two_weeks_and_what_is_packed_is_read_as_before(tried: Project) -> None:
    old = [keep(tried, f"US-009/attempt-{n}", LONG_AGO + n) for n in range(6)]
    young = [keep(tried, f"US-008/attempt-{n}", int(time.time()) - n) for n in range(6)]
    agents = keep(tried, "US-009/agent-r1", LONG_AGO)
    before, landed, reflog = tried.refs(), tried.landed(), tried.git("reflog", "--all")
    (tried.repo / "lost.txt").write_text("an hour's work\n")
    blob = tried.git("hash-object", "-w", "lost.txt")  # an object that a person may look for
    (tried.repo / "lost.txt").unlink()

    with tried.start("gc", "--json", stdout=subprocess.PIPE) as process:
        value = json.loads(process.communicate(timeout=PATIENCE_S)[0])

    assert (value["schema"], value["ok"], value["packed"]) == ("ralphy/gc@1", True, True)
    assert set(before) - set(tried.refs()) == set(old[:3]) == set(value["refs"])
    assert {*old[3:], *young, agents} <= set(tried.refs())
    assert tried.git("cat-file", "-p", blob) == "an hour's work"
    assert tried.git("reflog", "--all") == reflog
    assert not list((tried.repo / ".git" / "refs" / "ralphy").rglob("attempt-*"))
    tried.plan(*tried.prd()["userStories"], story("US-002"))
    tried.play(stories={"US-002": [breaks(), works()]})
    tried.loop(agents=2)
    assert tried.landed() == [*landed, "login/US-002"]
    assert [run["mode"] for run in tried.journal("run") if run.get("story") == "US-002"] == ["fresh", "heal"]
    assert_clean(tried)


def test_a_dry_run_names_what_would_go_and_touches_nothing(tried: Project) -> None:
    old = [keep(tried, f"US-009/attempt-{n}", LONG_AGO + n) for n in range(4)]
    before = tried.refs()
    with tried.start("gc", "--dry-run") as process:
        process.communicate(timeout=60)

    said = subprocess.run(
        ["git", "count-objects", "-v"], cwd=tried.repo, capture_output=True, encoding="utf-8", check=True
    )
    with looking(tried) as (checkout, pool):
        stale = housekeeping.look(checkout, Config(limits=Limits(keep_attempts=3)), pool, time.time())

    assert [ref for ref, _ in stale.refs] == old[:1]
    assert tried.refs() == before
    assert "count: 0" not in said.stdout.splitlines()


def test_old_outboxes_and_set_aside_files_go_and_young_ones_stay(tried: Project) -> None:
    for kind in ("outbox", "set-aside"):
        (tried.folder / ".ralphy" / kind / "one").mkdir(parents=True, exist_ok=True)
        (tried.folder / ".ralphy" / kind / "one" / "file").write_text("x")

    with looking(tried) as (checkout, pool):
        looks = [housekeeping.look(checkout, Config(), pool, time.time() + days * DAY_S) for days in (0, 2, 120)]
        swept = housekeeping.prune(checkout.repository, pool, looks[-1])

    counts = [{kind: len(paths) for kind, paths in stale.files.items()} for stale in looks]
    assert counts == [
        {"runs": 0, "outboxes": 0, "set_aside": 0},
        {"runs": 0, "outboxes": 1, "set_aside": 0},
        {"runs": 0, "outboxes": 1, "set_aside": 1},
    ]
    assert swept.files == {"runs": 0, "outboxes": 1, "set_aside": 1, "lanes": 0}
    assert not (tried.folder / ".ralphy" / "set-aside" / "one").exists()


def test_nothing_is_packed_while_somebody_works_in_another_worktree(tried: Project, tmp_path: Path) -> None:
    other = beside(tried, tmp_path / "other")
    place = git.discover(other.repo, other.env).checkout_dir / "lock"
    with Lock(place, "feature login"):
        code, said = tried.call("gc")

    assert code == ExitCode.CONFLICT
    assert f"pid {os.getpid()}" in said
    assert tried.call("gc")[0] == ExitCode.DONE


def test_a_loop_that_has_left_much_lying_about_packs_at_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(housekeeping, "_MOST_LOOSE_REFS", 1)
    project = build(tmp_path, story("US-001"))
    project.play(stories={"US-001": [breaks(), works()]})

    ended = project.loop(agents=2)

    assert any("packed loose objects and refs" in line for line in ended.said)
    assert int(project.git("count-objects").split()[0]) < 10
    assert project.landed() == ["login/US-001"]
    assert not any("packed loose" in line for line in project.loop(agents=0).said)
    assert_clean(project)
