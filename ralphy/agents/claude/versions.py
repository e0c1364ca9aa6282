"""Which versions of Claude Code were tested, and a warning about any other."""

from __future__ import annotations

import re

# Oldest first. CI drives the last one (CLAUDE_VERSION in the Makefile); captured streams of each are test data.
TESTED = ("2.1.197", "2.1.330", "2.1.332")
NAMES = ", ".join(TESTED)
INSTALL = f"npm install -g @anthropic-ai/claude-code@{TESTED[-1]}"

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)\b.*\(Claude Code\)")


def why_untested(output: str) -> str:
    """A warning about the version in the output of `claude --version`; "" for a tested one, and for other programs."""
    match = _VERSION.match(output)
    if not match:
        return ""
    version = _numbers(".".join(match.groups()))
    tested = [_numbers(name) for name in TESTED]
    if version in tested:
        return ""
    how = "older than" if version < tested[0] else "newer than" if version > tested[-1] else "not one of"
    return f"{'.'.join(match.groups())} is {how} the tested versions ({NAMES}): may behave differently"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split("."))
