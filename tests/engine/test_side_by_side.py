"""Several agents work on stories of one feature at the same time, each in a lane of its own; all of it lands."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ralphy.errors import ExitCode
from tests.cli.conftest import Call
from tests.conftest import is_gone
from tests.engine.building import PATIENCE_S, Project, assert_clean, build, person, story, works


def stories(number: int, **fields: Any) -> list[dict[str, Any]]:
    return [story(f"US-00{n}", priority=n, **fields) for n in range(1, number + 1)]


def meeting(project: Project, *others: str) -> list[list[str]]:
    """What an agent runs to be sure that the agents of other stories are at work while it is: it comes to a place
    outside, and waits there until they have come."""
    place = project.repo.parent / "place"
    place.mkdir(exist_ok=True)
    wait = " && ".join(f"[ -e {place}/{other} ]" for other in others)
    look = f"touch {place}/{{{{story}}}}; n=0; until {wait}; do n=$((n+1)); [ $n -lt 400 ] || exit 1; sleep 0.05; done"
    return [["sh", "-c", look]]


def meets(project: Project, ids: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Acts of agents that all are at work at the same time."""
    return {one: [works(run=meeting(project, *ids))] for one in ids}


def test_stories_are_worked_on_at_the_same_time_for_no_dollar_twice_and_land_as_a_commit_each(tmp_path: Path) -> None:
    project = build(tmp_path, *stories(4), lanes={"jobs": 4}, limits={"max_cost_usd": 2.0})
    ids = ["US-001", "US-002", "US-003", "US-004"]
    ask = [["sh", "-c", f"tr '\\0' ' ' < /proc/$PPID/cmdline > {tmp_path}/{{{{story}}}}.told"]]
    project.play(stories={one: [works(run=[*ask, *meeting(project, *ids)], cost_usd=0.4)] for one in ids})

    project.loop(agents=4)

    lines = [path.read_text(encoding="utf-8") for path in tmp_path.glob("US-*.told")]
    promised = [float(line.split("--max-budget-usd ")[1].split()[0]) for line in lines]
    assert len(promised) == 4 and sum(promised) <= 2.0
    assert sorted(project.landed()) == [f"login/{one}" for one in ids]
    assert len(project.subjects("feat")) == 4
    assert {run["lane"] for run in project.journal("run") if run.get("story")} == {"1", "2", "3", "4"}
    found = [project.story(one)["evidence"] for one in ids]
    assert [(evidence["verified"], evidence.get("warnings")) for evidence in found] == [(True, None)] * 4
    assert_clean(project)


@pytest.mark.usefixtures("sandbox")
def test_a_person_commits_and_edits_while_two_are_at_work(tmp_path: Path) -> None:
    ids = ["US-001", "US-002"]
    place = tmp_path / "place"
    place.mkdir()
    project = build(tmp_path, *stories(3), lanes={"jobs": 2}, safety={"writable": [str(place)]})
    project.play(stories={**{one: [works(run=meeting(project, *ids, "person"))] for one in ids}, "*": [works()]})
    process = project.start("loop", "login")
    until(lambda: all((place / one).exists() for one in ids), process)

    text = project.read("prd.json")
    assert text.count('"in_progress"') == 2 and project.read("TASKS.md").count("in_progress") == 2
    project.write("prd.json", text.replace("Story US-003", "The third"))
    (project.repo / "mine.py").write_text("MINE = 1\n", encoding="utf-8")
    project.commit("mine", "mine.py")
    until(lambda: "changes by hand" in "".join(project.subjects("chore")), process)
    (place / "person").touch()
    process.communicate(timeout=PATIENCE_S)

    assert sorted(project.landed()) == [f"login/US-00{n}" for n in range(1, 4)]
    assert project.story("US-003")["title"] == "The third"
    assert project.git("show", "main:mine.py") == "MINE = 1"
    assert_clean(project)


def until(is_so: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end and process.poll() is None, process.stderr and process.stderr.read()
        time.sleep(0.05)


def hanging(project: Project, ids: Sequence[str]) -> tuple[subprocess.Popen[str], list[int]]:
    """A loop whose agents all have worked and hang now, and their pids; later runs of the stories work."""
    place = project.repo.parent / "hanging"
    place.mkdir()
    tell = ["sh", "-c", f"echo $PPID > {place}/{{{{story}}}}.new && mv {place}/{{{{story}}}}.new {place}/{{{{story}}}}"]
    project.play(stories={one: [works(run=[tell], hang=True), works()] for one in ids})
    process = project.start("loop", "login", "--jobs", str(len(ids)))
    until(lambda: all((place / one).exists() for one in ids), process)
    return process, [int(path.read_text(encoding="utf-8")) for path in map(place.joinpath, ids)]


@pytest.mark.fault("P4")
def test_a_signal_ends_all_agents_and_costs_no_attempt(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    project = build(tmp_path, *stories(2))
    process, agents = hanging(project, ["US-001", "US-002"])

    status = Call(project.repo, capfd).json("status")[1]
    assert "US-001, US-002 in progress" in status["next"]
    assert sorted(status["in_work"]) == ["US-001", "US-002"]
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == ExitCode.INTERRUPTED, said
    assert all(map(is_gone, agents))
    assert sorted(project.outcomes()) == [("US-001", "stopped"), ("US-002", "stopped")]
    assert project.statuses() == {"US-001": "pending", "US-002": "pending"}
    assert_clean(project)
    project.configure(gates={"spec": "auto"}, lanes={"jobs": 2})
    project.loop(agents=2)
    assert sorted(project.landed()) == ["login/US-001", "login/US-002"]
    assert {project.trailer("Ralphy-Attempt", project.commit_of(one)) for one in project.statuses()} == {"1"}


@pytest.mark.fault("P15")
def test_kill_9_with_two_agents_at_work_costs_no_attempt_and_loses_no_work(tmp_path: Path) -> None:
    ids = ["US-001", "US-002"]
    project = build(tmp_path, *stories(2))
    process, agents = hanging(project, ids)

    process.kill()
    process.communicate(timeout=PATIENCE_S)
    assert all(map(is_gone, agents))
    project.configure(gates={"spec": "auto"}, lanes={"jobs": 2})
    project.loop(agents=2)

    assert sorted(project.outcomes()[:2]) == [(one, "died") for one in ids]
    assert sorted(project.landed()) == [f"login/{one}" for one in ids]
    assert {project.trailer("Ralphy-Attempt", project.commit_of(one)) for one in ids} == {"1"}
    assert_clean(project)


def test_stop_begins_nothing_more_and_lets_those_at_work_finish(tmp_path: Path) -> None:
    project = build(tmp_path, *stories(3), lanes={"jobs": 2})
    acts = meets(project, ["US-001", "US-002"])
    acts["US-001"][0]["run"] += person(project, "touch docs/features/login/STOP ../place/stopped")
    acts["US-002"][0]["run"] += meeting(project, "stopped")
    project.play(stories={**acts, "*": [works()]})

    ended = project.loop()

    assert ended.code == ExitCode.INTERRUPTED, ended.text
    assert sorted(project.landed()) == ["login/US-001", "login/US-002"]


def test_a_usage_limit_that_all_meet_is_waited_for_once_and_costs_no_attempt(tmp_path: Path) -> None:
    ids = ["US-001", "US-002"]
    project = build(tmp_path, *stories(2), lanes={"jobs": 2})
    limited = {"run": meeting(project, *ids), "limit": {"resets_in_s": 2}}
    project.play(stories={one: [limited, works()] for one in ids})

    ended = project.loop(agents=4)

    assert sorted(project.outcomes()[:2]) == [(one, "limited") for one in ids], ended.text
    assert sorted(project.landed()) == [f"login/{one}" for one in ids]
    assert {project.trailer("Ralphy-Attempt", project.commit_of(one)) for one in ids} == {"1"}


def test_a_warning_of_a_limit_is_heard_before_the_next_agent_begins(tmp_path: Path) -> None:
    project = build(tmp_path, *stories(3), lanes={"jobs": 2})
    look = "n=0; until git rev-parse -q --verify ':/US-001 Story'; do n=$((n+1)); [ $n -lt 400 ]; sleep 0.05; done"
    warned = works(warning={"utilization": 0.96, "resets_at": int(time.time()) + 3600})
    project.play(stories={"US-001": [warned], "US-002": [works(run=person(project, look))], "*": [works()]})

    ended = project.loop(waits=False)

    assert (ended.code, ended.runs) == (ExitCode.LIMITED, ["US-001", "US-002"]), ended.text
    assert project.landed() == ["login/US-001", "login/US-002"]


def test_two_that_change_one_file_differently_both_land(tmp_path: Path) -> None:
    ids = ["US-001", "US-002"]
    project = build(tmp_path, *stories(2), lanes={"jobs": 2})
    first = {one: {"write": {"src/both.py": f"BY = '{one}'\n"}, "run": meeting(project, *ids)} for one in ids}
    again = {"append": {"src/both.py": "AND = '{{story}}'\n"}}
    project.play(stories={one: [first[one], again] for one in ids})

    ended = project.loop(agents=3)

    assert sorted(project.landed()) == [f"login/{one}" for one in ids], ended.text
    later = project.landed()[1].removeprefix("login/")
    assert f"AND = '{later}'" in project.code("src/both.py")
    assert project.trailer("Ralphy-Attempt", project.commit_of(later)) == "1"
    told = project.prompts(f"story-{later}")[-1]
    earlier = next(one for one in ids if one != later)
    assert f"{earlier}: Story {earlier}" in told and f"+BY = '{earlier}'" in told
    assert f"conflicts with {earlier}, which landed meanwhile, in src/both.py" in told


def test_a_story_that_is_red_only_on_the_merged_tree_is_rejected_and_then_healed(tmp_path: Path) -> None:
    check = "import pathlib, sys; n = len(list(pathlib.Path('src').glob('us_*.py'))); "
    check += "broken = n > 1 and not pathlib.Path('src/agreed.py').exists(); "
    check += "print('FAILED src/agreed.py::missing') if broken else None; sys.exit(broken)"
    project = build(tmp_path, *stories(2), lanes={"jobs": 2})
    (project.repo / "check.py").write_text(check, encoding="utf-8")
    project.git("commit", "-qam", "a check that two stories fail together")
    ids = ["US-001", "US-002"]
    heals = {"write": {"src/agreed.py": "AGREED = 1\n"}}
    project.play(stories={one: [works(run=meeting(project, *ids)), heals] for one in ids})

    ended = project.loop(agents=3)

    assert sorted(project.landed()) == [f"login/{one}" for one in ids]
    assert sorted(outcome for one, outcome in project.outcomes() if one in ids) == [
        "rejected",
        "succeeded",
        "succeeded",
    ]
    later = project.landed()[1].removeprefix("login/")
    earlier = project.landed()[0].removeprefix("login/")
    said = f"on top of {earlier}, which landed meanwhile"
    assert said in project.prompts(f"story-{later}")[-1]
    assert said in next(end["failure"] for end in project.journal("end") if end["outcome"] == "rejected")
    assert f"{later}: checks fail {said}; running them once more" in ended.text
