"""A chaotic night, and a few points of the sweep, on every run of the tests; `make chaos` and `make sweep` go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.chaos import one
from tests.faults.invariants import Known, broken_at_rest
from tests.faults.night import draw
from tests.faults.strikes import ORDINARY
from tests.faults.sweep import Point, feature, has_strace, strike
from tests.faults.world import world_of
from tests.sampling import sampled


# A night that Ralphy is killed and interrupted in, and one that a person works beside.
@pytest.mark.parametrize(("seed", "jobs"), sampled([(8, 1), (12, 4)], (12, 4)))
@pytest.mark.fault("P1", "P4", "P15", "F1", "G3", "G16", "A4")
def test_nothing_is_lost_or_done_twice_in_a_chaotic_night(tmp_path: Path, seed: int, jobs: int) -> None:
    night = one(seed, str(tmp_path), jobs)

    assert night.violations == [], night.log
    assert night.end in ("done", "open stories")


def test_a_seed_draws_the_same_night_again() -> None:
    first, second = draw(7), draw(7)
    assert (first.scenario, first.strikes, first.deeds) == (second.scenario, second.strikes, second.deeds)
    assert {strike.kind for seed in range(200) for strike in draw(seed).strikes} >= set(ORDINARY)


def test_a_violation_is_seen(tmp_path: Path) -> None:
    """What the nights look for is found when it is there."""
    project = feature(tmp_path)
    known = Known(project.git("rev-parse", "HEAD"), {project.repo / "mine": b"1"})
    project.loop()
    known.world = world_of(project)
    project.git("tag", "evil")
    project.switch()
    project.git("commit", "-q", "--allow-empty", "-m", "feat: twice\n\nRalphy-Story: login/US-001")
    (project.repo / "src" / "us_001.py").write_text("CHEAT = 1\n", encoding="utf-8")
    project.git("commit", "-qam", "feat: cheat\n\nRalphy-Story: login/US-001")
    (project.repo / "left").touch()

    found = "\n".join(broken_at_rest(project, known))

    for what in ("has 3 commits", "mine of the person is gone", "holds what was to be refused", "dirty: ?? left",
                 "refs/tags/evil is"):  # fmt: skip
        assert what in found


# Two of the thousands of points that `make sweep` strikes, in the middle of a landing.
POINTS = (Point("rename", "error=ENOSPC", 5), Point("git", "dies", 10))


@pytest.mark.fault("P2", "P3", "F1", "F2")
def test_an_operation_that_fails_or_kills_costs_nothing(tmp_path: Path) -> None:
    tried = [point for point in POINTS if point.operation == "git" or has_strace()]

    swept = [strike(point, str(tmp_path)) for point in tried]

    assert {str(found.point): found.violations for found in swept} == {str(point): () for point in tried}
    assert [str(found.point) for found in swept if not found.struck] == []
