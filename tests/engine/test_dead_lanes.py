"""What a dead run left in its lane is not laid over by another feature that runs first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.engine.building import build, drive, story, works


def test_another_feature_that_runs_first_leaves_the_work_of_a_dead_run_alone(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    other = replace(project, path="docs/features/other")
    other.plan(story("US-002"))
    project.play(stories={"US-001": [works()], "US-002": [works()]})

    assert drive(project, "die", "agent_ended", "1") == 137
    other.loop(agents=1)
    project.play(stories={"US-001": [{"say": "Nothing is left to do."}], "*": [works()]})
    project.loop(agents=1)

    assert other.landed() == ["other/US-002"]
    assert project.landed() == ["login/US-001"]
    assert project.code("src/us_001.py").strip() == "WORKS = 1"
