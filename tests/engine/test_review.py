"""The review answers criterion by criterion, in rounds that end."""

from __future__ import annotations

import json
import re
from pathlib import Path

from ralphy.documents.qa_report import parse_qa_report
from ralphy.engine.view.view import tasks_text
from ralphy.errors import ExitCode
from ralphy.pipeline.model import Prd
from tests.engine.building import Act, assert_clean, build, story, works

AUTO: Act = {"gates": {"spec": "auto", "qa": "auto"}}
BOXED = {"id": "AC1", "description": "Hashed", "done": False}
CRITERIA = [BOXED, "Unique"]


def reviews(verdict: str = "pass", *findings: Act, **met: str) -> Act:
    """The act of a QA agent that answers for criteria: `US_001_2="no"`."""
    rows = [{"id": name.replace("_", "-", 1).replace("_", "."), "met": said} for name, said in met.items()]
    front = json.dumps({"verdict": verdict, "findings": list(findings), "criteria": rows})
    return {"outbox": {"QA_REPORT.md": f"---\n{front}\n---\n# Review {{{{run}}}}\n"}}


def test_each_criterion_is_answered_and_ticked_when_it_is_met(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001", acceptanceCriteria=CRITERIA), **AUTO)
    fixed = {"US_001_1": "yes", "US_001_2": "yes", "FIX-1_1_1": "yes"}
    project.play(
        stories={"*": [works()]}, qa=[reviews(US_001_1="yes"), reviews(US_001_1="yes", US_001_2="no"), reviews(**fixed)]
    )

    ended = project.loop()

    assert (ended.code, ended.runs) == (ExitCode.DONE, ["US-001", "qa", "qa", "FIX-1-1", "qa", "pr"])
    assert "QA_REPORT.md: the criteria have no answer for US-001.2" in project.prompts("qa")[1]
    assert project.story("FIX-1-1")["title"] == "US-001.2 is not met: Unique"
    assert project.story("FIX-1-1")["acceptanceCriteria"] == ["The major finding F1 of the QA report no longer holds"]
    assert project.story("US-001")["acceptanceCriteria"] == [{**BOXED, "done": True}, "Unique"]
    assert "    - [x] AC1: Hashed\n    - [x] Unique\n" in project.read("TASKS.md")
    report = project.read("QA_REPORT.md")
    assert "id: F1" in report and "state: resolved" in report
    assert "- {id: US-001.2, met: 'yes'" in report and "| US-001.2 Unique | none |" in report
    assert_clean(project)

    project.switch()
    project.git("revert", "--no-edit", project.commit_of("US-001"))
    assert "    - [ ] AC1: Hashed\n    - [ ] Unique\n" in tasks_text(Prd.of(project.prd()))


def test_from_the_third_round_on_only_what_is_open_blocks(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001", acceptanceCriteria=["Unique"]), **AUTO)
    leak, late = ({"severity": "major", "title": title} for title in ("Leak", "Too clever"))
    project.play(
        stories={"*": [works()]},
        qa=[reviews("fail", leak, US_001_1="yes"),
            reviews("fail", {**leak, "id": "F1", "title": "Still leaks"}, US_001_1="yes", **{"FIX-1_1_1": "unknown"}),
            reviews("fail", late, **{"FIX-1_1_1": "yes", "FIX-2_1_1": "yes"})],
    )  # fmt: skip

    ended = project.loop()

    assert (ended.code, ended.runs) == (ExitCode.DONE, ["US-001", "qa", "FIX-1-1", "qa", "FIX-2-1", "qa", "pr"])
    second, third = project.prompts("qa")[1:]
    assert "id: F1" in second and "written by Ralphy" not in second
    assert "The scope is frozen" not in second and "The scope is frozen" in third
    (commit,) = re.findall(r"git diff ([0-9a-f]{40})\.\.\.HEAD", third)
    assert project.git("merge-base", "--is-ancestor", commit, "ralph/login") == ""
    report = parse_qa_report(project.read("QA_REPORT.md"), "QA_REPORT.md")
    assert [(f.id, f.title, f.state) for f in report.findings] == [
        ("F2", "Too clever", "noted"), ("F1", "Still leaks", "resolved"),
    ]  # fmt: skip
    assert report.verdict == "pass" and report.criteria
    assert {answer.id: answer.met for answer in report.criteria}["US-001.1"] == "yes"
