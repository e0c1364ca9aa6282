"""A failing check: its first error reaches the terminal, the next attempt, the story's document and QUESTIONS.md."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.core.test_runner_output import NODE
from tests.core.test_secrets import PLANTED
from tests.engine.building import Project, assert_clean, breaks, build, story

KEY = PLANTED["an Anthropic key"]
NOISY = f"""\
import pathlib
import sys

broken = [path for path in sorted(pathlib.Path("src").glob("*.py")) if "BROKEN" in path.read_text()]
if broken:
    print({NODE!r}.replace("/home/me/app", str(pathlib.Path.cwd())))
    print({KEY!r})
    print("a line of a long summary\\\\n" * 2, *range(1000), sep="\\\\n")
sys.exit(1 if broken else 0)
"""


def noisy(tmp_path: Path) -> Project:
    """A check whose output is a long report with a syntax error at its beginning."""
    checks = [{"name": "test", "run": f"{sys.executable} -S -E noisy.py"}]
    project = build(tmp_path, story("US-001"), checks=checks, limits={"max_attempts": 2})
    (project.repo / "noisy.py").write_text(NOISY)
    project.commit("test: a check with a long report", "noisy.py")
    project.play(stories={"US-001": [breaks()]})
    return project


def test_the_first_error_of_a_check_is_told_wherever_its_failure_is(tmp_path: Path) -> None:
    project = noisy(tmp_path)

    ended = project.loop()

    error = "base.js:2: SyntaxError: Unexpected token '=>'"
    assert f"    {error}" in ended.said
    assert error in project.prompts("US-001")[1]
    assert "exports.two = ( => 2;" in project.prompts("US-001")[1]
    assert error in project.story("US-001")["execution"]["last_error"]
    assert "exports.two = ( => 2;" in (project.folder / "stories" / "US-001.md").read_text()
    question = project.read("QUESTIONS.md")
    assert error in question
    assert ">     exports.two = ( => 2;" in question
    assert "How should the next attempt get past this failure?" in question
    assert KEY not in question
    assert len(question) < 3500
    assert_clean(project)
