"""What a broken agent does to its reader and its machine: floods, garbage, leftovers, hunger, circles."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

from ralphy.rehearsal.stage import OF_A_COMMAND, Stage

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
# The shell goes at once and leaves the sleeper behind: in a session of its own, with init as its parent.
LEAVE_BEHIND = 'sleep "$1" </dev/null >/dev/null 2>&1 & echo $!'
MULTIPLY = 'n=0; while [ $n -lt "$1" ]; do sleep "$2" & n=$((n+1)); done; wait'
_EATS = "import sys, time; held = bytearray(b'x') * (int(sys.argv[1]) << 20); time.sleep(float(sys.argv[2]))"
EAT = (sys.executable, "-I", "-S", "-c", _EATS)
IGNORING = 'trap "" TERM; '


def flood(stage: Stage, megabytes: float) -> None:
    """Print so many megabytes in lines of about 4 kB."""
    size = int(megabytes * MEGABYTE)
    for start in range(0, size, BLOCK):
        stage.stream.say("x" * min(BLOCK, size - start))


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
    stage.bash(f"setsid sleep {seconds} &", [["sh", "-c", script, "sh", seconds]], held)


def same_error(stage: Stage, times: int) -> None:
    """Run what fails, so often; it says the same each time but for the hour and a process number."""
    for number in range(times):
        call = stage.stream.call("Bash", {"command": "make test", "description": OF_A_COMMAND})
        said = f"{time.strftime('%H:%M:%S')} pid {4000 + number}\nE   assert 3 == 4\n1 failed in 0.{number}s"
        stage.stream.refuse(call, f"Exit code 1\n{said}")


TROUBLES: dict[str, Callable[[Stage, Any], None]] = {
    "orphan": orphan,
    "fork_bomb": lambda stage, number: stage.bash("make -j", [["sh", "-c", MULTIPLY, "sh", str(number), HUNGER_S]]),
    "eat_mb": lambda stage, megabytes: stage.bash("python train.py", [[*EAT, str(int(megabytes)), HUNGER_S]]),
    "same_error": same_error,
    "flood_mb": flood,
    "long_line_mb": lambda stage, megabytes: stage.stream.say("x" * int(megabytes * MEGABYTE)),
    "garbage": lambda stage, wanted: stage.stream.put_bytes(b"".join(GARBAGE) if wanted else b""),
    "raw": raw,
}
