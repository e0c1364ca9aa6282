"""What a broken agent does to its reader and its machine: leftovers, hunger, circles, floods and garbage."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

from ralphy.rehearsal.tools import Tools

MEGABYTE = 1_000_000
BLOCK = 4_000
ORPHAN_S = 600
HUNGER_S = "60"  # how long what was taken is held, should nobody end it
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
# The shell exits at once and leaves the sleeper behind: in a session of its own, with init as its parent.
LEAVE_BEHIND = 'sleep "$1" </dev/null >/dev/null 2>&1 & echo $!'
MULTIPLY = 'n=0; while [ $n -lt "$1" ]; do sleep "$2" & n=$((n+1)); done; wait'
EAT = "import sys, time; held = bytearray(b'x') * (int(sys.argv[1]) << 20); time.sleep(float(sys.argv[2]))"


def _orphan(tools: Tools, wanted: bool | dict[str, Any]) -> None:
    """Leave a process behind that outlives the run; the tool's result is its pid."""
    if wanted is False:
        return
    how = wanted if isinstance(wanted, dict) else {}
    script = ('trap "" TERM; ' if how.get("ignore_sigterm") else "") + LEAVE_BEHIND
    held = (os.dup(1),) if how.get("hold_stdout") else ()
    tools.bash(["sh", "-c", script, "sh", str(how.get("seconds", ORPHAN_S))], held=held)


def _fork_bomb(tools: Tools, number: int) -> None:
    tools.bash(["sh", "-c", MULTIPLY, "sh", str(number), HUNGER_S])


def _eat(tools: Tools, megabytes: float) -> None:
    tools.bash([sys.executable, "-I", "-S", "-c", EAT, str(int(megabytes)), HUNGER_S])


def _same_error(tools: Tools, times: int) -> None:
    """Run what fails, so often; the output differs only in the time of day and a process number."""
    for number in range(times):
        call = tools.stream.call("Bash", command="make test")
        what = f"{time.strftime('%H:%M:%S')} pid {4000 + number}\nE   assert 3 == 4\n1 failed in 0.{number}s"
        tools.stream.reply(call, f"Exit code 1\n{what}", is_error=True)


def _flood(tools: Tools, megabytes: float) -> None:
    """Print so many megabytes in lines of about 4 kB."""
    size = int(megabytes * MEGABYTE)
    for start in range(0, size, BLOCK):
        tools.stream.say("x" * min(BLOCK, size - start))


def _long_line(tools: Tools, megabytes: float) -> None:
    tools.stream.say("x" * int(megabytes * MEGABYTE))


def _garbage(tools: Tools, wanted: bool) -> None:
    if wanted:
        tools.stream.put_bytes(b"".join(GARBAGE))


def _raw(tools: Tools, lines: str | list[str]) -> None:
    """Print the lines just as they are."""
    for line in [lines] if isinstance(lines, str) else lines:
        tools.stream.put_bytes(line.encode() + b"\n")


TROUBLES: dict[str, Callable[[Tools, Any], None]] = {
    "orphan": _orphan,
    "fork_bomb": _fork_bomb,
    "eat_mb": _eat,
    "same_error": _same_error,
    "flood_mb": _flood,
    "long_line_mb": _long_line,
    "garbage": _garbage,
    "raw": _raw,
}
