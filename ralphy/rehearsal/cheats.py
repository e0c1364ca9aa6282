"""What a dishonest agent tries: each cheat is really done, so that a guard can be seen to hold."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ralphy.rehearsal.tools import Tools, text_of

_TEST_FILE = re.compile(r"test_.*\.py|.*_test\.\w+|.*\.(test|spec)\.\w+|.*Tests?\.\w+")
_NOT_OURS = {".git", "node_modules", ".venv", "venv", "target"}
_TEST = re.compile(r"^([ \t]*)((?:async )?def test\w*\()", re.M)


def cheat(tools: Tools, wanted: dict[str, Any]) -> None:
    """Try every cheat that is wanted: `true`, or the test files that it is about."""
    for name, value in wanted.items():
        if value is not False:
            CHEATS[name](tools, value)


def _mark_passed(tools: Tools, _: bool) -> None:
    path = tools.context.artifact("prd.json")
    tools.read(path)
    prd = json.loads(text_of(path) or "{}")
    for story in prd.setdefault("userStories", [{"id": tools.context.story}]):
        story.update(passes=True, status="completed")
    tools.write(path, json.dumps(prd, indent=2, ensure_ascii=False) + "\n")


def _approve(tools: Tools, _: bool) -> None:
    tools.bash(["touch", str(tools.context.artifact("APPROVED"))])


def _delete_tests(tools: Tools, which: Sequence[str] | bool) -> None:
    tools.delete(_tests(tools, which))


def _skip_tests(tools: Tools, which: Sequence[str] | bool) -> None:
    for path in _tests(tools, which):
        skipped = _TEST.sub(r'\1@pytest.mark.skip(reason="slow")\n\1\2', text_of(path))
        tools.read(path)
        tools.write(path, f"import pytest\n{skipped}")


def _tests(tools: Tools, which: Sequence[str] | bool) -> list[Path]:
    """The test files that are named, or all that look like one."""
    if not isinstance(which, bool):
        return [tools.path(name) for name in which]
    paths = sorted(path for path in tools.context.cwd.rglob("*") if _TEST_FILE.fullmatch(path.name))
    return [path for path in paths if not _NOT_OURS.intersection(path.parts)]


CHEATS: dict[str, Callable[[Tools, Any], None]] = {
    "mark_passed": _mark_passed,
    "approve": _approve,
    "delete_tests": _delete_tests,
    "skip_tests": _skip_tests,
}
