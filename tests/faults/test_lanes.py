"""What happens to a lane: it is removed, damaged, full, out of reach, or elsewhere; and it costs the person nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.engine.building import Project, assert_clean, build, drive, story, works
from tests.engine.driver import KILLED


def lanes_of(project: Project) -> Path:
    """The folder of the repository's lanes."""
    (found,) = (Path(project.env["HOME"]) / ".cache" / "ralphy" / "lanes").glob("repo-*")
    return found


@pytest.mark.fault("P1")
def test_work_on_top_of_kept_work_is_kept_when_ralphy_dies(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    first = {"write": {"src/us_001.py": "BROKEN = 1\n", "src/kept.py": "KEPT = 1\n"}}
    later = works(write={"src/later.py": "LATER = 1\n"})
    project.play(stories={"US-001": [first, later, {"delete": ["src/us_001.py"]}]})
    assert drive(project, "die", "agent_ended", "2") == KILLED

    ended = project.loop()

    assert ended.runs == ["US-001", "qa"]
    assert {"src/kept.py", "src/later.py"} <= set(project.code_files())


@pytest.mark.fault("L1")
@pytest.mark.parametrize("milestone", ["run_recorded", "laid_out", "agent_ended", "candidate_written", "judged"])
def test_lanes_that_are_removed_after_a_kill_cost_no_attempt(tmp_path: Path, milestone: str) -> None:
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 1})
    assert drive(project, "die", milestone, "1") == KILLED
    shutil.rmtree(lanes_of(project))

    ended = project.loop()

    assert project.landed() == ["login/US-001"], ended.text
    assert_clean(project)
