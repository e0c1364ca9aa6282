"""The feature that the scripted agents build: a module that greets, in two stories."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.e2e.scripted import bash, edit, handed_in, read, report, write

STORIES: tuple[dict[str, Any], ...] = (
    {
        "id": "US-001",
        "title": "Greet by name",
        "description": "As a caller I want a greeting.",
        "acceptanceCriteria": ["greet('Ada') is 'Hello, Ada!'"],
        "priority": 1,
        "dependsOn": [],
    },
    {
        "id": "US-002",
        "title": "Shout a greeting",
        "description": "As a caller I want to be heard.",
        "acceptanceCriteria": ["shout('Ada') is 'HELLO, ADA!'"],
        "priority": 2,
        "dependsOn": ["US-001"],
    },
)

GREET = 'def greet(name: str) -> str:\n    return f"Hello, {name}!"\n'
SHOUT = GREET + "\n\ndef shout(name: str) -> str:\n    return greet(name).upper()\n"
TEST_GREET = """\
from greet import greet


def test_ada_is_greeted() -> None:
    assert greet("Ada") == "Hello, Ada!"
"""
TEST_SHOUT = """\
from greet import shout


def test_ada_hears_it() -> None:
    assert shout("Ada") == "HELLO, ADA!"
"""

# What the agents of the two stories answer when all goes well.
GREETING = [[write("greet.py", GREET), write("tests/test_greet.py", TEST_GREET)], report()]
SHOUTING = [[read("greet.py")], [edit("greet.py", GREET, SHOUT), write("tests/test_shout.py", TEST_SHOUT)], report()]


def spec_step(stories: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The spec agent: SPEC.md with a section for each story, stories.json, the report."""
    sections = "".join(f"\n## {story['id']} {story['title']}\n\nIt is in greet.py.\n" for story in stories)
    spec = f"# Greetings\n\nA module that greets.\n{sections}"
    drafted = json.dumps({"userStories": list(stories)}, indent=1)
    return [handed_in({"SPEC.md": spec, "stories.json": drafted}), report("Specified.", promise="COMPLETE")]


def qa_step() -> list[Any]:
    """The QA agent: it looks at the code and finds nothing."""
    found = "---\nverdict: pass\nfindings: []\n---\n\n# Review\n\nNothing was found.\n"
    return [[bash("git log --oneline")], handed_in({"QA_REPORT.md": found}), report("Reviewed.", promise="COMPLETE")]


def pr_step() -> list[Any]:
    """The PR agent: a title and a text that would ping somebody and close an issue."""
    text = "# Greet people by name\n\n## Summary\n\nThanks @octocat. Fixes #7.\n"
    return [handed_in({"PR.md": text}), report("Written.", promise="COMPLETE")]
