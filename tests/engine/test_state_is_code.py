"""State is code: reverting, resetting and redoing move the stories together with the code they made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.engine.building import Project, assert_clean, breaks, build, story, works
from tests.engine.nights import played_once
from tests.sampling import sampled


@played_once
def three(tmp_path: Path) -> Project:
    """Three stories, done; the second one had to be healed. A person stands on the branch."""
    project = build(tmp_path, story("US-001"), story("US-002"), story("US-003"))
    project.play(stories={"US-002": [breaks(), works()], "*": [works(learnings="- pattern: by {{story}}")]})
    project.loop()
    project.switch()
    return project


@pytest.mark.parametrize(
    "reverted", sampled([["US-001"], ["US-002"], ["US-003"], ["US-002", "US-001"]], ["US-002", "US-001"])
)
def test_reverted_stories_are_pending_and_done_again_once_in_any_order(three: Project, reverted: list[str]) -> None:
    for which in reverted:
        three.git("revert", "--no-edit", three.commit_of(which))

    assert three.git("status", "--porcelain") == ""
    log = three.read("progress.txt")
    assert all(f"{other} (attempt 1/5) - completed" in log for other in {"US-001", "US-003"} - {*reverted})
    assert {s for s, status in three.statuses().items() if status == "pending"} == {*reverted}
    for which in reverted:
        assert not (three.repo / "src" / f"{which.lower().replace('-', '_')}.py").exists()

    three.play(stories={"*": [works(append={"again.md": "{{story}}\n"})]})
    assert three.loop(agents=len(reverted)).runs == sorted(reverted)

    assert set(three.statuses().values()) == {"completed"}
    for which in reverted:
        assert three.landed().count(f"login/{which}") == 2
        assert three.trailer("Ralphy-Attempt", three.commit_of(which)) in ("1", "2")
    assert_clean(three)


def test_a_reverted_revert_brings_the_story_back_and_a_story_behind_it_stands_in_no_reverts_way(three: Project) -> None:
    three.git("revert", "--no-edit", three.commit_of("US-003"))
    three.git("revert", "--no-edit", "HEAD")

    assert three.loop().runs == []
    assert three.statuses()["US-003"] == "completed"

    added = three.prd()
    added["userStories"].append(story("US-004"))
    three.write("prd.json", json.dumps(added, indent=2) + "\n")
    three.loop(agents=1)
    three.git("revert", "--no-edit", three.commit_of("US-003"))

    assert three.git("status", "--porcelain") == ""
    assert {s for s, status in three.statuses().items() if status == "pending"} == {"US-003"}


def test_a_hard_reset_rewinds_code_and_state_together(three: Project) -> None:
    three.git("reset", "--quiet", "--hard", f"{three.commit_of('US-002')}~1")

    assert three.statuses() == {"US-001": "completed", "US-002": "pending", "US-003": "pending"}
    assert three.loop(agents=2).runs == ["US-002", "US-003"]
    assert three.landed() == ["login/US-001", "login/US-002", "login/US-003"]
    assert_clean(three)


def test_redo_of_a_story_makes_it_pending_and_counts_anew(three: Project) -> None:
    code, said = three.call("redo", "US-002", "login")

    assert code == 0, said
    assert three.statuses()["US-002"] == "pending"
    assert_clean(three)
    three.play(stories={"*": [{"append": {"src/{{slug}}.py": "AGAIN = 1\n"}}]})
    assert three.loop(agents=1).runs == ["US-002"]
    assert three.trailer("Ralphy-Attempt", three.commit_of("US-002")) == "1"


def test_redo_spec_writes_it_anew_and_keeps_the_stories(tmp_path: Path) -> None:
    project = build(tmp_path, limits={"max_iterations": 2})
    project.loop()
    assert project.landed() == ["login/US-001"]

    assert project.call("redo", "spec", "login")[0] == 0
    ended = project.loop()

    assert ended.runs == ["spec", "US-002"]
    assert project.landed() == ["login/US-001", "login/US-002"]
    assert_clean(project)


def test_reset_tries_failed_stories_again_and_a_kept_attempt_is_never_overwritten(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 1})
    project.play(stories={"US-001": [breaks(), breaks(), works()]})
    project.loop(agents=1)
    assert project.statuses() == {"US-001": "failed"}
    for _ in range(2):
        assert project.call("reset", "login")[0] == 0
        assert project.loop(agents=1).runs == ["US-001"]

    assert project.landed() == ["login/US-001"]
    kept = [f"refs/ralphy/login/US-001/attempt-{number}" for number in (1, 2)]
    assert project.refs("refs/ralphy/login/US-001") == kept
    assert_clean(project)
