"""Parts: what no test would miss in a landed story's code is found beside other work, and delays none of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ralphy.engine import crew
from ralphy.engine.verify.part_answers import Answer, Answers
from tests.engine.building import ROOT, Project, story
from tests.engine.pytested import pytested

CODE = "\n\ndef mul(a, b):\n    return a * b\n\n\ndef unused(a):\n    return a\n"
AN_ERROR = ("def mul(a, b):\n", "def mul(a, b):\n    if a is None:\n        raise ValueError(a)\n")
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
TEST_HALF = "def test_half():\n    from calc import half\n\n    assert half(4) == 2\n"


def waits_for(condition: str) -> list[list[str]]:
    """What an agent runs until something has happened outside."""
    return [["sh", "-c", f"n=0; until {condition}; do n=$((n+1)); [ $n -lt 600 ] || exit 1; sleep 0.05; done"]]


def shown(project: Project, *words: str) -> tuple[int, str]:
    """(exit code, what it printed) of a call of `ralphy`."""
    env = {**project.env, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-P", "-m", "ralphy", *words], cwd=project.repo, env=env,
                          capture_output=True, encoding="utf-8", check=False)  # fmt: skip
    return done.returncode, done.stdout


def two_stories(tmp_path: Path, code: str, test: str, condition: str, **settings: Any) -> Project:
    """A story whose code and test are given, and one whose agent waits; then the review."""
    given = {"verify": {"unproved": "flag"}, "gates": {"spec": "auto", "qa": "human"}, **settings}
    given["proof"] = {"parts": "on", **settings.get("proof", {})}
    first = story("US-001", acceptanceCriteria=["Two numbers are multiplied"])
    project = pytested(tmp_path, first, story("US-002", priority=2), **given)
    project.play(
        stories={
            "US-001": [{"append": {"calc.py": code}, "write": {"tests/test_mul.py": test}}],
            "US-002": [{"append": {"calc.py": HALF}, "write": {"tests/test_half.py": TEST_HALF},
                        "run": waits_for(condition.replace("REPO", str(project.repo)))}],
        },
        qa=[{"outbox": {"QA_REPORT.md": REPORT}}],
    )  # fmt: skip
    return project


def test_parts_are_asked_about_while_the_next_agent_works_and_before_the_review(tmp_path: Path) -> None:
    test = "def test_mul():\n    from calc import mul\n\n    assert mul(2, 3) == 6\n"
    condition = "[ $(grep -c : REPO/.git/ralphy/parts/login) -ge 3 ]"
    project = two_stories(tmp_path, CODE.replace(*AN_ERROR), test, condition)

    ended = project.loop()

    assert project.landed() == ["login/US-001", "login/US-002"], ended.text
    found = [project.prd()["workflow"]["parts"][one] for one in ("US-001", "US-002")]
    assert [(one["proved"], one["of"], one["unproved"]) for one in found] == [
        (1, 3, ["calc.py:10-11", "calc.py:15-16"]), (1, 1, []),
    ]  # fmt: skip
    code, said = shown(project, "story", "show", "login/US-001")
    told = "1 of 3 parts proved; no test would miss calc.py:10-11, calc.py:15-16"
    assert (code, f"parts: {told}" in said) == (0, True)
    (prompt,) = project.prompts("qa")
    untested = "US-001: calc.py:10-11, calc.py:15-16 (1 of 3 parts are proved)"
    assert prompt.index(untested) < prompt.index("What was verified already")
    assert project.subjects("chore")[1:] == ["chore(login): QA_REPORT.md by the qa step"]
    row = f"| US-001.1 Two numbers are multiplied | test_mul | red | green | {project.commit_of('US-001')[:10]} |"
    code, said = shown(project, "report", "login")
    assert (code, row in project.read("QA_REPORT.md"), row in said) == (0, True, True)
    assert f"- US-001 Story US-001: {told}" in said
    assert "    ralphy approve login" in said
    project.switch()
    project.git("revert", "--no-edit", project.commit_of("US-002"))  # no line of a story's was touched since


def test_a_part_that_is_asked_about_delays_no_story_and_a_review_only_for_its_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crew, "RESYNC_S", 600.0)  # the end of an agent is heard at once, not at the next look
    mark = tmp_path / "asked"
    test = (f"import calc\nimport pathlib\nimport time\n\n\ndef test_mul():\n"
            f"    if hasattr(calc, 'unused') and calc.unused(1) is None:\n"
            f"        pathlib.Path({str(mark)!r}).touch()\n        time.sleep(600)\n"
            f"    assert calc.mul(2, 3) == 6\n")  # fmt: skip
    project = two_stories(tmp_path, CODE, test, f"[ -e {mark} ]", proof={"budget_s": 1})

    ended = project.loop()

    assert project.landed() == ["login/US-001", "login/US-002"], ended.text
    assert project.prd()["workflow"]["parts"]["US-001"]["left"] == 1
    assert ended.runs == ["US-001", "US-002", "qa"]


def test_answers_are_kept_and_a_torn_line_costs_one(tmp_path: Path) -> None:
    Answers(tmp_path / "parts").add("a1:b1", Answer(is_missed=True, seconds=1.5))
    with (tmp_path / "parts").open("ab") as out:
        out.write(b"\na2:b1 ")
    Answers(tmp_path / "parts").add("a3:b1", Answer(is_missed=False, seconds=0.0))

    found = Answers(tmp_path / "parts")
    assert [found.get(f"a{n}:b1") for n in (1, 2, 3)] == [Answer(True, 1.5), None, Answer(False, 0.0)]
