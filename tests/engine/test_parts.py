"""Parts: which changes of the stories no test needs is found before the review, once, within a fixed time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Call
from tests.engine.building import Project, story
from tests.engine.pytested import cases, unittested

CODE = "\n\ndef mul(a, b):\n    return a * b\n\n\ndef unused(a):\n    return a\n"
HALF = "\n\ndef half(a):\n    return a / 2\n"
REPORT = """\
---
verdict: pass
findings: []
criteria:
- {id: US-001.1, met: yes, tests: [test_mul]}
---
# Review
"""
TEST_HALF = cases("", half="from calc import half\n\nself.assertEqual(half(4), 2)")


def two_stories(tmp_path: Path, code: str, test: str, **settings: Any) -> Project:
    """A story whose code and test are given, another one, and the review."""
    given = {"verify": {"unproved": "flag"}, "gates": {"spec": "auto", "qa": "human"}, **settings}
    given["proof"] = {"parts": "on", **settings.get("proof", {})}
    first = story("US-001", acceptanceCriteria=["Two numbers are multiplied"])
    project = unittested(tmp_path, first, story("US-002", priority=2), **given)
    project.play(
        stories={
            "US-001": [{"append": {"calc.py": code}, "write": {"tests/test_mul.py": test}}],
            "US-002": [{"append": {"calc.py": HALF}, "write": {"tests/test_half.py": TEST_HALF}}],
        },
        qa=[{"outbox": {"QA_REPORT.md": REPORT}}],
    )
    return project


def test_the_reviewer_and_the_person_are_told_which_changes_no_test_needs(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    test = cases("", mul="from calc import mul\n\nself.assertEqual(mul(2, 3), 6)")
    project = two_stories(tmp_path, CODE, test)

    ended = project.loop()

    assert project.landed() == ["login/US-001", "login/US-002"], ended.text
    found = [project.prd()["workflow"]["parts"][one] for one in ("US-001", "US-002")]
    assert [(one["proved"], one["of"], one["unproved"]) for one in found] == [(1, 2, ["calc.py:13-14"]), (1, 1, [])]
    call = Call(project.repo, capfd)
    code, said, _ = call("story", "show", "login/US-001")
    told = "1 of 2 changes untested: calc.py:13-14"
    assert (code, f"tests: {told}" in said) == (0, True)
    (prompt,) = project.prompts("qa")
    assert prompt.index("US-001: calc.py:13-14 (of 2 changes)") < prompt.index("What was verified already")
    assert project.subjects("chore")[1:] == ["chore(login): QA_REPORT.md by the qa step"]
    row = f"| US-001.1 Two numbers are multiplied | test_mul | red | green | {project.commit_of('US-001')[:10]} |"
    code, said, _ = call("report", "login")
    assert (code, row in project.read("QA_REPORT.md"), row in said) == (0, True, True)
    assert f"- US-001 Story US-001: {told}" in said
    assert "    ralphy approve login" in said
    project.switch()
    project.git("revert", "--no-edit", project.commit_of("US-002"))  # no line of a story's was touched since


def test_where_known_failures_keep_the_checks_red_nothing_is_called_untested(tmp_path: Path) -> None:
    test = cases("", mul="from calc import mul\n\nself.assertEqual(mul(2, 3), 6)")
    project = two_stories(tmp_path, CODE, test)
    (project.repo / "tests" / "test_red.py").write_text(cases("", red="self.fail()"), encoding="utf-8")
    project.commit("test: what fails")

    ended = project.loop(accepts_red=True)

    found = project.prd()["workflow"]["parts"]["US-001"]
    assert (found["of"], found["unproved"], found["left"]) == (2, [], 2)
    assert "US-001: 2 of 2 changes not tried" in "\n".join(ended.said)


def test_the_review_waits_for_the_budget_at_most_and_what_was_not_tried_is_counted(tmp_path: Path) -> None:
    waits = "if hasattr(calc, 'mul') and not hasattr(calc, 'unused'):\n    time.sleep(600)\n"
    test = cases("import calc\nimport time", mul=f"{waits}self.assertEqual(calc.mul(2, 3), 6)")
    project = two_stories(tmp_path, CODE, test, proof={"budget_s": 2})

    ended = project.loop()

    assert ended.runs == ["US-001", "US-002", "qa"], ended.text
    found = project.prd()["workflow"]["parts"]["US-001"]
    assert (found["of"], found["unproved"], found["left"] >= 1) == (2, [], True)
