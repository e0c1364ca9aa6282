"""status tells what is so, in every phase, and never what was so before."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ralphy.cli.status.inbox import command_of, section_of
from ralphy.cli.status.quick import kept_view
from tests.cli.conftest import Call, Make
from tests.engine.building import ROOT, Project, breaks, reports, story, works

TWO = (story("US-001"), story("US-002", priority=2, dependsOn=["US-001"]))


def agreed(project: Project, call: Call) -> dict[str, Any]:
    """The status, after checking that it is the same worked out anew, kept, and as `why` says."""
    _, why = call.json("why")
    kept = [call.json("status")[1] for _ in range(2)]
    shutil.rmtree(project.repo / ".git" / "ralphy" / "status")
    _, anew = call.json("status")
    for value in (*kept, anew):
        if value["forecast"]:
            del value["forecast"]["ends_at"]  # it moves with the time
    assert kept == [anew, anew]
    assert (anew["phase"], anew["next"]) == (why["phase"], why["reason"])
    return anew


def phase(project: Project, call: Call) -> str:
    return str(agreed(project, call)["phase"])


def test_every_phase_from_the_prd_to_the_end_is_shown(made: Make) -> None:
    project, call = made(gates={"spec": "human", "qa": "human"}, limits={"max_iterations": 1})
    project.play()
    phases = [phase(project, call)]
    for _ in range(9):
        project.approve() if phases[-1].startswith("AWAITING") else None
        code = project.loop().code
        phases.append(phase(project, call))
        if code == 0:
            break
    waits = ("AWAITING_SPEC_VALIDATION", "AWAITING_QA_VALIDATION")
    assert list(dict.fromkeys(phases)) == ["SPECIFICATION", waits[0], "IMPLEMENTATION", "QA", waits[1], "COMPLETED"]


def test_a_run_up_to_the_specification_leaves_its_gate_open(made: Make) -> None:
    project, call = made(gates={"spec": "human", "qa": "human"})
    project.play()
    assert call("loop", "login", "--to", "spec")[0] == 0
    assert phase(project, call) == "AWAITING_SPEC_VALIDATION"
    assert "SPEC.md is ready for review" in call("status")[1] and "`ralphy approve login`" in call("status")[1]


def test_the_fields_are_those_that_scripts_rely_on(made: Make) -> None:
    project, call = made(*TWO, limits={"max_iterations": 1})
    project.loop()
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
    assert "US-002 is next" in text


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
    assert agreed(project, call)["next"].endswith(f"PR.md holds the text; {see}")


def test_where_nothing_was_flagged_nothing_is_said(made: Make) -> None:
    project, call = made(*TWO)
    project.play(stories={"*": [works()]}, qa=[reports()])
    assert "flagged" not in call("loop")[2] + call("status")[1] + call("story", "show", "US-001")[1]


def test_a_feature_that_ended_badly_says_so(made: Make) -> None:
    project, call = made(*TWO, limits={"max_attempts": 1})
    project.play(stories={"US-001": [breaks()]})
    assert project.loop().code == 11
    value = agreed(project, call)
    assert (value["phase"], value["status"]) == ("FAILED", "failed")
    assert value["stories"][1]["status"] == "blocked"
    assert "src/us_001.py::works" in value["stories"][0]["last_error"]


def test_a_step_past_its_time_has_failed_until_it_is_run_again(made: Make) -> None:
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
    project.play(spec=[{"default": True}])
    project.configure(timeouts={}, gates={"spec": "human"})
    assert call("loop")[0] == 10
    assert agreed(project, call)["phase"] == "AWAITING_SPEC_VALIDATION"


def test_a_rejected_specification_is_the_end(made: Make) -> None:
    project, call = made(gates={"spec": "human", "qa": "human"})
    project.play()
    project.loop()
    assert call("reject", "--end")[0] == 0
    project.loop()
    assert phase(project, call) == "REJECTED"


def test_a_limit_is_shown_with_its_time(made: Make) -> None:
    project, call = made(*TWO)
    project.play(stories={"US-001": [{"limit": {"resets_in_s": 3600}}]})
    assert project.loop(waits=False).code == 14
    value = agreed(project, call)
    assert value["status"] == "waiting"
    assert value["waiting_until"] > value["started_at"]


def test_an_empty_folder_is_idle(made: Make) -> None:
    project, call = made()
    (project.folder / "PRD.md").unlink()
    project.write("prd.json", '{"userStories": []}')
    assert phase(project, call) == "IDLE"


Change = Callable[[Project], Any]


def commit(project: Project) -> None:
    project.git("commit", "--quiet", "--allow-empty", "-m", "feat: by hand")


def finish(project: Project) -> None:
    project.loop()


def edit(name: str, text: str) -> Change:
    def change(project: Project) -> None:
        path = project.repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    return change


def set_up(project: Project) -> None:
    """The base is another branch from now on."""
    project.git("branch", "--quiet", "develop")
    project.configure(git={"base": "develop"}, gates={"spec": "human"})


def configure_user(project: Project) -> None:
    path = Path(project.env["XDG_CONFIG_HOME"]) / "ralphy" / "config.yaml"
    path.parent.mkdir(parents=True)
    path.write_text('{"limits": {"max_attempts": 8}}')


FOLDER = "docs/features/login"
PLAN = json.dumps({"branchName": "ralph/login", "userStories": [story("US-009"), *TWO]})
CHANGES: dict[str, Change] = {
    "a file of the code": edit("src/base.py", "BASE = 2\n"),
    "a new file": edit("src/new.py", "NEW = 1\n"),
    "prd.json": edit(f"{FOLDER}/prd.json", PLAN),
    "prd.json twice": lambda p: (edit(f"{FOLDER}/prd.json", f"{PLAN} ")(p), edit(f"{FOLDER}/prd.json", PLAN)(p)),
    "SPEC.md": edit(f"{FOLDER}/SPEC.md", "# Spec\n"),
    "PRD.md": edit(f"{FOLDER}/PRD.md", "# PRD\n"),
    "QA_REPORT.md": edit(f"{FOLDER}/QA_REPORT.md", "---\nverdict: pass\n---\n# QA\n"),
    "a note in the folder": edit(f"{FOLDER}/notes.txt", "hello\n"),
    "progress.txt": edit(f"{FOLDER}/progress.txt", "mine\n"),
    "STOP": edit(f"{FOLDER}/STOP", ""),
    "the configuration": edit(".ralphy/config.yaml", json.dumps({"gates": {"spec": "human"}, "checks": []})),
    "the feature's configuration": edit(f"{FOLDER}/.ralphy/config.yaml", json.dumps({"limits": {"max_attempts": 9}})),
    "the user's configuration": configure_user,
    "a commit": commit,
    "another branch": lambda p: p.git("switch", "--quiet", p.branch),
    "a detached head": lambda p: p.git("switch", "--quiet", "--detach"),
    "another base": set_up,
    "packed refs": lambda p: p.git("pack-refs", "--all", "--prune"),
    "a merge in progress": lambda p: edit(".git/MERGE_HEAD", p.git("rev-parse", "HEAD") + "\n")(p),
    "a rebase in progress": lambda p: (p.repo / ".git" / "rebase-merge").mkdir(),
    "a cherry-pick in progress": lambda p: edit(".git/CHERRY_PICK_HEAD", p.git("rev-parse", "HEAD") + "\n")(p),
    "a story that was reverted": lambda p: (
        p.git("switch", "--quiet", p.branch),
        p.git("revert", "--no-edit", p.commit_of("US-001")),
    ),
    "a rewound branch": lambda p: p.git("branch", "--quiet", "--force", p.branch, f"{p.branch}~1"),
    "a run": finish,
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_view_is_not_shown_any_more_after_a_change_of(made: Make, what: str) -> None:
    project, call = made(*TWO, limits={"max_iterations": 1})
    project.loop()
    agreed(project, call)
    assert kept_view(str(project.repo), "login")
    CHANGES[what](project)
    assert kept_view(str(project.repo), "login") is None
    agreed(project, call)


@pytest.mark.parametrize(("name", "value"), [("RALPHY_LIMITS_MAX_ATTEMPTS", "7"), ("RALPHY_GATES_SPEC", "human")])
def test_a_view_is_not_shown_any_more_with_another_environment(
    made: Make, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    project, call = made(*TWO, limits={"max_iterations": 1})
    project.write("SPEC.md", "# Spec\n")
    project.loop()
    before = agreed(project, call)
    monkeypatch.setenv(name, value)
    after = agreed(project, call)
    assert (after == before) == (name == "RALPHY_GATES_SPEC")


def test_a_second_edit_of_a_changed_file_counts(made: Make) -> None:
    project, call = made(*TWO, checks=None, stack={"language": "python"})
    edit("pyproject.toml", "[project]\nname = 'x'\n")(project)
    agreed(project, call)
    assert kept_view(str(project.repo), "login")
    edit("pyproject.toml", "[tool.pytest.ini_options]\n")(project)
    assert kept_view(str(project.repo), "login") is None
    agreed(project, call)


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


def view_of(project: Project) -> Path:
    (found,) = (project.repo / ".git" / "ralphy" / "status").rglob("*.json")
    return found


def test_a_wait_whose_time_has_come_is_not_shown_any_more(made: Make) -> None:
    project, call = made(*TWO)
    _, before = call.json("status")
    kept = json.loads(view_of(project).read_text())
    kept["value"] |= {"waiting_until": "2000-01-01T00:00:00Z", "next": "waiting for a time that has passed"}
    view_of(project).write_text(json.dumps(kept))
    assert call.json("status")[1] == before


def test_an_open_breaker_is_shown_by_the_clock_and_not_by_the_kept_view(made: Make) -> None:
    project, call = made(*TWO, breaker={"no_progress": 1, "cooldown_s": 3600})
    project.play(stories={"US-001": [{"say": "All done."}]})
    assert call("loop")[0] == 12
    project.write("notes.md", "# Mine\n")  # what comes next is no wait for the breaker any more
    assert call.json("status")[1]["circuit_breaker"]["state"] == "OPEN"
    kept = json.loads(view_of(project).read_text())
    assert (kept["value"]["waiting_until"], kept_view(str(project.repo), "login") is None) == (None, False)
    since, until = kept["value"]["breaker_open"]
    assert until - since == 3600
    for other in ([since - 9000, until - 9000], [since + 9000, until + 9000]):  # it is over; the clock was set back
        kept["value"]["breaker_open"] = other
        view_of(project).write_text(json.dumps(kept))
        assert kept_view(str(project.repo), "login") is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"seen": []}', '{"seen": 1, "value": 2}'])
def test_a_broken_view_is_worked_out_again(made: Make, text: str) -> None:
    project, call = made(*TWO)
    _, before = call.json("status")
    view_of(project).write_text(text)
    assert call.json("status") == (0, before)


def test_a_view_that_can_not_be_kept_costs_nothing_but_time(made: Make) -> None:
    project, call = made(*TWO)
    (project.repo / ".git" / "ralphy").mkdir(exist_ok=True)
    (project.repo / ".git" / "ralphy" / "status").write_text("in the way")
    assert call("status")[0] == 0


def test_a_worktree_has_its_own_view(made: Make, tmp_path: Path) -> None:
    project, call = made(*TWO, limits={"max_iterations": 1})
    project.loop()
    assert agreed(project, call)["tasks_completed"] == 1
    project.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "tree"), "main")
    elsewhere = Call(tmp_path / "tree", call.capfd)
    (tmp_path / "tree" / FOLDER).mkdir(parents=True)
    prd = {"branchName": "ralph/another", "userStories": list(TWO)}
    (tmp_path / "tree" / FOLDER / "prd.json").write_text(json.dumps(prd))
    assert elsewhere.json("status")[1]["tasks_completed"] == 0
    assert elsewhere.json("status")[1]["tasks_completed"] == 0
    assert call.json("status")[1]["tasks_completed"] == 1


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
        ({"status": "waiting", "waiting_until": "2030-01-01T00:00:00Z"}, "waiting", "ralphy why login"),
        ({"status": "waiting"}, "needs_you", "ralphy why login"),
        ({"status": "failed"}, "needs_you", "ralphy status login"),
        ({"status": "stopped", "circuit_breaker": {"state": "OPEN"}, "waiting_until": "2030-01-01T00:00:00Z"},
         "needs_you", "ralphy reset-circuit login"),
        ({"status": "ready", "life": "published"}, "done", "ralphy report login"),
    ],
)  # fmt: skip
def test_what_is_to_be_done_about_a_feature(view: dict[str, Any], section: str, command: str) -> None:
    usual = {"feature": "login", "life": "in_work", "phase": "IMPLEMENTATION", "waiting_until": None,
             "circuit_breaker": {"state": "CLOSED"}}  # fmt: skip
    assert (section_of(usual | view), command_of(usual | view)) == (section, command)


def test_where_there_is_no_utf8_signs_are_spelled(made: Make) -> None:
    project, _ = made(story("US-001", title="Über → ✓"), story("US-002", status="completed", passes=True))
    env = {**project.env, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    for words in (("status",), ("status",), ("-v", "status")):
        argv = [sys.executable, "-P", "-m", "ralphy", *words]
        ended = subprocess.run(argv, cwd=project.repo, env=env, capture_output=True, encoding="ascii", check=True)
        assert "  . US-001 ?ber -> + (pending)\n  + US-002" in ended.stdout


def test_a_name_that_is_no_utf8_is_said_as_json(made: Make) -> None:
    project, _ = made(*TWO, limits={"max_iterations": 1})
    project.loop()
    with open(os.path.join(os.fsencode(project.folder), b"new\xff.py"), "wb"):
        pass
    env = {**project.env, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8:strict"}
    for words in (("why",), ("status",), ("status",), ("loop",)):
        argv = [sys.executable, "-P", "-m", "ralphy", *words, "--json"]
        out = subprocess.run(argv, cwd=project.repo, env=env, capture_output=True, encoding="utf-8").stdout
        assert "new\ufffd.py" in json.loads(out.splitlines()[-1]).get("next", out), words


@pytest.mark.fault("A10")
def test_control_characters_of_a_title_never_reach_the_terminal(made: Make) -> None:
    _, call = made(story("US-001", status="failed", passes=False, execution={"last_error": "\x1b]0;x\x07"}))
    _, out, _ = call("status")
    assert "\x1b" not in out
    assert "\\x1b]0;x\\x07" in out


def test_the_question_of_a_step_shows_in_why_and_status(made: Make) -> None:
    project, call = made()
    project.play(spec=[{"question": "One shop or many?"}])

    code, _, err = call("loop")

    assert code == 10 and "docs/features/login/QUESTIONS.md" in err
    assert "the spec agent asks a question: answer it in QUESTIONS.md" in call("why")[1]
    value = call.json("status")[1]
    assert (value["status"], value["phase"]) == ("waiting", "SPECIFICATION")
    assert "the spec agent asks a question" in value["next"]
