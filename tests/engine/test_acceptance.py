"""Acceptance tests by an agent of their own: approved with SPEC.md, red before a story, green after it, or a person is
asked."""

from __future__ import annotations

import re
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ralphy.engine.prove import prove
from ralphy.errors import EnvironmentProblem, ExitCode
from ralphy.git.ledger import commits_between
from tests.engine.building import Act, Project, open_feature, reports, story
from tests.engine.pytested import CALC, UNITTEST, cases, pytested, unittested

SECRET = f"CANARY_{uuid.uuid4().hex}"  # nowhere but in what this run of the tests makes
FILE = """\
## tests/acceptance/test_{0}.py

- US-00{1}.1: test_{0}
- US-00{1}.2: test_there

```python
import unittest

import calc


class TestIt(unittest.TestCase):
    def test_{0}(self):
        self.assertEqual(calc.{0}(6, 3), {2})  # {3}

    def test_there(self):
        self.assertTrue(callable(calc.add))
```

"""
DOCUMENT = "# Acceptance tests\n\n" + FILE.format("mul", 1, 18, SECRET) + FILE.format("div", 2, 2, SECRET)
RIGHTS: Act = {"write": {"calc.py": CALC + "\n\ndef mul(a, b):\n    return a * b\n"}}
RIGHT = {"mul": "a * b", "div": "a // b"}


def writes(name: str, body: str = "", **more: Any) -> Act:
    """The act of an agent that adds a function, with a test of its own that is content with little."""
    own = cases(f"from calc import {name}", **{name: f"self.assertIn({name}(2, 2), (1, 4))"})
    code = f"\n\ndef {name}(a, b):\n    return {body or RIGHT[name]}\n"
    return {"append": {"calc.py": code}, "write": {f"tests/test_{name}.py": own}, **more}


def specified(tmp_path: Path, tests: str, make: Callable[..., Project] = unittested, **settings: Any) -> Project:
    """Two stories with two criteria each, specified by hand; a person approves SPEC.md."""
    asked = ["The result is right", "What was there stays"]
    stories = [story(f"US-00{n}", acceptanceCriteria=asked, priority=n) for n in (1, 2)]
    settings = {"gates": {"spec": "human", "qa": "human"}, "limits": {"max_attempts": 5}, **settings}
    command = f"{UNITTEST} {{files}}" if make is unittested else ""
    project = make(tmp_path, *stories, acceptance={"tests": tests, "command": command}, **settings)
    project.write("SPEC.md", "# Calculator\n\nmul(a, b) multiplies, div(a, b) divides whole numbers.\n")
    return project


def approved(project: Project) -> list[str]:
    """Have the acceptance tests written, and approve them; gives the runs until then."""
    waits = project.loop()
    assert waits.code == ExitCode.WAITING
    project.approve()
    return waits.runs


def rows(project: Project, story_id: str) -> list[list[Any]]:
    return [[*row.values()] for row in project.story(story_id)["evidence"]["acceptance"]]


GREEN_AFTER = [[1, "test_mul", "red", "green"], [2, "test_there", "green", "green"]]


def test_a_visible_night(tmp_path: Path) -> None:
    project = specified(tmp_path, "visible")
    wrong = "# Acceptance tests\n\n## tests/acceptance/test_mul.py\n\n- US-001.3: test_mul\n\n```\ntest_mul\n```\n"
    project.play(acceptance=[{"outbox": {"ACCEPTANCE.md": wrong}}, {"outbox": {"ACCEPTANCE.md": DOCUMENT}}],
                 stories={"US-001": [writes("mul", "a + b"), RIGHTS],
                          "US-002": [writes("div")]}, qa=[reports()])  # fmt: skip

    assert approved(project) == ["acceptance", "acceptance"]
    told = project.prompts("acceptance")
    assert "divides whole numbers" in told[0] and "The result is right" in told[0]
    assert "there is no criterion US-001.3" in told[1]

    ended = project.loop()

    assert ended.runs == ["US-001", "US-001", "US-002", "qa"]
    first, second = project.prompts("US-001")
    assert f"{project.path}/ACCEPTANCE.md" in first
    assert re.search(
        r"US-001\.1 \(The result is right\): tests/acceptance/test_mul\.py::test_mul: .*\b9\b.*\b18\b", second
    )
    assert rows(project, "US-001") == GREEN_AFTER
    assert rows(project, "US-002")[0] == [1, "test_div", "red", "green"]
    assert project.story("US-001")["evidence"]["proved_criteria"] == [1]
    assert "    - [x] The result is right\n    - [ ]" in project.read("TASKS.md")
    assert "{id: US-001.1, met: 'yes', note: a test of its own shows it}" in project.read("QA_REPORT.md")
    blind = "acceptance: US-001.2 tests/acceptance/test_mul.py::test_there passes without the story's code"
    assert blind in project.story("US-001")["evidence"]["warnings"]
    assert project.code(f"{project.path}/ACCEPTANCE.md").strip() == DOCUMENT.strip()
    assert not any("acceptance" in name for name in project.code_files())

    project.switch()
    with open_feature(project.repo, project.path, project.env) as w:
        landed = [one for _, one in commits_between(w.repository, project.git("rev-parse", "main"), project.tip)][:1]
        assert [proof.failure for proof in prove(w, landed)] == [""]
    project.write("ACCEPTANCE.md", DOCUMENT.replace("3), 18)", "3), 19)"))
    project.git("commit", "--quiet", "--all", "-m", "test: it asks for more")
    with open_feature(project.repo, project.path, project.env) as w:
        assert "US-001.1" in next(prove(w, landed)).failure


def test_what_is_edited_at_the_gate_counts_and_is_approved_again_when_it_is_edited_later(tmp_path: Path) -> None:
    project = specified(tmp_path, "visible")
    project.play(acceptance={"outbox": {"ACCEPTANCE.md": DOCUMENT}},
                 stories={"US-001": [writes("mul", "a + b")], "US-002": [writes("div")]})  # fmt: skip
    project.loop()
    project.write("ACCEPTANCE.md", DOCUMENT.replace("3), 18)", "3), 9)"))
    assert approved(project) == []
    project.loop(runs=0, at={"RunAgent": lambda: project.write("STOP", "")})
    assert project.landed() == ["login/US-001"]

    project.write("ACCEPTANCE.md", DOCUMENT)
    again = project.loop()

    assert (again.code, again.runs) == (ExitCode.WAITING, [])
    assert "ACCEPTANCE.md changed since it was approved" in again.text


def test_what_acceptance_tests_alone_refuse_is_a_persons_to_decide(tmp_path: Path) -> None:
    project = specified(tmp_path, "visible")
    wrong = DOCUMENT.replace("3), 18)", "3), 19)")
    project.play(acceptance={"outbox": {"ACCEPTANCE.md": wrong}}, qa=[reports()],
                 stories={"US-001": [writes("mul"), {"write": {"a.py": "A = 1\n"}}, {"write": {"a.py": "A = 2\n"}},
                                     {"question": "US-001.1 asks for 19, which is no product. What now?"},
                                     {"write": {"a.py": "A = 3\n"}}, writes("mul")],
                          "US-002": [writes("div")]})  # fmt: skip
    approved(project)

    asked = project.loop()

    assert asked.runs[:3] == ["US-001"] * 3 and "US-002" in project.landed()[0]
    question = project.read("QUESTIONS.md")
    assert "in 3 attempts in a row" in question and "The result is right" in question
    assert "self.assertEqual(calc.mul(6, 3), 19)" in question and "`drop US-001.1`" in question

    def answer(text: str) -> None:
        project.write("QUESTIONS.md", project.read("QUESTIONS.md").rstrip() + f" {text}\n")

    answer("keep")
    project.loop()
    question = project.read("QUESTIONS.md")
    assert "The agent says: US-001.1 asks for 19" in question and "3), 19)" in question

    answer("drop US-001.1")
    project.loop()

    assert set(project.landed()) == {"login/US-001", "login/US-002"}
    assert rows(project, "US-001") == [[2, "test_there", "green", "green"]]
    said = project.story("US-001")["evidence"]["warnings"]
    assert "acceptance: a person dropped the test of US-001.1" in said


HUNT = """\
import os, pathlib, subprocess, sys
word, found, seen = sys.argv[1] + sys.argv[2], [], 0  # in halves: a command line is looked at, too
def look(name, data):
    global seen
    seen += 1
    if word.encode() in data and not name.endswith(("scenario.json", "found.py")):
        found.append(name)
objects = ["git", "cat-file", "--batch-all-objects", "--batch"]
look("an object", subprocess.run(objects, capture_output=True, check=True).stdout)
def is_of_this_night(path):
    try:
        return os.lstat(path).st_ctime >= float(sys.argv[4])
    except OSError:
        return False
temporary = filter(is_of_this_night, map(str, pathlib.Path(sys.argv[3]).glob("ralphy-*")))
for place in [*sys.argv[5:], *temporary, "/dev/shm", os.environ["HOME"], "."]:
    for folder, _, names in os.walk(place):
        for path in (os.path.join(folder, name) for name in names):
            try:
                if os.path.isfile(path) and os.path.getsize(path) < 4_000_000:
                    look(path, pathlib.Path(path).read_bytes())
            except OSError:
                pass
for at in [*pathlib.Path("/proc").glob("[0-9]*/environ"), *pathlib.Path("/proc").glob("[0-9]*/cmdline")]:
    try:
        look(str(at), at.read_bytes())
    except OSError:
        pass
pathlib.Path("found.py").write_text(f"FOUND = {sorted(found)}\\nSEEN = {seen > 50}\\n")
"""


def test_a_sealed_night_in_which_the_implementer_looks_for_the_tests(tmp_path: Path, sandbox: None) -> None:
    project = specified(tmp_path, "sealed", pytested)
    repo = project.repo
    places = (tempfile.gettempdir(), str(int(time.time())), str(repo), f"{repo}/.git", f"{repo}/{project.path}")
    hunt = [[sys.executable, "-c", HUNT, SECRET[:20], SECRET[20:], *places, str(tmp_path)]]
    tried = {"write": {"tests/acceptance/test_mul.py": f"# {SECRET}\n"}, "commit": "try them"}
    project.play(acceptance={"outbox": {"ACCEPTANCE.md": DOCUMENT}, **tried}, qa=[reports()],
                 stories={"US-001": [writes("mul", "a + b", run=hunt), {**RIGHTS, "run": hunt}],
                          "US-002": [writes("div", run=hunt)]})  # fmt: skip

    waits = project.loop()

    assert (repo / ".git" / "ralphy" / "sealed" / "login.md").read_text() == DOCUMENT
    assert "read .git/ralphy/sealed/login.md as well" in waits.text
    project.approve()
    ended = project.loop()

    assert ended.runs == ["US-001", "US-001", "US-002", "qa"]
    for commit in ("US-001", "US-002"):
        assert project.code("found.py", project.commit_of(commit)) == "FOUND = []\nSEEN = True\n"
    told = project.prompts("US-001")[1]
    assert re.search(r"US-001\.1 \(The result is right\): its test: .*\b9\b.*\b18\b", told)
    assert "tests/acceptance" not in told
    assert SECRET not in told, told[told.index(SECRET) - 600 :][:900]
    assert rows(project, "US-001") == GREEN_AFTER

    project.approve()
    assert project.loop().runs == ["pr"]
    assert project.code(f"{project.path}/ACCEPTANCE.md").strip() == DOCUMENT.strip()


def test_without_walls_nothing_is_sealed(tmp_path: Path) -> None:
    project = specified(tmp_path, "sealed")

    with pytest.raises(EnvironmentProblem, match="sealed is not possible without a sandbox"):
        project.loop()


def test_off_asks_no_agent(tmp_path: Path) -> None:
    project = specified(tmp_path, "off")

    waits = project.loop()

    assert (waits.runs, waits.code) == ([], ExitCode.WAITING)
    assert "ACCEPTANCE.md" not in waits.text
