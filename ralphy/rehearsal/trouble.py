"""What a broken agent does to its reader and its machine: floods, garbage, leftovers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from ralphy.rehearsal import tools
from ralphy.rehearsal.stage import Stage

MEGABYTE = 1_000_000
BLOCK = 4_000
ORPHAN_S = 600
GARBAGE = (
    b"\x00\x00\x00\n",
    b'{"type":"assistant","message":{"content":[{"type":"text","text":"\xff\xfe\xc3("}]}}\n',
    b'{"type":"assistant","message":{"conte\n',
    b"}{\n",
    b"\n",
    b"null\n",
    b'["not","an","object"]\n',
    b'{"type":"assistant","message":null}\n',
    b'{"type":"a_type_of_tomorrow","payload":{"x":1}}\n',
    b"Segmentation fault (this is plain text)\r\n",
)
# The shell goes at once and leaves the sleeper behind: in a session of its own, with init as its parent.
LEAVE_BEHIND = 'sleep "$1" </dev/null >/dev/null 2>&1 & echo $!'
IGNORING = 'trap "" TERM; '


def flood(stage: Stage, megabytes: float) -> None:
    """Print so many megabytes in lines of about 4 kB."""
    for size in _sizes(megabytes, BLOCK):
        stage.stream.say("x" * size)


def long_line(stage: Stage, megabytes: float) -> None:
    """Print one single line of so many megabytes."""
    stage.stream.say("x" * int(megabytes * MEGABYTE))


def garbage(stage: Stage, wanted: bool) -> None:
    """Print what no reader expects: NUL bytes, broken UTF-8, broken JSON, JSON that is no object."""
    if wanted:
        stage.stream.put_bytes(b"".join(GARBAGE))


def raw(stage: Stage, lines: str | list[str]) -> None:
    """Print the lines just as they are."""
    for line in [lines] if isinstance(lines, str) else lines:
        stage.stream.put_bytes(line.encode() + b"\n")


def orphan(stage: Stage, wanted: bool | dict[str, Any]) -> None:
    """Leave a process behind that outlives the run; the tool's result is its pid."""
    if not wanted:
        return
    how = wanted if isinstance(wanted, dict) else {}
    script = (IGNORING if how.get("ignore_sigterm") else "") + LEAVE_BEHIND
    seconds = str(how.get("seconds", ORPHAN_S))
    held = (os.dup(1),) if how.get("hold_stdout") else ()
    tools.bash(stage, f"setsid sleep {seconds} &", [["sh", "-c", script, "sh", seconds]], held)


TROUBLES: dict[str, Callable[[Stage, Any], None]] = {
    "orphan": orphan,
    "flood_mb": flood,
    "long_line_mb": long_line,
    "garbage": garbage,
    "raw": raw,
}


def _sizes(megabytes: float, block: int) -> Iterator[int]:
    left = int(megabytes * MEGABYTE)
    while left > 0:
        yield min(block, left)
        left -= block
