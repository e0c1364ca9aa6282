"""What holds for every command: its options, its exit codes, what goes to stdout and what to stderr."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ralphy.cli.main import main
from tests.cli.conftest import Call, Make, heard_while
from tests.cli.test_run import on_a_terminal
from tests.engine.building import PATIENCE_S, ROOT, Act, Project, breaks, held, reports, story, works

TWO = (story("US-001"), story("US-002", priority=2, dependsOn=["US-001"]))
Case = Callable[[Project, Call], int]


def failing(project: Project, call: Call) -> int:
    project.play(stories={"*": [breaks()]})
    return call("loop")[0]


def limited(project: Project, call: Call) -> int:
    project.play(stories={"*": [{"limit": {"resets_in_s": 3600}}]})
    return call("loop", "--no-wait")[0]


def locked(project: Project, call: Call) -> int:
    with held(project, "test"):
        return call("loop")[0]


def red(project: Project, call: Call) -> int:
    (project.repo / "src" / "base.py").write_text("BROKEN = 2\n")
    project.git("commit", "--quiet", "-am", "feat: broken")
    code, out, _ = call("loop")
    assert out == "", "nothing ran that could be summed up"
    return code


def broken(project: Project, call: Call) -> int:
    project.write("prd.json", "{")
    return call("loop")[0]


def agentless(project: Project, call: Call) -> int:
    project.configure(agent={"command": ["no-such-agent"]})
    return call("loop")[0]


def misconfigured(project: Project, call: Call) -> int:
    (project.repo / ".ralphy" / "config.yaml").write_text("gates: {sepc: human}\n")
    return call("status")[0]


def stopped(project: Project, call: Call) -> int:
    (project.folder / "STOP").touch()
    return call("loop")[0]


NOTHING_RUNS: dict[str, tuple[int, Case]] = {
    "a feature that is not there": (2, lambda _, call: call("loop", "nowhere")[0]),
    "a single word that is no feature": (2, lambda _, call: call("start", "nowhere")[0]),
    "a directory that is not there": (2, lambda p, _: main(["-C", str(p.repo / "nowhere"), "status"])),
    "no repository": (2, lambda p, _: main(["-C", str(p.repo.parent), "status"])),
    "nothing to abort": (2, lambda _, call: call("abort")[0]),
    "an unknown command": (3, lambda _, call: call("lop")[0]),
    "an unknown option": (3, lambda _, call: call("loop", "--quick")[0]),
    "a value that is none": (3, lambda _, call: call("loop", "--max-iterations", "0")[0]),
    "a time that is none": (3, lambda _, call: call("loop", "--until", "25:99")[0]),
    "another ralphy at work": (4, locked),
}
ENDS: dict[str, tuple[int, Case]] = {
    "a prd.json that is broken": (3, broken),
    "a configuration that is wrong": (3, misconfigured),
    "red checks before any work": (4, red),
    "an agent that is not installed": (5, agentless),
    "stories that failed": (11, failing),
    "a limit that is not waited for": (14, limited),
    "a STOP file": (130, stopped),
}


def test_the_exit_codes_of_what_runs_nothing_and_on_the_way_to_the_end(made: Make) -> None:
    project, call = made(*TWO)
    for what, (code, case) in NOTHING_RUNS.items():
        assert (what, case(project, call)) == (what, code)
    assert call("loop", "--max-iterations", "1")[0] == 13
    assert call("loop", "--to", "qa")[0] == 0
    assert call("loop")[0] == 10
    assert call("loop", "--auto-approve")[0] == 0


@pytest.mark.parametrize("what", ENDS)
def test_the_exit_code_of(made: Make, what: str) -> None:
    project, call = made(story("US-001"), limits={"max_attempts": 1})
    code, case = ENDS[what]
    assert case(project, call) == code


AS_JSON = [
    ("why",), ("plan",), ("status",), ("status", "--all"), ("validate",), ("config",),
    ("config", "get", "setup"), ("config", "set", "gates.qa", "auto"), ("detect",), ("init",), ("init-prompts",),
    ("loop", "--dry-run"), ("start", "--dry-run"), ("start", "--dry-run", "Build a bridge"), ("approve",), ("reject",),
    ("reset",), ("redo", "US-001"), ("redo", "qa"), ("logs",), ("attempts",), ("attempts", "list", "US-001"),
    ("story", "list"), ("story", "next"), ("story", "show", "US-001"), ("story", "add", "More"),
    ("story", "start", "US-002"), ("story", "done", "US-002"), ("story", "fail", "US-002"),
    ("story", "reset", "US-002"), ("loop",),
]  # fmt: skip


ERRORS = [
    (("loop", "nowhere"), 2, "not_found"), (("abort",), 2, "not_found"), (("lop",), 3, "invalid_input"),
    (("loop", "--quick"), 3, "invalid_input"), (("story", "shw"), 3, "invalid_input"),
    (("redo", "nothing"), 3, "invalid_input"), (("story", "done"), 3, "invalid_input"),
    (("attempts", "diff", "US-001"), 2, "not_found"), (("logs", "US-009"), 2, "not_found"),
]  # fmt: skip


def test_as_json_stdout_holds_objects_alone(made: Make) -> None:
    """Where the first story is completed and the second is open; an error is an object, too."""
    project, call = made(*TWO, limits={"max_iterations": 1})
    project.play(stories={"*": [works()]})
    project.loop()
    for words, code, name in ERRORS:
        got, out, err = call("--json", *words)
        value = json.loads(out)
        assert (words, got, value["schema"], value["ok"]) == (words, code, "ralphy/error@1", False)
        assert (words, value["error"]["code"], value["error"]["name"]) == (words, code, name)
        assert value["error"]["message"], words
        assert err == "", words
    for words in AS_JSON:
        code, out, _ = call("--json", *words)
        rows = [json.loads(line) for line in out.splitlines()]
        assert rows, words
        assert all(row["schema"].startswith("ralphy/") for row in rows), words
        assert (code in (0, 10, 13)) == all(row.get("ok", True) for row in rows), (words, out)


def test_data_goes_to_stdout_and_progress_to_stderr_and_quiet_says_only_errors(made: Make) -> None:
    project, call = made(*TWO)
    project.play(stories={"*": [{"default": True}]}, qa=[reports()])
    _, out, err = call("loop", "--to", "qa")
    assert out.startswith("login: 2 of 2 stories completed, 3 agent runs")
    assert len(out.splitlines()) == 1
    assert "verified and committed US-001" in err
    _, out, err = call("status")
    assert "US-001" in out and "  checks:  2 whole runs, for 2 stories\n" in out
    assert call.json("status")[1]["check_runs"] == {"stories": 2, "whole": 2, "narrowed": 0}
    assert err == ""
    code, out, err = call("-q", "loop")
    assert (code, out) == (10, "")
    assert err.splitlines() == [
        f"ralphy: login: QA_REPORT.md is ready for review: `touch {project.folder}/APPROVED`, or "
        "`ralphy approve login`",
        "  hint: ralphy status login",
    ]
    project.approve()
    assert call("-q", "loop") == (0, "", "")
    project.write("prd.json", "{")
    code, out, err = call("loop", "-q", "login")
    assert (code, out) == (3, "")
    assert "docs/features/login/prd.json" in err


SHORT: tuple[tuple[list[Act], tuple[str, ...], str], ...] = (
    ([breaks()], ("--max-iterations", "1"), "max_iterations (1 agent run) is reached: 2 of 2 stories are left"),
    ([breaks()], (), "failed: US-001; blocked: US-002"),
    ([{"limit": {"resets_in_s": 3600}}], ("--no-wait",), "not waiting (--no-wait): the usage limit"),
)


def test_quiet_says_why_it_ended_short_of_the_goal(made: Make) -> None:
    project, call = made(*TWO, limits={"max_attempts": 2})
    for played, words, said in SHORT:
        project.play(stories={"US-001": played})
        assert call("reset")[0] == 0
        code, out, err = call("-q", "loop", *words)
        why, hint = err.splitlines()
        assert (code in (11, 13, 14), out, hint) == (True, "", "  hint: ralphy status login")
        assert why.startswith("ralphy: login: ") and said in why
        assert call("--json", "-q", "loop", *words)[2] == ""


def test_quiet_watch_says_which_feature_can_not_go_on(made: Make) -> None:
    project, _ = made(*TWO, limits={"max_attempts": 1})
    project.play(stories={"US-001": [breaks()]})
    with heard_while(project, "watch", "-q") as (heard, _):
        heard.until("ralphy: login: failed: US-001; blocked: US-002")
        heard.until("\n  hint: ralphy status login\n")
        project.write("prd.json", "{")
        heard.until("ralphy: login: docs/features/login/prd.json")


def test_options_may_stand_before_the_command_and_behind_it(made: Make) -> None:
    _, call = made(*TWO)
    for words in (("--color", "always"), ("--color=never",), ("--no-progress",), ("-v",)):
        before, behind = call(*words, "story", "next"), call("story", "next", *words)
        assert before == behind == call("story", *words, "next") == (0, "US-001 Story US-001\n", ""), words


@pytest.mark.fault("A10")
def test_no_escape_sequence_is_ever_written_where_there_is_no_terminal(made: Make) -> None:
    _, call = made(story("US-001"))
    said = [*call("loop"), *call("status"), *call("--help"), *call("story", "show", "US-001")]
    assert not any("\x1b" in str(one) for one in said)


MEANT = {"statu": "status", "stat": "status", "aprove": "approve", "story lst": "list", "resum": "ralphy loop",
         "xyzzy": "--help", "gates": "ralphy approve", "story complet": "done",
         "answer": "QUESTIONS.md", "resume": "ralphy loop"}  # fmt: skip


def test_a_misspelt_command_is_answered_with_the_near_one(made: Make) -> None:
    """An error of usage reads like any other: what is wrong, and what to type."""
    _, call = made()
    for typed, meant in MEANT.items():
        code, _, err = call(*typed.split())
        first, hint = err.splitlines()
        assert (typed, code, first) == (typed, 3, f"ralphy: there is no command {typed!r}")
        assert hint.startswith("  hint: ") and meant in hint
    assert call("prompt")[2] == (
        "ralphy: STEP is missing\n  hint: ralphy prompt show clarify|spec|acceptance|story|split|qa|pr\n"
    )
    assert "'sotry' is not one of 'clarify', 'spec'" in call("prompt", "sotry")[2]
    assert call("loop", "--max-itertions", "2")[2].endswith("hint: did you mean --max-iterations?\n")
    first, hint = call("plan", "--until", "spec")[2].splitlines()
    assert (first, hint) == (
        'ralphy: --until is "spec" but must be a time as HH:MM', "  hint: to end when its document exists: --to spec"
    )  # fmt: skip
    for option, value, what in (("--max-cost", "much", "number"), ("--calls", "1.5", "whole number")):
        first, hint = call("loop", option, value)[2].splitlines()
        assert value in first and f" {what}" in first and hint == "  hint: ralphy loop --help"
    assert call("report", "-o")[2].endswith("hint: ralphy report --help\n")


def test_an_error_says_what_to_do(made: Make) -> None:
    _, call = made(*TWO)
    what, hint = call("status", "logn")[2].splitlines()
    assert (what, hint) == ("ralphy: there is no feature 'logn' in docs/features/", "  hint: did you mean login?")


def test_a_number_out_of_its_range_is_refused_with_the_range_that_help_names_once(made: Make) -> None:
    _, call = made()
    help_text = " ".join(call("loop", "--help")[1].split())
    for option, value, bounds in (
        ("--max-cost", "0", "above 0"),
        ("--jobs", "0", "from 1 to 64"),
        ("--jobs", "65", "from 1 to 64"),
    ):
        code, _, err = call("loop", option, value)
        assert (code, f"'{option}'" in err, f"not in the range {bounds}" in err) == (3, True, True), err
        assert f"[{bounds}]" in help_text
    assert "Agents that work at the same time. [from 1 to 64]" in help_text


def test_an_empty_name_is_refused_and_not_taken_for_every_feature(made: Make) -> None:
    project, call = made(story("US-001"))
    for words in (("loop", ""), ("start", " "), ("status", ""), ("story", "list", "")):
        code, _, err = call(*words)
        assert (words, code, err.splitlines()[0].endswith("it is empty: give a name, or leave it out")) == (
            words, 3, True,
        )  # fmt: skip
    assert project.landed() == []


def test_without_a_commit_a_feature_is_refused_before_anything_is_made(made: Make, tmp_path: Path) -> None:
    project, call = made()
    call.directory = tmp_path / "new"
    project.git("init", "--quiet", str(call.directory))
    (tmp_path / "PRD.md").write_text("# Sign in\n\n## Objective\n\nPeople sign in.\n", encoding="utf-8")
    for words in (("start", "Add CSV export"), ("decompose", "../PRD.md")):
        code, _, err = call(*words)
        assert (words, code, "the repository has no commit yet" in err) == (words, 4, True)
    assert [path.name for path in call.directory.iterdir()] == [".git"]


def test_settings_that_nobody_accepted_are_refused_before_anything_is_made(made: Make, tmp_path: Path) -> None:
    project, call = made()
    call.directory = tmp_path / "clone"
    project.git("clone", "--quiet", str(project.repo), str(call.directory))
    settings = call.directory / ".ralphy" / "config.yaml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text("safety: {level: minimal}\n", encoding="utf-8")
    (tmp_path / "PRD.md").write_text("# Sign in\n\n## Objective\n\nPeople sign in.\n", encoding="utf-8")
    for words in (("start", "Add CSV export"), ("decompose", str(tmp_path / "PRD.md"))):
        code, _, err = call(*words)
        assert (words, code, "ralphy trust" in err) == (words, 4, True)
    assert not (call.directory / "docs/features/add-csv-export").exists()
    assert not (call.directory / "docs/features/sign-in").exists()


def test_a_gate_is_approved_in_one_line_and_a_marker_that_no_gate_waits_for_is_refused(made: Make) -> None:
    project, call = made(story("US-001"))
    for words, marker in ((("approve",), "APPROVED"), (("reject", "-m", "smaller"), "REJECTED")):
        code, out, err = call(*words)
        assert (code, out, (project.folder / marker).exists()) == (4, "", False)
        assert err == "ralphy: no gate of login is open now\n  hint: ralphy why login\n"
    code, value = call.json("approve")
    assert (code, value["ok"], value["error"]["code"]) == (4, False, 4)
    assert call("why")[1].startswith("next: ")
    assert call("loop")[0] == 10
    assert call("why")[1].startswith("waits: ")
    assert call.json("why")[1]["decision"] == "Wait"
    for said in ([], ["-m", " "], ["--end", "-m", "smaller"]):
        code, _, err = call("reject", *said)
        assert (said, code, "--end" in err) == (said, 3, True)
    assert not (project.folder / "REJECTED").exists()
    assert call("approve") == (0, "login: APPROVED written; then: ralphy start login\n", "")
    code, _, err = call("reject", "-m", "smaller")
    assert (code, err) == (0, "the approval that was not taken up yet is withdrawn\n")
    assert ((project.folder / "APPROVED").exists(), project.read("REJECTED")) == (False, "smaller")


def test_a_document_that_was_edited_at_its_gate_can_be_approved(made: Make) -> None:
    project, call = made(gates={"spec": "human", "qa": "human"})
    project.play()
    call("loop")
    project.write("SPEC.md", "# Mine\n")
    assert call("approve")[0] == 0
    assert call("approve")[0] == 0


def test_a_defect_is_said_as_one_and_its_traceback_only_when_asked(made: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    _, call = made(*TWO)

    def broken(*_: object, **__: object) -> None:
        raise KeyError("a defect")

    monkeypatch.setattr("ralphy.engine.view.status.observe", broken)
    code, _, err = call("why")
    assert (code, err.splitlines()[0]) == (1, "ralphy: unexpected: KeyError: 'a defect'")
    assert "Traceback" not in err
    assert "Traceback" in call("why", "--verbose")[2]
    assert call.json("why")[1]["error"]["name"] == "unexpected"


@pytest.mark.fault("P16")
def test_a_reader_that_goes_away_is_no_error(made: Make) -> None:
    project, _ = made(*TWO)
    with subprocess.Popen([sys.executable, "-P", "-m", "ralphy", "story", "list"], cwd=project.repo,
                          env={**project.env, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:  # fmt: skip
        assert process.stdout
        process.stdout.close()
        assert process.stderr
        assert process.stderr.read() == b""
        assert process.wait(timeout=PATIENCE_S) == 0


def test_alone_on_a_terminal_it_shows_all_features_and_outside_of_any_project_how_to_begin(made: Make) -> None:
    project, _ = made(*TWO)
    with on_a_terminal(project) as (heard, process):
        heard.until("0/2")
        heard.rest()
    assert heard.text.startswith("Ready\n  login ")
    assert process.returncode == 0
    with on_a_terminal(replace(project, repo=project.repo.parent)) as (heard, process):
        heard.until("ralphy --help")
        heard.rest()
    assert process.returncode == 0
    assert len(heard.text.strip().splitlines()) == 6
    assert "ralphy init" in heard.text
    assert "ralphy demo" in heard.text


COLOURS: tuple[tuple[tuple[str, ...], dict[str, str], bool], ...] = (
    ((), {}, False),
    ((), {"CLICOLOR_FORCE": "1"}, True),
    ((), {"FORCE_COLOR": "0"}, False),
    ((), {"FORCE_COLOR": "3"}, True),
    ((), {"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False),
    (("--color", "always"), {"NO_COLOR": "1"}, True),
    (("--color=never",), {"CLICOLOR_FORCE": "1"}, False),
)


def test_colour_says_what_is_done_and_what_is_wrong(made: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    done = story("US-001", status="completed", passes=True)
    project, call = made(done, story("US-002", status="failed"))
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.chdir(project.repo)
    for words, env, is_coloured in COLOURS:
        with monkeypatch.context() as patch:
            for name, value in env.items():
                patch.setenv(name, value)
            first, failed = call(*words, "status")[1].splitlines()[-2:]
            assert first.startswith("\x1b[32m  ✓ US-001") is is_coloured, (words, env)
            assert failed.startswith("\x1b[31m  ✗") is is_coloured, (words, env)
            assert call(*words, "status", "nowhere")[2].startswith("\x1b[31mralphy:\x1b[0m") is is_coloured
            assert main(["story", "list", *words]) == 0
            assert ("\x1b[32m" in call.capfd.readouterr().out) is is_coloured
            assert "\x1b" not in call(*words, "--json", "status")[1]


def test_with_v_each_act_and_each_command_is_shown(made: Make) -> None:
    project, call = made(story("US-001"), limits={"max_iterations": 1})
    check = project.repo / ".ralphy" / "config.yaml"
    run = json.loads(check.read_text())["checks"][0]["run"]
    said = call("-v", "loop", "--max-iterations", "1")[2]
    assert f"check test: {run} (at most 900 s)" in said
    assert "agent: " in said and "--model sonnet, run " in said
    project.git("reset", "--quiet", "--hard", "main")
    assert "at most 900 s" not in call("loop", "--max-iterations", "1")[2]


def test_a_current_folder_that_was_removed_is_named(tmp_path: Path) -> None:
    script = f"mkdir gone; cd gone; rmdir ../gone; exec {sys.executable} -P -m ralphy status"
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
                          capture_output=True, encoding="utf-8", timeout=PATIENCE_S, check=False)  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "ralphy: the current folder no longer exists\n  hint: change to an existing folder\n"
