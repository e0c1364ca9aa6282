"""start, loop, watch and abort, as processes of their own where a terminal or a signal has a part in it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ralphy.cli.run import signals
from ralphy.cli.run.runner import in_turn
from ralphy.errors import ExitCode
from ralphy.pipeline.events import Decided, Said
from tests.cli.conftest import Bell, Heard, Make, heard_while
from tests.conftest import program
from tests.engine.building import PATIENCE_S, Project, assert_clean, breaks, called, reports, story, works
from tests.engine.forked import Started, forked

TWO = (story("US-001"), story("US-002", priority=2))
GATES = {"spec": "human", "qa": "human"}


def everything(root: Path) -> dict[str, tuple[object, ...]]:
    """Path -> all that can change of it, of every file and folder below, .git and all."""
    found: dict[str, tuple[object, ...]] = {}
    for path in [root, *root.rglob("*")]:
        seen = path.lstat()
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if stat.S_ISREG(seen.st_mode) else ""
        found[str(path)] = (seen.st_mode, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, digest)
    return found


DECIDING = [("why",), ("plan",), ("config", "show"), ("validate",), ("loop", "--dry-run"), ("loop", "-n"),
            ("start", "--dry-run"), ("start", "-n", "--fresh"), ("start", "-n", "Add a bridge"), ("story", "list"),
            ("story", "next"), ("story", "show", "US-001"), ("logs",), ("attempts",)]  # fmt: skip


def test_deciding_touches_nothing_at_all(made: Make) -> None:
    project, call = made(*TWO, limits={"max_iterations": 1})
    project.loop()
    (project.folder / "notes.txt").write_text("by hand\n")
    before = everything(project.repo)
    for words in DECIDING:
        assert (words, call(*words)[0]) == (words, 0)
        assert (words, everything(project.repo)) == (words, before)


def test_a_dry_run_says_what_would_be_done(made: Make) -> None:
    """Before anything was run it leaves no trace; watch has none."""
    project, call = made()
    before = everything(project.repo)
    for words in (("why",), ("loop", "--dry-run"), ("start", "--dry-run")):
        assert call(*words)[0] == 0
    assert everything(project.repo) == before
    for option in ("--dry-run", "-n", "--no-wait"):
        code, _, err = call("watch", option)
        assert code == 3 and option in err
    project.plan(*TWO)
    said = call("loop", "--dry-run")[1]
    assert said.startswith(call("why")[1])
    assert said == call("plan")[1]
    value = call.json("start", "--dry-run", "Add a bridge")[1]
    assert (value["decision"], value["rests"]) == ("RunAgent", False)
    assert "add-a-bridge" in value["reason"]


def test_the_agents_report_is_for_ralphy_and_not_on_the_screen(made: Make) -> None:
    project, call = made(*TWO)
    project.play(stories={"*": [works(say="It is all there.")]})
    _, _, err = call("loop", "--max-iterations", "1")
    _, shown, _ = call("logs", "US-001")
    assert "It is all there." in shown
    assert "RALPH_STATUS" not in err + shown
    assert "---END_RALPH_STATUS---" in call("logs", "US-001", "--raw")[1]


def test_the_last_line_names_the_branch_only_where_there_is_one(made: Make) -> None:
    project, call = made(*TWO, gates=GATES)
    project.write("PRD.md", "# Log in\n\n## Objective\n\n- a button\n")
    project.write("SPEC.md", "# Spec\n")
    assert call("loop")[1].endswith("0 agent runs, $0.00. Look: ralphy status login\n")
    project.approve()
    last = call("loop", "--max-iterations", "1")[1].splitlines()[-1]
    assert last.endswith("Look: git log --oneline ralph/login; ralphy status login")


def test_a_description_becomes_a_feature(made: Make) -> None:
    project, call = made(gates=GATES)
    project.play()
    for name in ("no/name", "ends "):
        assert call("start", "Add a bridge", "--name", name)[0] == 3
    assert call("start", "--name", "bridge")[0] == 3
    with heard_while(project, "start", "Add a bridge over the river", "--name", "bridge") as (heard, _):
        heard.until("SPEC.md is ready for review: `touch docs/features/bridge/APPROVED`")
    made_of = project.repo / "docs" / "features" / "bridge"
    assert "Add a bridge over the river" in (made_of / "PRD.md").read_text()
    assert (made_of / "SPEC.md").exists()


def test_a_prd_without_an_objective_ends_a_run_before_an_agent_is_paid(
    made: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, call = made(gates=GATES)
    for text, said in (
        ("", 'docs/features/login/PRD.md is empty: write below "# Title" and "## Objective" what is wanted'),
        ("# Bridges\n", "docs/features/login/PRD.md:1: no objective"),
        ("# Bridges\n\n## Scope\n\n- Over the river\n", "docs/features/login/PRD.md:3: no objective"),
    ):
        project.write("PRD.md", text)
        code, _, err = call("loop")
        assert (code, said in err, project.journal("run")) == (3, True, []), err
        assert said in call("why")[1]
    monkeypatch.setenv("RALPHY_VERIFY_PRD", "flag")
    code, _, err = call("loop")
    assert code == 10
    assert f"warning: {said}" in err


@contextmanager
def on_a_terminal(project: Project, *words: str) -> Iterator[tuple[Heard, Started]]:
    """`ralphy …` on a pseudo-terminal."""
    master, slave = os.openpty()
    process = forked(lambda: called(words), cwd=project.repo, env=project.env, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    try:
        yield Heard(master), process
        process.wait(timeout=PATIENCE_S)
    finally:
        process.kill()
        process.wait(timeout=PATIENCE_S)
        os.close(master)


def test_on_a_terminal_the_gate_takes_a_y_and_the_file_at_the_same_time(made: Make) -> None:
    project, _ = made(gates=GATES)
    project.play()
    with on_a_terminal(project, "start") as (heard, process):
        heard.until("Approve the spec of login? [y/n/d/e/q]")
        heard.send("maybe\n")
        heard.until("y approves, n rejects with remarks")
        heard.send("y\n")
        heard.until("Approve the review of login? [y/n/d/e/q]")
        project.approve()
        heard.rest()
    assert process.returncode == 0
    assert "QA_REPORT.md is approved (APPROVED)" in heard.text
    assert set(project.statuses().values()) == {"completed"}
    assert not (project.folder / "APPROVED").exists()
    assert_clean(project)


def test_interactive_asks_after_each_story_whether_to_go_on_do_it_again_or_stop(made: Make) -> None:
    project, call = made(*(story(f"US-00{number}", priority=number) for number in range(1, 5)), lanes={"jobs": 4},
                         limits={"max_attempts": 1})  # fmt: skip
    again = {"write": {"src/{{slug}}.py": "WORKS = 'again'\n"}}
    project.play(stories={"US-002": [works(), again], "US-003": [breaks(), works()], "*": [works()]}, qa=[reports()])
    with on_a_terminal(project, "start", "--interactive") as (heard, process):
        heard.until("US-001 is completed: go on, redo it or stop?")
        heard.until("ralphy story show US-001 login")
        heard.until("Go on, redo US-001, or stop? [g/r/s]")
        heard.send("what\n")
        heard.until("g goes on, r does US-001 again")
        heard.send("g\n")
        heard.until("Go on, redo US-002, or stop? [g/r/s]")
        heard.send("r\n")
        heard.until("US-002 is pending again")
        heard.until("Go on, redo US-002, or stop? [g/r/s]")
        assert project.statuses() == dict.fromkeys(("US-001", "US-002"), "completed") | dict.fromkeys(
            ("US-003", "US-004"), "pending")  # fmt: skip
        heard.send("go\n")
        heard.until("US-003 is failed: go on")
        heard.send("r\n")
        heard.until("US-003 is completed: go on")
        heard.send("s\n")
        heard.rest()
    assert process.returncode == 10
    assert "`ralphy start login --interactive` goes on from here" in heard.text
    assert project.landed() == [f"login/{name}" for name in ("US-001", "US-002", "US-002", "US-003")]
    assert_clean(project)
    with on_a_terminal(project, "start", "--interactive") as (heard, process):
        heard.until("Go on, redo US-004, or stop?")
        assert "US-003 is completed: go on" not in heard.text
        heard.send("g\n")
        heard.until("Approve the review of login?")
        heard.send("y\n")
        heard.rest()
    assert process.returncode == 0

    code, _, err = call("start", "Log out again", "--interactive")
    assert code == 3 and "no terminal" in err and "hint: leave it out" in err
    assert not (project.folder.parent / "log-out-again").exists()
    with on_a_terminal(project, "start", "--interactive", "--jobs", "2") as (heard, process):
        heard.until("leave out --jobs")
        heard.rest()
    assert process.returncode == 3


def test_on_a_terminal_questions_before_the_specification_are_asked_one_by_one(made: Make) -> None:
    project, _ = made(gates=GATES, clarify={"ask": "on"})
    two = "\n\n".join(f"## Q{n}. Which {n}?\n\n- A. One\n- B. Two\n\nAnswer:" for n in (1, 2))
    project.play(clarify=[{"outbox": {"CLARIFICATIONS.md": f"# Clarifications\n\n{two}\n"}}])
    with on_a_terminal(project, "start") as (heard, process):
        heard.until("Q1. Which 1?")
        heard.until("(or: approve, edit, later)")
        heard.send("b\n")
        heard.until("Q2. Which 2?")
        heard.until("(or: approve, edit, later)")
        heard.send("approve\n")
        heard.until("Approve the spec of login? [y/n/d/e/q]")
        heard.send("q\n")
        heard.rest()
    assert process.returncode == 10
    assert "Q1. Which 1?\n\n- A. One\n- B. Two\n\nAnswer: b\n" in project.prompts("spec")[0]
    assert project.read("CLARIFICATIONS.md").rstrip().endswith("Answer:")


def test_a_no_asks_for_remarks_and_ends_nothing_by_accident(made: Make) -> None:
    project, _ = made(gates=GATES)
    project.play()
    with on_a_terminal(project, "start") as (heard, process):
        heard.until("Approve the spec of login? [y/n/d/e/q]")
        heard.send("n\n")
        heard.until("What should change?")
        heard.send("the sessions must end\n")
        heard.until("goes back with the remarks")
        heard.until("Approve the spec of login? [y/n/d/e/q]")
        heard.send("n\n")
        heard.until("What should change?")
        heard.send("\n")
        heard.rest()
    assert process.returncode == 10
    assert not (project.folder / "REJECTED").exists()
    with on_a_terminal(project, "start") as (heard, process):
        heard.until("Approve the spec of login? [y/n/d/e/q]")
        heard.send("end\n")
        heard.until("end login ends the feature")
        heard.send("end login\n")
        heard.rest()
    assert process.returncode == 11
    assert "the sessions must end" in project.prompts("spec")[1]
    assert "SPEC.md was rejected" in heard.text


def test_a_gate_shows_what_there_is_to_read_and_opens_it(made: Make) -> None:
    project, _ = made(gates=GATES)
    editor = program(project.repo.parent / "edits", 'echo "- and by mail" >> "$1"')
    project.env |= {"PAGER": "cat", "VISUAL": str(editor)}
    project.play()
    with on_a_terminal(project, "start") as (heard, process):
        heard.until("read   docs/features/login/SPEC.md\n")
        heard.until("story  US-001 ")
        heard.until("Approve the spec of login? [y/n/d/e/q]")
        heard.send("d\n")
        heard.until("# ")
        heard.until("Approve the spec")
        heard.send("e\n")
        heard.until("Approve the spec")
        assert project.read("SPEC.md").endswith("- and by mail\n")
        heard.send("yes\n")
        heard.until("code   ")
        heard.until("insertion")
        heard.until("Approve the review of login?")
        heard.send("d\n")
        heard.until("+++ b/")
        heard.until("Approve the review")
        heard.send("later\n")
        heard.rest()
    assert process.returncode == 10
    assert heard.text.count("Approve the spec of login?") == 3  # at first, after `d`, and for the edited document
    assert "- and by mail" in project.git("show", "ralph/login:docs/features/login/SPEC.md")


def test_without_a_terminal_a_gate_waits_for_the_file(made: Make) -> None:
    project, call = made(*TWO)
    project.play(stories={"*": [works()]}, qa=[reports()])
    with heard_while(project, "start") as (heard, process):
        heard.until("QA_REPORT.md is ready for review")
        assert "[y/n" not in heard.text
        code, _, err = call("loop")
        assert (code, "hint: login waits for you: ralphy approve login; or stop it" in err) == (4, True)
        prd = project.read("prd.json")
        project.write("prd.json", "{")
        heard.until("docs/features/login/prd.json:1: ")
        project.write("prd.json", prd)
        project.approve()
        heard.rest()
        assert process.wait(timeout=PATIENCE_S) == 0
    assert_clean(project)


@pytest.mark.fault("M1")
def test_abort_ends_a_run_at_once_and_leaves_nothing_behind(made: Make) -> None:
    project, call = made(*TWO)
    lock = project.repo / ".git" / "ralphy" / "checkouts" / "main" / "lock"
    lock.parent.mkdir(parents=True)
    lock.write_text(json.dumps({"pid": os.getpid(), "host": os.uname().nodename}))
    assert call("abort")[0] == 2  # it is no Ralphy that has this lock
    lock.unlink()
    (project.repo / "docs" / "features" / "logout").mkdir()
    bell = Bell(project.repo.parent / "bell")
    project.play(stories={"*": [{"write": {"src/half.py": "HALF = 1\n"}, "run": bell.ring, "hang": True}]})
    with project.start("loop") as process:
        bell.wait()
        status = call.json("status")[1]
        assert (status["running"]["pid"], status["next"]) == (process.pid, "US-001 in progress, attempt 1")
        assert [row["status"] for row in status["stories"]] == ["in_progress", "pending"]
        assert call.json("why")[1]["decision"] == "RunAgent"
        for words in (("loop",), ("start",), ("watch",), ("redo", "US-001")):
            code, value = call.json(*words)
            assert (code, value["error"]["hint"]) == (4, "wait for it, or stop it with: ralphy abort")
        assert call.json("abort", "logout")[1]["error"]["message"] == "Ralphy is not working on logout"
        assert call.json("abort")[1]["pid"] == process.pid
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 143
    assert "nothing is lost" in said
    assert project.outcomes() == [("US-001", "stopped")]
    assert not (project.repo / "src" / "half.py").exists()
    assert project.statuses() == {"US-001": "pending", "US-002": "pending"}
    assert_clean(project)
    assert call("status")[1].count("running") == 0
    project.play(stories={"*": [works()]})
    assert project.loop().runs == ["US-001", "US-002", "qa"]


@pytest.mark.usefixtures("sandbox")
def test_watch_drives_two_features(made: Make) -> None:
    project, _ = made(gates=GATES)
    project.play(qa=[reports()])
    other = project.repo / "docs" / "features" / "logout"
    with heard_while(project, "watch") as (heard, process):
        heard.until("login: SPEC.md is ready for review")
        other.mkdir()
        (other / "PRD.md").write_text("# Log out\n\n## Objective\n\n- a button\n")
        heard.until("logout: SPEC.md is ready for review")
        project.approve()
        heard.until("login: QA_REPORT.md is ready for review")
        (other / "APPROVED").touch()
        heard.until("logout: QA_REPORT.md is ready for review")
        project.approve()
        heard.until("login: all stories are verified")
    assert process.returncode == 143
    assert not {".claude", ".mcp.json"} & {path.name for path in project.repo.iterdir()}
    assert set(project.statuses().values()) == {"completed"}
    assert json.loads((other / "prd.json").read_text())["userStories"][0]["passes"] is True


def test_watch_goes_on_where_one_feature_can_not_be_opened_or_is_deleted(made: Make) -> None:
    project, _ = made(gates=GATES)
    features = project.repo / "docs" / "features"
    for name in ("broken", "deleted"):
        (features / name).mkdir()
        (features / name / "PRD.md").write_text("# More\n\n## Objective\n\n- a button\n")
    settings = features / "broken" / ".ralphy" / "config.yaml"
    settings.parent.mkdir()
    settings.write_text("gates: {spec: never}\n")
    with heard_while(project, "watch") as (heard, process):
        heard.until("broken: docs/features/broken/.ralphy/config.yaml")
        heard.until("deleted: SPEC.md is ready for review")
        heard.until("login: SPEC.md is ready for review")
        shutil.rmtree(features / "deleted")
        settings.write_text("gates: {spec: human}\n")
        (features / "broken" / "PRD.md").write_text("# More\n\n## Objective\n\n- two buttons\n")
        heard.until("broken: SPEC.md is ready for review")
        (features / "deleted").mkdir()
        (features / "deleted" / "PRD.md").write_text("# Anew\n\n## Objective\n\n- a button\n")
        heard.until("deleted: SPEC.md is ready for review")
    assert process.returncode == 143


def test_checks_that_were_red_are_asked_again_by_the_next_loop(made: Make, tmp_path: Path) -> None:
    database = tmp_path / "database-is-up"
    project, call = made(story("US-001"), checks=[{"name": "test", "run": f"test -e {database}"}])
    assert call("loop")[0] == ExitCode.CONFLICT
    assert "the checks are red" in call("why")[1]

    database.touch()
    assert call("loop")[0] == ExitCode.WAITING
    assert project.landed() == ["login/US-001"]


class Dying:
    """An object whose end is when the signal comes: what is raised there is lost."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGTERM)


def test_a_signal_that_python_loses_ends_the_loop_at_the_next_decision(capfd: pytest.CaptureFixture[str]) -> None:
    came: list[type[BaseException]] = []
    decided: list[object] = []
    listener = in_turn([signals.heeding(came), decided.append])
    said, next_decision = Said(text="…"), Decided(decision="RunAgent", phase="QA", reason="…", rests=False)
    with signals.signals(came):
        dying = Dying()
        del dying
        listener(said)  # what stands before a decision is finished first
        with pytest.raises(signals.Terminated):
            listener(next_decision)
    assert decided == [said]
    assert "Traceback" not in capfd.readouterr().err


def test_before_the_first_agent_start_says_what_is_planned_expected_and_what_ends_it(made: Make) -> None:
    project, call = made(story("US-001"), story("US-002"), limits={"max_cost_usd": 5.0})
    project.play(stories={"*": [works()]}, qa=[reports()])
    (project.folder / "STOP").touch()
    said = call("start", "login")[2].splitlines()
    assert said[:3] == [
        "plan       2 of 2 stories, qa, pr; you approve qa (ralphy plan login)",
        "expected   2 stories: 10 min to 50 min of work, $0.60 to $6.00 (a rough guess: no story has landed in this "
        "repository yet): the budget of $5.00 may end it before",
        "stops      after 50 agent runs; at $5.00; a story: after 5 attempts; pauses after 100 agent runs in an hour",
    ]
