"""What goes wrong on a night with the real Claude Code CLI: limits, refusals, lost connections, sudden ends."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from ralphy.processes.process_table import RUN_MARKER
from tests.conftest import is_gone, why_no_sandbox
from tests.doubles.messages_api import Asked
from tests.e2e.claude_cli import expected, real_claude, with_subscription
from tests.e2e.greetings import GREET, GREETING, STORIES, TEST_GREET
from tests.e2e.project import BRANCH, Project, with_claude
from tests.e2e.scripted import Scripted, bash, edit, read, report, write
from tests.e2e.test_claude_contract import first_words

pytestmark = real_claude

ONE_RUN = ("--max-iterations", "1")
BUDGET = 13


def usage_limit(resets_in_s: int) -> dict[str, Any]:
    unified = {"status": "rejected", "reset": f"@+{resets_in_s}", "representative-claim": "five_hour"}
    return {"status": 429, "headers": {f"anthropic-ratelimit-unified-{k}": v for k, v in unified.items()}}


def begins_a_run(asked: Asked) -> bool:
    """Whether the model has said nothing yet. How many messages come before its first differs between versions."""
    return not any(message["role"] == "assistant" for message in (asked.body or {})["messages"])


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


@pytest.mark.fault("N1")
@pytest.mark.parametrize("resets_in_s", [4, 20])
def test_a_usage_limit_is_waited_out_and_costs_no_attempt(resets_in_s: int, git_repo: Path, private_home: Path) -> None:
    with Scripted({"US-001": [[GREETING[0][0]], usage_limit(resets_in_s), *GREETING]}) as api:
        project = subscribed(with_claude(git_repo, private_home, api.url))
        project.plan(STORIES[0])
        called = project.loop("--max-iterations", "2")
        first, second = (asked.at for asked in api.messages() if begins_a_run(asked))

    assert called.code == BUDGET
    assert "waiting until" in called.said and "the usage limit (five_hour) is reached" in called.said
    assert project.ends() == [("US-001", "limited"), ("US-001", "succeeded")]
    assert second - first >= resets_in_s
    assert project.trailer("Ralphy-Attempt") == ["1"]
    limit = project.journal("end")[0]["limit"]
    assert (limit["status"], limit["kind"]) == ("rejected", "five_hour")
    assert 0 <= project.journal("run")[1]["at"] - limit["resets_at"] <= 5


@pytest.mark.fault("N1")
def test_an_early_warning_is_heeded_before_the_next_story(git_repo: Path, private_home: Path) -> None:
    answers = [[said] if isinstance(said, str) else said for said in GREETING]
    warned = [{"blocks": blocks, "headers": early_warning(8)} for blocks in answers]
    farewell = [[write("farewell.py", "def farewell() -> str:\n    return 'Bye'\n")], report()]
    with Scripted({"US-001": warned, "US-002": farewell}) as api:
        project = subscribed(with_claude(git_repo, private_home, api.url))
        project.plan(STORIES[0], {"id": "US-002", "title": "Farewell", "priority": 9})
        called = project.loop("--max-iterations", "2")

    assert called.code == BUDGET, called.said
    assert "97% of the usage limit (five_hour) is used up" in called.said
    limit = project.journal("end")[0]["limit"]
    assert (limit["status"], limit["utilization"]) == ("allowed_warning", 0.97)
    assert 0 <= project.journal("run")[1]["at"] - limit["resets_at"] <= 5
    assert project.ends() == [("US-001", "succeeded"), ("US-002", "succeeded")]


@pytest.mark.fault("N1")
def test_a_usage_limit_ends_the_loop_when_told_not_to_wait(git_repo: Path, private_home: Path) -> None:
    with Scripted({"US-001": [usage_limit(3600)]}) as api:
        project = subscribed(with_claude(git_repo, private_home, api.url))
        project.plan(STORIES[0])
        codes = [project.loop("--no-wait").code, project.loop("--no-wait").code]

    assert codes == [14, 14]
    assert len(api.messages()) == 1
    assert_untouched(project)


@pytest.mark.parametrize("login", ["key", "subscription"])
@pytest.mark.fault("N3")
def test_a_refused_login_ends_the_loop_at_once(login: str, git_repo: Path, private_home: Path) -> None:
    with Scripted({"US-001": [{"status": 401}] * 3 + GREETING}) as api:
        project = with_claude(git_repo, private_home, api.url)
        project = subscribed(project) if login == "subscription" else project
        project.plan(STORIES[0])
        called = project.loop()

        assert called.code == 5
        assert len(api.messages()) < 4, "the CLI itself goes on for three minutes, and would be let in in the end"
        assert "log in" in called.said and "key" in called.said
        assert project.ends() == [("US-001", "fatal")]
        assert_untouched(project)

        api.script["US-001"] = list(GREETING)
        assert project.loop(*ONE_RUN).code == BUDGET
    assert project.trailer("Ralphy-Attempt") == ["1"]


@pytest.mark.fault("P17")
def test_an_agent_that_is_not_installed_ends_the_loop_at_once(git_repo: Path, private_home: Path) -> None:
    with Scripted({}) as api:
        project = with_claude(git_repo, private_home, api.url, RALPHY_AGENT_COMMAND="claude-is-not-here")
        project.plan(STORIES[0])
        plan = project.story("US-001")
        called = project.loop()

    assert called.code == 5
    assert "claude-is-not-here is not on PATH" in called.said and "agent.command" in called.said
    assert project.story("US-001") == plan
    assert project.git("status", "--porcelain") == "?? docs/"
    assert not (project.repo / "greet.py").exists()


@pytest.mark.fault("N2")
def test_an_overloaded_provider_is_tried_again_without_an_attempt(git_repo: Path, private_home: Path) -> None:
    with Scripted({"US-001": [{"status": 529}] * 3 + GREETING}) as api:
        project = with_claude(git_repo, private_home, api.url, CLAUDE_CODE_MAX_RETRIES="1",
                              RALPHY_AGENT_ENV="CLAUDE_CODE_MAX_RETRIES")  # fmt: skip
        project.plan(STORIES[0])
        called = project.loop("--max-iterations", "2")

    assert called.code == BUDGET
    assert project.ends() == [("US-001", "transient"), ("US-001", "succeeded")]
    assert project.trailer("Ralphy-Attempt") == ["1"]


@pytest.mark.fault("N4")
def test_a_connection_dropped_after_a_tool_call_costs_nothing(git_repo: Path, private_home: Path) -> None:
    # The events need a little time between them, or the CLI sees the end before it has seen the call.
    after_the_call = {"blocks": ["Working.", write("greet.py", GREET)], "drop_after": 7, "event_delay": 0.05}
    # Newer versions run the call only if they had taken all of it in, and else ask the model to go on.
    script = [after_the_call, [write("greet.py", GREET), write("tests/test_greet.py", TEST_GREET)], report()]
    with Scripted({"US-001": script}) as api:
        project = with_claude(git_repo, private_home, api.url)
        project.plan(STORIES[0])
        called = project.loop(*ONE_RUN)

    assert called.code == BUDGET
    said = project.kept("stream.ndjson")[0].read_text()
    assert any(sign in said for sign in ('"error":"server_error"', '"isSynthetic":true', '"api_retry"'))
    assert project.ends() == [("US-001", "succeeded")]


@pytest.mark.fault("P10")
def test_a_provider_that_never_answers_is_tried_again_without_an_attempt(git_repo: Path, private_home: Path) -> None:
    with Scripted({"US-001": [[write("greet.py", "half")], {"hang": 100}, *GREETING]}) as api:
        project = with_claude(git_repo, private_home, api.url, RALPHY_CIRCUIT_BREAKER_INACTIVITY_TIMEOUT="4")
        project.plan(STORIES[0])
        called = project.loop("--max-iterations", "2")

    assert called.code == BUDGET
    assert "warning 3/3 (OPEN, stopping the run): no output for" in called.said
    assert project.ends() == [("US-001", "transient"), ("US-001", "succeeded")]
    assert project.journal("end")[0]["trigger"] == "silence"
    assert project.trailer("Ralphy-Attempt") == ["1"]
    assert project.git("show", "refs/ralphy/login/US-001/attempt-1:greet.py") == "half"


@pytest.mark.parametrize("sandbox", ["none", "bwrap"])
def test_a_run_past_its_deadline_is_ended_and_still_paid_for(git_repo: Path, private_home: Path, sandbox: str) -> None:
    """The interrupt that asks for the bill reaches the CLI in the sandbox as well."""
    if sandbox == "bwrap" and (why := why_no_sandbox()):
        pytest.skip(why)
    half = "def greet() -> None: ...\n"
    mended = [[read("greet.py")], [edit("greet.py", half, GREET), write("tests/test_greet.py", TEST_GREET)], report()]
    with Scripted({"US-001": [[write("greet.py", half)], [bash("sleep 60; true")], *mended]}) as api:
        project = with_claude(git_repo, private_home, api.url, RALPHY_SAFETY_SANDBOX=sandbox)
        project.plan(STORIES[0])
        Project(project.repo, {**project.env, "RALPHY_TIMEOUTS_AGENT": "10"}).loop(*ONE_RUN)
        called = project.loop(*ONE_RUN)

    assert called.code == BUDGET
    assert project.ends() == [("US-001", "timed_out"), ("US-001", "succeeded")]
    costs = [entry["cost"] for entry in project.journal("end")]
    assert min(costs) > 0
    assert project.trailer("Ralphy-Cost-USD") == [f"{sum(costs):.4f}"]


@pytest.mark.fault("N6")
def test_a_budget_ends_the_run_and_the_next_one_goes_on_from_its_work(git_repo: Path, private_home: Path) -> None:
    script = [[write("greet.py", GREET)], [bash("true")], [write("tests/test_greet.py", TEST_GREET)], report()]
    with Scripted({"US-001": script}) as api:
        project = with_claude(git_repo, private_home, api.url)
        project.plan(STORIES[0])
        called = project.loop("--max-cost", str(expected().budget_usd))
        assert called.code == BUDGET
        assert f"the budget of ${expected().budget_usd} is used up ($0.0" in called.said
        assert len(api.messages()) == 2

        assert project.loop(*ONE_RUN).code == BUDGET
    assert project.git("show", f"{BRANCH}:greet.py") == GREET.strip()
    assert project.story("US-001")["passes"] is True


@pytest.mark.parametrize(
    ("number", "code", "outcome", "attempt"),
    [(signal.SIGKILL, -signal.SIGKILL, "died", "1"), (signal.SIGINT, 130, "stopped", "1")],
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
            sleeper = int(first_words(tmp_path / "pid", timeout_s=60))
            family = {sleeper, *(child.pid for child in psutil.Process(ralphy.pid).children(recursive=True))}
            ralphy.send_signal(number)
            outlived = [pid for pid in family if not is_gone(pid)]
        assert len(family) >= 4  # the supervisor, claude, its shell, sleep
        assert (ralphy.returncode, outlived, carriers(project.journal("run")[0]["run"])) == (code, [], [])

        called = project.loop(*ONE_RUN)
    assert called.code == BUDGET
    assert project.ends() == [("US-001", outcome), ("US-001", "succeeded")]
    assert project.trailer("Ralphy-Attempt") == [attempt]
    assert project.git("show", "refs/ralphy/login/US-001/attempt-1:greet.py") == "half"
    assert project.git("show", f"{BRANCH}:greet.py") == GREET.strip()


def carriers(run: str) -> list[str]:
    """The processes that carry the marker of a run in their environment."""
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            found += [environ.parent.name] if f"{RUN_MARKER}={run}".encode() in environ.read_bytes() else []
    return found
