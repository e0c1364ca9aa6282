"""What is said about a version of Claude Code, and that one table names them all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ralphy.agents.claude.versions import NAMES, TESTED, why_untested

MAKEFILE = Path(__file__).parents[2] / "Makefile"


@pytest.mark.parametrize(
    ("said", "part"),
    [
        *((f"{version} (Claude Code)", "") for version in TESTED),
        ("2.1.196 (Claude Code)", f"2.1.196 is older than the tested versions ({NAMES})"),
        ("1.9.999 (Claude Code)", "is older than"),
        ("2.1.200 (Claude Code)", "is not one of"),
        ("2.1.1000 (Claude Code)", "is newer than"),
        ("3.0.0-beta.1 (Claude Code)", "3.0.0 is newer than"),
        ("rehearsal 0.1.0", ""),
        ("", ""),
    ],
)
def test_a_version_that_was_not_tested_is_named(said: str, part: str) -> None:
    found = why_untested(said)
    assert part in found
    assert bool(found) == bool(part)


def test_ci_drives_the_newest_tested_version() -> None:
    pinned = re.search(r"^CLAUDE_VERSION := (\S+)$", MAKEFILE.read_text(encoding="utf-8"), re.M)
    assert pinned and pinned[1] == TESTED[-1]
