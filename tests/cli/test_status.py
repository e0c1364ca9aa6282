"""status tells what is so, in every phase."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ralphy.cli.status.inbox import command_of, section_of
from tests.cli.conftest import Call, Make
from tests.engine.building import PATIENCE_S, ROOT, Project, breaks, reports, story, works

TWO = (story("US-001"), story("US-002", priority=2, dependsOn=["US-001"]))


def agreed(project: Project, call: Call) -> dict[str, Any]:
    """The status, after checking that it is as `why` says, and that looking leaves nothing behind."""
    _, why = call.json("why")
    before = files_of(project)
    value = call.json("status")[1]
    assert files_of(project) == before
    reason = re.sub(r"^stopped .*\d\d:\d\d; resume: ralphy loop \S+ \((.*)\)$", r"\1", value["next"])
    assert (value["phase"], reason) == (why["phase"], why["reason"])
    assert bool(value["stopped_at"]) == (reason != value["next"])
    return {**value, "next": reason}


def files_of(project: Project) -> set[Path]:
    return set(project.repo.rglob("*"))


def phase(project: Project, call: Call) -> str:
    return str(agreed(project, call)["phase"])


def test_every_phase_from_the_prd_to_the_end_is_shown(made: Make) -> None:
    project, call = made(gates={"spec": "human", "qa": "human"}, limits={"max_iterations": 1})
    project.play()
    phases = [phase(project, call)]
    assert call("loop", "login", "--to", "spec")[0] == 0
    phases.append(phase(project, call))
    assert "SPEC.md is ready for review" in call("status")[1] and "`ralphy approve login`" in call("status")[1]
    for _ in range(9):
        project.approve() if phases[-1].startswith("AWAITING") else None
        code = project.loop().code
        phases.append(phase(project, call))
        if code == 0:
            break
    waits = ("AWAITING_SPEC_VALIDATION", "AWAITING_QA_VALIDATION")
    assert list(dict.fromkeys(phases)) == ["SPECIFICATION", waits[0], "IMPLEMENTATION", "QA", waits[1], "COMPLETED"]


def test_the_fields_are_those_that_scripts_rely_on_and_a_worktree_has_its_own(made: Make, tmp_path: Path) -> None:
    project, call = made(*TWO, limits={"max_iterations": 1})
    log = call("loop")[2]
    value = agreed(project, call)
    assert value["schema"] == "ralphy/status@1"
    assert (value["tasks_completed"], value["tasks_total"], value["status"]) == (1, 2, "ready")
    assert set(value["circuit_breaker"]) == {"state", "attempts", "last_trigger"}
    assert value["started_at"].endswith("Z")
    assert [(row["id"], row["status"], row["passes"]) for row in value["stories"]] == [
        ("US-001", "completed", True),
        ("US-002", "pending", False),
    ]
    assert value["cost_usd"] > 0
    text = call("status")[1]
    assert "login: IMPLEMENTATION, 1 of 2 stories completed" in text
    assert "US-002: starting attempt 1 of 5 with" in text
    assert "flagged" not in log + text + call("story", "show", "US-001")[1]

    project.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "tree"), "main")
    elsewhere = Call(tmp_path / "tree", call.capfd)
    (tmp_path / "tree" / FOLDER).mkdir(parents=True)
    prd = {"branchName": "ralph/another", "userStories": list(TWO)}
    (tmp_path / "tree" / FOLDER / "prd.json").write_text(json.dumps(prd))
    assert elsewhere.json("status")[1]["tasks_completed"] == 0
    assert call.json("status")[1]["tasks_completed"] == 1

    with open(os.path.join(os.fsencode(project.folder), b"new\xff.py"), "wb"):  # a name that is no UTF-8
        pass
    for words in ("status", "loop"):
        with project.start(words, "--json", stdout=subprocess.PIPE) as process:
            out, _ = process.communicate(timeout=PATIENCE_S)
        assert "new\ufffd.py" in json.loads(out.splitlines()[-1]).get("next", out), words


def test_what_was_flagged_is_said_at_every_place_where_a_person_decides(made: Make) -> None:
    project, call = made(*TWO)
    silent = works(say="I implemented it. All tests pass.", exit_signal=None)
    project.play(stories={"US-001": [silent], "US-002": [works()]}, qa=[reports()])
    code, _, log = call("loop")
    see = "flagged in the evidence of US-001 (1): see `ralphy story show US-001`"
    assert code == 10 and see in log
    assert "  flagged: the agent gave no report (EXIT_SIGNAL is missing)" in log
    value = agreed(project, call)
    assert (value["warnings"], [row.get("warnings") for row in value["stories"]]) == (1, [1, None])
    text = call("status")[1]
    assert "  flagged: 1 in the evidence: ralphy story show US-001\n" in text
    assert "Story US-001 (completed, 1 flagged)\n" in text and "Story US-002 (completed)\n" in text
    assert "  flagged:\n    - the agent gave no report" in call("story", "show", "US-001")[1]
    project.approve()
    assert call("loop")[2].count(see) == 1
    assert agreed(project, call)["next"].endswith(f"the pull request text is in PR.md; {see}")


def test_a_feature_that_ended_badly_says_so(made: Make) -> None:
    project, call = made(*TWO, limits={"max_attempts": 1})
    project.play(stories={"US-001": [breaks()]})
    assert project.loop().code == 11
    value = agreed(project, call)
    assert (value["phase"], value["status"]) == ("FAILED", "failed")
    assert value["stories"][1]["status"] == "blocked"
    assert "src/us_001.py::works" in value["stories"][0]["last_error"]


def test_a_step_past_its_time_has_failed_until_it_is_run_again_and_its_question_is_shown(made: Make) -> None:
    project, call = made(timeouts={"specification": 0.01})
    project.play(spec=[{"outbox": {"SPEC.md": "# Half\n"}}])
    why = "the spec step has used its 0 s: SPEC.md is not finished; run it again to go on with as much time"
    code, _, log = call("loop")
    assert code == 13
    assert why in log and "no story is left" not in log
    value = agreed(project, call)
    assert (value["phase"], value["status"]) == ("FAILED", "failed")
    assert value["next"].startswith(why) and "timeouts.specification" in value["next"]
    assert f"ends: {why}" in call("why")[1]

    project.play(spec=[{"default": True}, {"question": "One shop or many?"}, {"default": True}])
    project.configure(timeouts={}, gates={"spec": "human"})
    code, _, err = call("loop")
    assert code == 10 and "docs/features/login/QUESTIONS.md" in err
    assert "the spec agent asks a question: answer it in QUESTIONS.md" in call("why")[1]
    value = call.json("status")[1]
    assert (value["status"], value["phase"]) == ("waiting", "SPECIFICATION")
    assert "the spec agent asks a question" in value["next"]
    project.write("QUESTIONS.md", project.read("QUESTIONS.md").replace("\nAnswer:", "\nAnswer: many", 1))
    assert call("loop")[0] == 10
    assert agreed(project, call)["phase"] == "AWAITING_SPEC_VALIDATION"


def test_an_empty_folder_is_idle(made: Make) -> None:
    project, call = made()
    (project.folder / "PRD.md").unlink()
    project.write("prd.json", '{"userStories": []}')
    assert phase(project, call) == "IDLE"


def test_an_answered_question_is_seen(made: Make) -> None:
    project, call = made(story("US-001"))
    project.play(stories={"US-001": [{"question": "Which colour?"}]})
    project.loop()
    assert "waiting for an answer" in agreed(project, call)["next"]
    unanswered = project.read("QUESTIONS.md")
    for branch in ("main", project.branch):
        project.write("QUESTIONS.md", unanswered)
        project.switch(branch)
        project.write("QUESTIONS.md", unanswered.replace("Answer:\n", "Answer: blue\n"))
        changed = "changed by hand since the last commit: docs/features/login/QUESTIONS.md"
        assert changed in agreed(project, call)["next"]
    project.git("commit", "--quiet", "--all", "-m", "chore: an answer")
    assert "QUESTIONS.md has an answer for US-001" in agreed(project, call)["next"]


def test_markers_at_a_gate_are_seen(made: Make) -> None:
    project, call = made(*TWO)
    project.play(stories={"*": [{"default": True}]}, qa=[reports()])
    assert project.loop().code == 10
    assert phase(project, call) == "AWAITING_QA_VALIDATION"
    project.approve()
    assert "APPROVED was found" in agreed(project, call)["next"]
    (project.folder / "APPROVED").unlink()
    (project.folder / "APPROVED").symlink_to("PRD.md")
    assert "is a symbolic link" in agreed(project, call)["next"]
    (project.folder / "APPROVED").unlink()
    (project.folder / "REJECTED").write_text("No.")
    assert "REJECTED was found" in agreed(project, call)["next"]


FOLDER = "docs/features/login"


def test_an_open_breaker_is_shown_also_where_something_else_comes_next(made: Make) -> None:
    project, call = made(*TWO, breaker={"no_progress": 1, "cooldown_s": 3600})
    project.play(stories={"US-001": [{"say": "All done."}]})
    assert call("loop")[0] == 12
    project.write("notes.md", "# Mine\n")
    value = agreed(project, call)
    assert (value["waiting_until"], value["circuit_breaker"]["state"]) == (None, "OPEN")


def test_all_features_stand_in_an_inbox_with_what_to_type(made: Make) -> None:
    project, call = made(*TWO, gates={"spec": "human", "qa": "human"})
    for name, files in {"logout": ("PRD.md",), "mail": ("PRD.md", "SPEC.md", "prd.json"), "broken": ()}.items():
        folder = project.repo / "docs" / "features" / name
        folder.mkdir()
        for file in files:
            (folder / file).write_text("# Log out\n\n## Objective\n\n- a button\n")
    (project.repo / "docs" / "features" / "mail" / "prd.json").write_text((project.folder / "prd.json").read_text())
    (project.repo / "docs" / "features" / "broken" / "prd.json").write_text("{")
    assert call("loop", "mail")[0] == 10
    code, out, _ = call("status", "--all")
    rows = [line.split("  ")[0] or line.strip().split("  ")[0] for line in out.splitlines()]
    assert code == 3
    assert rows == ["Needs you", "broken", "ralphy validate broken", "mail", "ralphy approve mail",
                    "Ready", "login", "ralphy start login", "logout", "ralphy start logout"]  # fmt: skip
    assert "docs/features/broken/prd.json" in out.splitlines()[1] and "SPECIFICATION" in out
    values = call.json("status", "--all")[1]["features"]
    assert [(v["feature"], v["section"], v["command"]) for v in values] == [
        ("broken", "needs_you", "ralphy validate broken"), ("login", "ready", "ralphy start login"),
        ("logout", "ready", "ralphy start logout"), ("mail", "needs_you", "ralphy approve mail"),
    ]  # fmt: skip
    assert (values[0]["error"]["name"], values[1]["tasks_total"]) == ("invalid_input", 2)
    assert call("status")[0] == 3


@pytest.mark.parametrize(
    ("view", "section", "command"),
    [
        ({"status": "running"}, "working", "ralphy logs login -f"),
        ({"status": "ready", "running": {"purpose": "watch"}}, "waiting", "ralphy why login"),
        ({"status": "ready", "running": {"purpose": "feature mail"}}, "waiting", "ralphy why login"),
        ({"status": "waiting", "waiting_until": "2030-01-01T00:00:00Z"}, "waiting", "ralphy why login"),
        ({"status": "waiting"}, "needs_you", "ralphy why login"),
        ({"status": "failed"}, "needs_you", "ralphy status login"),
        ({"status": "failed", "phase": "IDLE"}, "needs_you", "ralphy validate login"),
        ({"status": "stopped", "circuit_breaker": {"state": "OPEN"}, "waiting_until": "2030-01-01T00:00:00Z"},
         "needs_you", "ralphy reset-circuit login"),
        ({"status": "ready", "life": "published"}, "done", "ralphy report login"),
    ],
)  # fmt: skip
def test_what_is_to_be_done_about_a_feature(view: dict[str, Any], section: str, command: str) -> None:
    usual = {"feature": "login", "life": "in_work", "phase": "IMPLEMENTATION", "waiting_until": None,
             "circuit_breaker": {"state": "CLOSED"}}  # fmt: skip
    assert (section_of(usual | view), command_of(usual | view)) == (section, command)


@pytest.mark.fault("A10")
def test_where_there_is_no_utf8_signs_are_spelled(made: Make) -> None:
    """And no control character of a title ever reaches a terminal."""
    project, call = made(story("US-001", title="Über → ✓"), story("US-002", status="completed", passes=True),
                         story("US-003", status="failed", execution={"last_error": "\x1b]0;x\x07"}))  # fmt: skip
    env = {**project.env, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    argv = [sys.executable, "-P", "-m", "ralphy", "status"]
    ended = subprocess.run(argv, cwd=project.repo, env=env, capture_output=True, encoding="ascii", check=True)
    assert "  . US-001 ?ber > + (pending)\n  + US-002" in ended.stdout
    _, out, _ = call("status")
    assert "\x1b" not in out
    assert "\\x1b]0;x\\x07" in out
