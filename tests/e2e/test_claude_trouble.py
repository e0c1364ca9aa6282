"""What goes wrong on a night with the real Claude Code CLI: limits, refusals, lost connections, sudden ends."""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from ralphy.processes.command import RUN_MARKER
from tests.conftest import RunGit, is_gone, why_no_sandbox
from tests.e2e.claude_cli import expected, real_claude, with_subscription
from tests.e2e.greetings import GREET, GREETING, STORIES, TEST_GREET
from tests.e2e.project import BRANCH, Project, with_claude
from tests.e2e.scripted import Scripted, bash, edit, read, report, write
from tests.e2e.test_claude_contract import first_words

pytestmark = real_claude

ONE_RUN = ("--max-iterations", "1")
BUDGET = 13


SETTINGS = {
    "checks": [{"name": "test", "run": "sh -c '! grep -n BROKEN *.py'"}],
    "verify": {"unproved": "off"},
}


@pytest.fixture(autouse=True)
def quick_check(git_repo: Path, git: RunGit) -> None:
    """A line of shell: these nights are about the CLI, and not about the project's tests."""
    (git_repo / ".ralphy").mkdir()
    (git_repo / ".ralphy" / "config.yaml").write_text(json.dumps(SETTINGS), encoding="utf-8")
    git("add", ".ralphy")
    git("commit", "--quiet", "--message", "chore: settings")


def usage_limit(resets_in_s: int) -> dict[str, Any]:
    unified = {"status": "rejected", "reset": f"@+{resets_in_s}", "representative-claim": "five_hour"}
    return {"status": 429, "headers": {f"anthropic-ratelimit-unified-{k}": v for k, v in unified.items()}}


def subscribed(project: Project) -> Project:
    return Project(project.repo, with_subscription(project.env))


def assert_untouched(project: Project) -> None:
    """The story is as if nobody had tried, and nothing is left lying about."""
    found = project.story("US-001")
    assert (found["status"], found["passes"]) == ("pending", False)
    assert not found.get("execution", {}).get("attempts")
    assert project.git("status", "--porcelain") == ""
    assert not (project.repo / "greet.py").exists()


def early_warning(resets_in_s: int) -> dict[str, Any]:
    """The headers of an answer whose provider says that the limit is all but used up."""
    unified = {"status": "allowed_warning", "representative-claim": "five_hour", "reset": f"@+{resets_in_s}",
               "5h-utilization": "0.97", "5h-surpassed-threshold": "0.9", "5h-reset": f"@+{resets_in_s}"}  # fmt: skip
    return {f"anthropic-ratelimit-unified-{k}": v for k, v in unified.items()}


HALF, WHOLE = "WORKS = 'half'\n", "WORKS = 'whole'\n"
# story -> the outcomes of its runs, and the attempt that landed
NIGHT = {
    "late": (["timed_out", "succeeded"], "2"),
    "limited": (["limited", "succeeded"], "1"),
    "overloaded": (["transient", "succeeded"], "1"),
    "dropped": (["succeeded"], "1"),
    "warned": (["succeeded"], "1"),
    "after": (["succeeded"], "1"),
}


def troubled_night() -> dict[str, list[Any]]:
    """What the provider answers: each story meets a trouble of its own and then does its work."""
    work = {name: [[write(f"{name}.py", WHOLE)], report()] for name in NIGHT}
    half = {name: [write(f"{name}.py", HALF)] for name in NIGHT}
    mends = [[read("late.py")], [edit("late.py", HALF, WHOLE)], report()]
    # The events need a little time between them, or the CLI sees the end before it has seen the call. Newer versions
    # run the call only if they had taken all of it in, and else ask the model to go on.
    cut = {"blocks": ["Working.", write("dropped.py", WHOLE)], "drop_after": 7, "event_delay": 0.05}
    warned = [{"blocks": said if isinstance(said, list) else [said], "headers": early_warning(8)}
              for said in work["warned"]]  # fmt: skip
    return {
        **work,
        "late": [half["late"], [bash("sleep 60; true")], *mends],
        "limited": [half["limited"], usage_limit(4), *work["limited"]],
        "overloaded": [{"status": 529}] * 3 + work["overloaded"],
        "dropped": [cut, *work["dropped"]],
        "warned": warned,
    }


@pytest.mark.timeout(900)
@pytest.mark.fault("N1", "N2", "N4")
@pytest.mark.parametrize(
    "names",
    [["limited", "overloaded", "dropped"], pytest.param([*NIGHT], marks=pytest.mark.soak)],
    ids=["a few", "all"],
)
def test_a_night_of_troubles_costs_an_attempt_only_where_the_agent_had_its_chance(
    git_repo: Path, private_home: Path, names: list[str]
) -> None:
    """In the sandbox, where there is one: the interrupt that asks for the bill reaches the CLI there as well."""
    night = {name: NIGHT[name] for name in names}
    with Scripted(troubled_night()) as api:
        sandbox = "none" if why_no_sandbox() else "bwrap"
        project = subscribed(with_claude(git_repo, private_home, api.url, CLAUDE_CODE_MAX_RETRIES="1",
                                         RALPHY_AGENT_ENV="CLAUDE_CODE_MAX_RETRIES", RALPHY_SAFETY_SANDBOX=sandbox,
                                         RALPHY_LIMITS_RETRY_DELAY_S="1"))  # fmt: skip
        project.plan(*({"id": name, "title": f"Story {name}", "priority": number} for number, name in enumerate(names)))
        runs_left = sum(len(outcomes) for outcomes, _ in night.values())
        if "late" in names:
            assert Project(git_repo, {**project.env, "RALPHY_TIMEOUTS_AGENT": "10"}).night(*ONE_RUN).code == BUDGET
            runs_left -= 1
        called = project.night("--max-iterations", str(runs_left))

    assert called.code == BUDGET, called.said
    runs = {name: runs_of(project, name) for name in names}
    assert {name: [run["outcome"] for run in found] for name, found in runs.items()} == {
        name: outcomes for name, (outcomes, _) in night.items()
    }
    assert project.trailers("Ralphy-Story") == [f"login/{name}" for name in names]
    assert project.trailers("Ralphy-Attempt") == [attempt for _, attempt in night.values()]
    assert all(project.git("show", f"{BRANCH}:{name}.py") == WHOLE.strip() for name in names)
    assert_waited(called.said, runs["limited"], "waiting until", "the usage limit (five_hour) is reached")
    assert runs["limited"][0]["limit"]["status"] == "rejected"
    if "late" in names:
        assert_late(project, runs["late"])
        assert_waited(called.said, runs["warned"] + runs["after"], "97% of the usage limit (five_hour) is used up")
        warned = runs["warned"][0]["limit"]
        assert (warned["status"], warned["utilization"]) == ("allowed_warning", 0.97)
    stream = next(path for path in project.kept("stream.ndjson") if path.parent.name.endswith("-dropped")).read_text()
    assert any(sign in stream for sign in ('"error":"server_error"', '"isSynthetic":true', '"api_retry"'))


def runs_of(project: Project, story: str) -> list[dict[str, Any]]:
    """The runs of a story, in order: what the journal says of their beginnings and ends, `began` and the rest."""
    ends = {entry["run"]: entry for entry in project.journal("end")}
    return [{**ends[run["run"]], "began": run["at"]} for run in project.journal("run") if run.get("story") == story]


def assert_late(project: Project, runs: list[dict[str, Any]]) -> None:
    """A run that was ended at its deadline is paid for."""
    costs = [run["cost"] for run in runs]
    assert min(costs) > 0
    assert project.trailers("Ralphy-Cost-USD")[0] == f"{sum(costs):.4f}"


def assert_waited(said: str, runs: list[dict[str, Any]], *words: str) -> None:
    """The second of two runs began when the limit that the first one was told of had ended."""
    assert [word for word in words if word not in said] == []
    assert runs[0]["limit"]["kind"] == "five_hour"
    assert 0 <= runs[1]["began"] - runs[0]["limit"]["resets_at"] <= 5


@pytest.mark.fault("N1")
def test_a_usage_limit_ends_the_loop_when_told_not_to_wait(git_repo: Path, private_home: Path) -> None:
    with Scripted({"US-001": [usage_limit(3600)]}) as api:
        project = subscribed(with_claude(git_repo, private_home, api.url))
        project.plan(STORIES[0])
        codes = [project.night("--no-wait").code, project.night("--no-wait").code]

    assert codes == [14, 14]
    assert len(api.messages()) == 1
    assert_untouched(project)


@pytest.mark.parametrize("login", ["key", pytest.param("subscription", marks=pytest.mark.soak)])
@pytest.mark.fault("N3")
def test_a_refused_login_ends_the_loop_at_once(login: str, git_repo: Path, private_home: Path) -> None:
    with Scripted({"US-001": [{"status": 401}] * 3 + GREETING}) as api:
        project = with_claude(git_repo, private_home, api.url)
        project = subscribed(project) if login == "subscription" else project
        project.plan(STORIES[0])
        called = project.night()

        assert called.code == 5
        assert len(api.messages()) < 4, "the CLI itself goes on for three minutes, and would be let in in the end"
        assert "log in" in called.said and "key" in called.said
        assert project.outcomes() == [("US-001", "fatal")]
        assert_untouched(project)


@pytest.mark.fault("N6")
def test_a_budget_ends_the_run_and_the_next_one_goes_on_from_its_work(git_repo: Path, private_home: Path) -> None:
    script = [[write("greet.py", GREET)], [bash("true")], [write("tests/test_greet.py", TEST_GREET)], report()]
    with Scripted({"US-001": script}) as api:
        project = with_claude(git_repo, private_home, api.url)
        project.plan(STORIES[0])
        called = project.night("--max-cost", str(expected().budget_usd))
        assert called.code == BUDGET
        assert f"the budget of ${expected().budget_usd} is used up ($0.0" in called.said
        assert len(api.messages()) == 2

        assert project.night(*ONE_RUN).code == BUDGET
    assert project.git("show", f"{BRANCH}:greet.py") == GREET.strip()
    assert project.story("US-001")["passes"] is True


@pytest.mark.parametrize(
    ("number", "code", "outcome", "attempt"),
    [
        (signal.SIGKILL, -signal.SIGKILL, "died", "1"),
        pytest.param(signal.SIGINT, 130, "stopped", "1", marks=pytest.mark.soak),
    ],
)
@pytest.mark.fault("P15", "A13")
def test_nothing_outlives_ralphy_and_the_next_loop_goes_on(
    number: signal.Signals, code: int, outcome: str, attempt: str, git_repo: Path, private_home: Path, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pid")
    asleep = bash(f"echo $$ > '{tmp_path}/pid'; sleep 600; true")
    resumes = [bash("cat greet.py; rm greet.py")]  # the CLI writes over no file that this session has not read
    with Scripted({"US-001": [[write("greet.py", "half")], [asleep], resumes, *GREETING]}) as api:
        project = with_claude(git_repo, private_home, api.url)
        project.plan(STORIES[0])
        with project.start("loop", "login") as ralphy:
            sleeper = int(first_words(tmp_path / "pid", timeout_s=180))
            family = {sleeper, *(child.pid for child in psutil.Process(ralphy.pid).children(recursive=True))}
            ralphy.send_signal(number)
            outlived = [pid for pid in family if not is_gone(pid)]
        assert len(family) >= 4  # the supervisor, claude, its shell, sleep
        assert (ralphy.returncode, outlived, carriers(project.journal("run")[0]["run"])) == (code, [], [])

        called = project.night(*ONE_RUN)
    assert called.code == BUDGET
    assert project.outcomes() == [("US-001", outcome), ("US-001", "succeeded")]
    assert project.trailers("Ralphy-Attempt") == [attempt]
    assert project.git("show", "refs/ralphy/login/US-001/attempt-1:greet.py") == "half"
    assert project.git("show", f"{BRANCH}:greet.py") == GREET.strip()


def carriers(run: str) -> list[str]:
    """The processes that carry the marker of a run in their environment."""
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            found += [environ.parent.name] if f"{RUN_MARKER}={run}".encode() in environ.read_bytes() else []
    return found
