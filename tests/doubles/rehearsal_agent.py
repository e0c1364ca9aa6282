"""The rehearsal agent of the tests: it plays what a scenario of users can say, and trouble that only these tests want.

More work: `orphan` (true, or seconds, ignore_sigterm, hold_stdout), `fork_bomb`, `eat_mb`, `same_error`, `flood_mb`,
`long_line_mb`, `garbage`, `raw`. More endings: `silent_hang`, `freeze`, `kill`, `no_exit`, `background` (seconds,
write), `ignore_sigterm`, `ignore_sigint`. Runs are counted in the file that RALPHY_REHEARSAL_STATE names, where it is
set, across every `redo`. A scenario is not checked by its schema, which would cost a fifth of a second a run, but
unknown keys of a turn are refused.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ralphy.errors import InvalidInput
from ralphy.rehearsal import agent, endings
from ralphy.rehearsal.context import Context
from ralphy.rehearsal.tools import Tools
from ralphy.rehearsal.turns import WORK, Turn, choose_turn
from ralphy.resources import schema

USUAL_KEYS = set(schema("rehearsal")["$defs"]["turn"]["properties"])
MEGABYTE = 1_000_000
BLOCK = 4_000
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
EAT = "import sys, time; held = bytearray(b'x') * (int(sys.argv[1]) << 20); time.sleep(float(sys.argv[2]))"
MORE_ENDINGS = {"silent_hang", "freeze", "kill", "no_exit", "background", "ignore_sigterm", "ignore_sigint"}


def load(context: Context) -> Turn:
    """What this run plays, and which signals it ignores; a silent hang never returns from here."""
    counted = context._replace(number=count(context) or context.number)
    path = context.cwd / os.environ.get("RALPHY_REHEARSAL", ".ralphy/rehearsal.json")
    turn = choose_turn(json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}, counted)
    if unknown := turn.keys() - USUAL_KEYS - WORK.keys() - MORE_ENDINGS:
        raise InvalidInput(f"unknown keys: {', '.join(sorted(unknown))}")
    for key, number in (("ignore_sigterm", signal.SIGTERM), ("ignore_sigint", signal.SIGINT)):
        if turn.get(key):
            signal.signal(number, lambda *_: None)  # not inherited by commands, unlike SIG_IGN
    if turn.get("silent_hang"):
        signal.signal(signal.SIGINT, lambda *_: os._exit(0))
        while True:
            time.sleep(1)
    return turn


def count(context: Context) -> int:
    """Count one more run of this step or story; 0 where nothing is counted."""
    named = os.environ.get("RALPHY_REHEARSAL_STATE")
    if not named:
        return 0
    try:
        with Path(named).open("a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            counts = json.loads(file.read() or "{}")
            counts[context.key] = number = int(counts.get(context.key, 0)) + 1
            file.truncate(0)
            file.write(json.dumps(counts))
    except OSError:  # the sandbox
        return 0
    return number


def finish(turn: Turn, tools: Tools, flags: Namespace) -> int:
    """The endings of users' scenarios, and some more."""
    if turn.get("freeze"):
        os.kill(os.getpid(), signal.SIGSTOP)
        tools.signals.wait_forever()
    if "kill" in turn:
        number = signal.Signals[turn["kill"]]
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    if "background" in turn:
        go_on(turn, tools, flags)
    code = endings.end(turn, tools, flags)
    if turn.get("no_exit"):
        tools.signals.wait_forever()
    return code


def go_on(turn: Turn, tools: Tools, flags: Namespace) -> None:
    """Print a result while a command is at work, as newer CLIs do; its end, and what it wrote, are a second turn's."""
    wanted, stream, task = turn["background"], tools.stream, "b0"
    row = {"task_id": task, "task_type": "local_bash", "description": "make bench"}
    call = stream.call("Bash", command="make bench", run_in_background=True)
    stream.event("system/background_tasks_changed", tasks=[row])
    stream.event("system/task_started", **row, tool_use_id=call, is_backgrounded=True)
    stream.reply(call, f"Command running in background with ID: {task}.")
    endings.close(turn, tools)
    tools.signals.wait(wanted.get("seconds", 1))
    stream.event("system/task_notification", task_id=task, tool_use_id=call, status="completed", summary="make bench")
    stream.event("system/background_tasks_changed", tasks=[])
    stream.init(tools.context, flags)
    WORK["write"](tools, wanted.get("write", {}))


def orphan(tools: Tools, wanted: bool | dict[str, Any]) -> None:
    """Leave a process behind that outlives the run; the tool's result is its pid."""
    how = wanted if isinstance(wanted, dict) else {}
    seconds = str(how.get("seconds", 600))
    script = ('trap "" TERM; ' if how.get("ignore_sigterm") else "") + LEAVE_BEHIND
    call = tools.stream.call("Bash", command=f"setsid sleep {seconds} &")
    held = (os.dup(1),) if how.get("hold_stdout") else ()
    env = {**os.environ, "CLAUDE_CODE_SESSION_ID": tools.stream.session}
    done = subprocess.run(["sh", "-c", script, "sh", seconds], env=env, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=True, start_new_session=True, pass_fds=held)  # fmt: skip
    tools.stream.reply(call, done.stdout.strip())


def same_error(tools: Tools, times: int) -> None:
    """Run what fails, so often; it says the same each time but for the hour and a process number."""
    for number in range(times):
        call = tools.stream.call("Bash", command="make test")
        what = f"{time.strftime('%H:%M:%S')} pid {4000 + number}\nE   assert 3 == 4\n1 failed in 0.{number}s"
        tools.stream.reply(call, f"Exit code 1\n{what}", is_error=True)


def flood(tools: Tools, megabytes: float) -> None:
    """Print so many megabytes in lines of about 4 kB."""
    for _ in range(int(megabytes * MEGABYTE / BLOCK)):
        tools.stream.say("x" * BLOCK)


def long_line(tools: Tools, megabytes: float) -> None:
    tools.stream.say("x" * int(megabytes * MEGABYTE))


def garbage(tools: Tools, _: bool) -> None:
    tools.stream.put_bytes(b"".join(GARBAGE))


def raw(tools: Tools, lines: list[str]) -> None:
    """Print the lines just as they are."""
    for line in lines:
        tools.stream.put_bytes(line.encode() + b"\n")


def fork_bomb(tools: Tools, number: int) -> None:
    tools.bash(["sh", "-c", MULTIPLY, "sh", str(number), HUNGER_S])


def eat(tools: Tools, megabytes: int) -> None:
    tools.bash([sys.executable, "-I", "-S", "-c", EAT, str(megabytes), HUNGER_S])


TROUBLES: dict[str, Callable[[Tools, Any], None]] = {
    "orphan": orphan,
    "fork_bomb": fork_bomb,
    "eat_mb": eat,
    "same_error": same_error,
    "flood_mb": flood,
    "long_line_mb": long_line,
    "garbage": garbage,
    "raw": raw,
}

if __name__ == "__main__":
    WORK.update(TROUBLES)
    sys.exit(agent.play(sys.argv[1:], load, finish))
