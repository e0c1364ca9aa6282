"""After a kill: what a person does before the next start stands, and is never taken for the agent's."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from ralphy.errors import ExitCode
from ralphy.pipeline.events import Landed
from tests.engine.building import Project, assert_clean, breaks, build, drive, reports, story, works
from tests.engine.driver import KILLED
from tests.engine.nights import played_once
from tests.sampling import sampled

FIRST, SECOND = "US-001", "US-002"


def killed(project: Project, name: str, nth: int = 1) -> Project:
    """The project after a Ralphy that died at this milestone."""
    assert drive(project, "die", name, str(nth)) == KILLED
    return project


@pytest.fixture
def two(tmp_path: Path) -> Project:
    return build(tmp_path, story(FIRST), story(SECOND))


@played_once
def died(tmp_path: Path) -> Project:
    """One story landed, and Ralphy died behind the second one's agent."""
    return killed(build(tmp_path, story(FIRST), story(SECOND)), "agent_ended", 2)


@played_once
def landing(tmp_path: Path) -> Project:
    """Ralphy died in the middle of the second story's landing."""
    return killed(build(tmp_path, story(FIRST), story(SECOND)), "refs_moved", 2)


def test_a_story_reverted_after_a_kill_stays_open(died: Project) -> None:
    died.switch()
    died.git("revert", "--no-edit", died.commit_of(FIRST))
    revert = died.git("rev-parse", "HEAD")

    ended = died.loop(agents=2)

    assert ended.runs == [FIRST, SECOND]
    assert revert in died.git("rev-list", f"main..{died.branch}").splitlines()
    assert died.landed() == ["login/US-001", "login/US-001", "login/US-002"]
    assert_clean(died)


def test_a_commit_that_was_just_landed_and_is_reverted_stays_open(landing: Project) -> None:
    landing.switch()
    landing.git("revert", "--no-edit", landing.commit_of(SECOND))

    ended = landing.loop(agents=1)

    assert ended.runs == [SECOND]
    assert landing.landed().count("login/US-002") == 2
    assert landing.subjects("Revert")
    assert_clean(landing)


@pytest.mark.fault("P1")
def test_a_kill_in_the_recovery_from_a_kill_loses_nothing_either(two: Project) -> None:
    """The last two come before the kept work is laid out again."""
    two.play(stories={FIRST: [works(append={"src/half.py": "HALF = 1\n"}), works()], "*": [works()]})
    killed(two, "candidate_written")
    for point in ("attempt_kept", "run_recorded", "run_recorded"):
        killed(two, point)

    ended = two.loop(agents=1)

    assert ended.runs == [FIRST]
    assert two.landed() == ["login/US-001"]
    assert two.git("show", "refs/ralphy/login/US-001/attempt-1:src/us_001.py") == "WORKS = 1"
    assert two.trailer("Ralphy-Attempt", two.commit_of(FIRST)) == "1"
    assert "src/half.py" in two.files_of(two.commit_of(FIRST))
    assert_clean(two)


def test_half_written_files_of_a_dead_ralphy_vanish_and_lies_and_settings_of_its_agent_are_not_believed(
    two: Project,
) -> None:
    off = {".ralphy/config.yaml": two_checks_off(two), "src/us_001.py": "BROKEN = 1\n"}
    lies = works(write=off, cheat={"mark_passed": True}, commit="feat: all done")
    two.play(stories={FIRST: [lies, breaks(), works()], "*": [works()]})
    settings = (two.repo / ".ralphy" / "config.yaml").read_text()
    killed(two, "agent_ended")
    two.write(".prd.json.tmp-4711", "{")
    two.write("stories/.US-001.md.tmp-4711", "#")

    ended = two.loop(agents=1)

    assert ended.runs == [FIRST]
    assert (two.repo / ".ralphy" / "config.yaml").read_text() == settings
    assert two.landed() == []
    assert_clean(two)
    assert two.loop(agents=1).runs == [FIRST]
    assert two.landed() == ["login/US-001"]
    assert "feat: all done" not in two.subjects()
    assert list(two.folder.rglob("*.tmp-*")) == []
    assert "tmp-" not in two.git("log", "--name-only", "--format=")
    assert_clean(two)


@pytest.mark.parametrize("branch", sampled(["main", "ralph/login"], "ralph/login"))
def test_code_that_a_person_changed_after_a_landing_was_cut_short_is_kept(two: Project, branch: str) -> None:
    killed(two, "refs_moved", 1)
    two.switch(branch)
    (two.repo / "src" / "base.py").write_text("MINE = 1\n")

    ended = two.loop(agents=1)

    assert ended.runs == [SECOND]
    assert [event.story for event in ended.events if isinstance(event, Landed)] == [FIRST, SECOND]
    assert two.git("symbolic-ref", "--short", "HEAD") == branch
    assert (two.repo / "src" / "base.py").read_text() == "MINE = 1\n"
    assert two.code("src/base.py") == "BASE = 1\n"
    two.git("checkout", "--quiet", "--", "src/base.py")
    assert_clean(two)


def test_reset_after_a_kill_clears_what_the_dead_run_left_and_hid_by_index_bits(two: Project) -> None:
    hide = ["git", "update-index", "--assume-unchanged", "src/base.py"]
    two.play(stories={FIRST: [works(run=hide, append={"src/base.py": "HALF = 1\n"}), works()], "*": [works()]})
    killed(two, "agent_ended")

    assert two.call("reset", "login")[0] == 0

    assert_clean(two)
    assert two.loop(agents=1).runs == [FIRST]
    assert two.git("show", "refs/ralphy/login/US-001/attempt-1:src/base.py") == "BASE = 1\nHALF = 1"
    assert two.code("src/base.py") == "BASE = 1\n"
    assert two.landed() == ["login/US-001"]
    assert_clean(two)


def two_checks_off(project: Project) -> str:
    """The settings without their checks."""
    return (project.repo / ".ralphy" / "config.yaml").read_text().replace('"run"', '"timeout_s": 1, "run"')


def test_redo_after_a_kill_does_not_lose_its_word(died: Project) -> None:
    assert died.call("redo", FIRST, "login")[0] == 0

    assert died.statuses()[FIRST] == "pending"
    died.play(stories={"*": [works(append={"again.py": "{{slug}} = 1\n"})]})
    assert died.loop(agents=2).runs == [FIRST, SECOND]
    assert_clean(died)


def test_an_answer_is_not_lost_by_a_kill(tmp_path: Path) -> None:
    project = build(tmp_path, story(FIRST))
    project.play(stories={FIRST: [works(question="Which colour?"), works()]})
    project.loop(agents=1)
    project.write("QUESTIONS.md", project.read("QUESTIONS.md").replace("Answer:\n", "Answer: as green as grass\n"))
    landings = 2  # the adoption of the answered file, then the answer itself
    killed(project, "refs_moved", landings)

    project.loop(agents=1)

    assert "as green as grass" in project.prompts("story-US-001")[-1]
    assert project.landed() == ["login/US-001"]


@pytest.mark.fault("P1")
def test_a_kill_after_a_run_and_one_after_which_the_journal_was_wiped_leave_no_outbox_and_no_work_undone(
    two: Project,
) -> None:
    killed(two, "end_recorded")
    outboxes = two.folder / ".ralphy" / "outbox"
    left = {path.name for path in outboxes.iterdir()}
    assert left
    killed(two, "laid_out")
    (two.repo / ".git" / "ralphy" / "journal.jsonl").unlink()

    code, said = two.call("loop", two.name, "--max-iterations", "1")

    assert code == ExitCode.BUDGET, said  # not an endless row of recoveries
    assert left.isdisjoint(path.name for path in outboxes.iterdir())
    assert two.landed() == ["login/US-001", "login/US-002"]
    assert_clean(two)


@pytest.mark.fault("P15")
def test_kills_in_a_step_cost_no_attempt_and_its_unfinished_documents_are_handed_on(tmp_path: Path) -> None:
    project = build(tmp_path, gates={"spec": "human"})
    half = {"outbox": {"SPEC.md": "# Half a specification\n"}}
    goes_on = ["sh", "-c", 'cp "$RALPHY_OUTBOX/unfinished/SPEC.md" "$RALPHY_OUTBOX/SPEC.md"']
    stories = '{"userStories": [{"id": "US-001", "title": "Sign in"}]}'
    project.play(spec=[half, half, {"outbox": {"stories.json": stories}, "run": [goes_on]}])
    killed(project, "agent_ended")
    killed(project, "agent_ended")

    ended = project.loop()

    assert ended.code == ExitCode.WAITING
    assert [outcome for _, outcome in project.outcomes()] == ["died", "died", "succeeded"]
    assert not any("tree" in end for end in project.journal("end"))  # that names a kept commit
    assert "Ralphy or the machine died" in project.prompts("spec")[-1]
    assert project.read("SPEC.md") == "# Half a specification\n"
    assert not (project.folder / "unfinished").exists()


def test_three_kills_in_a_step_without_any_progress_end_the_loop_with_that_reason(tmp_path: Path) -> None:
    project = build(tmp_path, gates={"spec": "human"})
    project.play(spec=[{"say": "reading"}])
    for _ in range(3):
        killed(project, "agent_ended")

    ended = project.loop()

    assert (ended.code, ended.runs) == (ExitCode.STORIES_OPEN, [])
    assert "died 3 times in a row in the spec step" in ended.rest.reason and "ralphy redo spec" in ended.rest.reason


def test_code_that_a_review_changed_is_kept_under_the_ref_that_is_named_also_after_a_kill(tmp_path: Path) -> None:
    one = build(tmp_path, story(FIRST))
    dies = {"default": True, "write": {"src/x.py": "X = 1\n"}, "commit": "fix: x"}
    ends = {**reports(), "write": {"src/base.py": "BASE = 2\n", "src/new.py": "NEW = 1\n"}, "commit": "fix: me too"}
    one.play(stories={"*": [works()]}, qa=[dies, ends])
    killed(one, "agent_ended", 2)
    one.loop(agents=0)
    (dead,) = [ref for ref in one.refs() if "/qa/" in ref]

    ended = one.loop()

    (ref,) = [ref for ref in one.refs() if "/qa/" in ref and ref != dead]
    assert f"src/base.py, src/new.py (kept: git show {ref})" in ended.text
    assert one.code("src/x.py", dead) == "X = 1\n"
    assert one.code("src/new.py", ref) == "NEW = 1\n"
    assert {"src/x.py", "src/new.py"}.isdisjoint(one.code_files())
    assert one.code("src/base.py") == "BASE = 1\n"
    assert "fix:" not in one.git("log", "--all", "--format=%s")
    assert_clean(one)


@pytest.mark.fault("G3")
def test_a_revert_during_a_run_stands_and_the_work_is_kept(two: Project) -> None:
    reverts = f"cd {two.repo} && git switch --quiet {two.branch} && git revert --no-edit HEAD"
    two.play(stories={SECOND: [works(run=["sh", "-c", reverts]), works()], "*": [works()]})

    two.loop(agents=4)

    assert two.subjects("Revert")
    assert two.landed().count("login/US-001") == 2
    assert two.landed().count("login/US-002") == 1
    assert set(two.statuses().values()) == {"completed"}
    assert_clean(two)


@pytest.mark.fault("P15")
def test_processes_of_a_dead_run_are_ended_by_the_next_start(two: Project) -> None:
    orphan = 'trap "" TERM; sleep 600 < /dev/null > /dev/null 2>&1 &'
    two.play(stories={FIRST: [works(run=["sh", "-c", orphan]), works()], "*": [works()]})
    killed(two, "run_recorded")
    leftover = os.posix_spawn("/bin/sleep", ["sleep", "600"], {"RALPHY_REPO": f"{os.getuid()}:{two.repo}/.git"})

    ended = two.loop(agents=1)

    assert os.waitpid(leftover, 0)[1] == signal.SIGKILL
    assert any("still alive" in line for line in ended.said)
