"""A few chaotic nights, and a part of the sweep, on every run of the tests; `make chaos` and `make sweep` go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.chaos import one
from tests.faults.invariants import Known, broken_at_rest
from tests.faults.night import draw
from tests.faults.strikes import ORDINARY
from tests.faults.sweep import Point, count, feature, has_strace, points, strike
from tests.faults.world import world_of

SEEDS = (1, 2, 3, 4, 5, 6)
PART = 130  # every so many points


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.fault("P1", "P4", "P15", "F1", "G3", "G16", "A4")
def test_nothing_is_lost_or_done_twice_in_a_chaotic_night(tmp_path: Path, seed: int) -> None:
    night = one(seed, str(tmp_path))

    assert night.violations == [], night.log
    assert night.end in ("done", "open stories")


@pytest.mark.parametrize("seed", SEEDS[:3])
@pytest.mark.fault("P4", "P15")
def test_nothing_is_lost_or_done_twice_when_agents_work_side_by_side(tmp_path: Path, seed: int) -> None:
    night = one(seed, str(tmp_path), jobs=4)

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


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "NO_COLOR"):
            patch.setenv(name, "")  # put back at the end, whatever is set meanwhile
        return count(tmp_path_factory.mktemp("counted"))


@pytest.mark.skipif(not has_strace(), reason="strace is not there, or may not trace")
@pytest.mark.parametrize("share", range(2))
@pytest.mark.fault("P2", "F1", "F2")
def test_a_system_call_that_fails_or_kills_costs_nothing(counted: dict[str, int], tmp_path: Path, share: int) -> None:
    chosen = [point for point in points(counted) if point.operation != "git"][share * PART // 2 :: PART]
    assert why_broken(chosen, tmp_path) == {}


@pytest.mark.fault("P3")
def test_a_git_that_dies_or_fails_costs_nothing(counted: dict[str, int], tmp_path: Path) -> None:
    chosen = [point for point in points(counted) if point.operation == "git"][::8]
    assert why_broken(chosen, tmp_path) == {}


def why_broken(chosen: list[Point], tmp_path: Path) -> dict[str, tuple[str, ...]]:
    swept = [strike(point, str(tmp_path)) for point in chosen]
    assert sum(found.struck for found in swept) > len(swept) / 3, "hardly anything was struck"
    return {str(found.point): found.violations for found in swept if found.violations}
