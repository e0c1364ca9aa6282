"""One run of the rehearsal agent: reads the command line, prompt and scenario, and plays one turn.

The reader of the scenario is an argument: its imports take most of the start, and Ralphy's tests pass one without them.
"""

from __future__ import annotations

import os
import signal
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ralphy.errors import InvalidInput
from ralphy.rehearsal.context import read_context
from ralphy.rehearsal.endings import FAILED, end
from ralphy.rehearsal.flags import read_flags
from ralphy.rehearsal.signals import Interrupted, SignalHandler
from ralphy.rehearsal.stream import Stream
from ralphy.rehearsal.tools import Tools
from ralphy.rehearsal.turns import choose_turn, work

IGNORABLE = (("ignore_sigterm", signal.SIGTERM), ("ignore_sigint", signal.SIGINT))


def play(argv: list[str], load_scenario: Callable[[Path], dict[str, Any]]) -> int:
    """Play one run and return its exit code; a usage error is 1, with nothing on stdout."""
    signals = SignalHandler()
    try:
        flags = read_flags(argv)
        context = read_context(os.environ, _read_prompt(flags), Path.cwd())
        signals.install()
        turn = choose_turn(load_scenario(context.cwd), context)
    except InvalidInput as problem:
        hint = f"  {problem.hint}\n" if problem.hint else ""
        sys.stderr.write(f"Error: {problem}\n{hint}")
        return FAILED
    for key, number in IGNORABLE:
        if turn.get(key):
            signals.ignore(number)
    tools = Tools(context, Stream(flags, signals), signals)
    try:
        if turn.get("silent_hang"):
            signals.wait_forever()
        tools.stream.init(context, flags)
        work(turn, tools)
        return end(turn, tools, flags)
    except Interrupted:
        if not tools.stream.is_open:  # nothing was printed yet, or the result is out
            return 0
        tools.kill_command()
        tools.stream.interrupt()
        return FAILED


def _read_prompt(flags: Namespace) -> str:
    """The prompt's words and stdin, joined by a line ending; InvalidInput when both are empty."""
    piped = "" if sys.stdin.isatty() else sys.stdin.buffer.read().decode(errors="replace")
    prompt = "\n".join(part for part in (" ".join(flags.words), piped) if part)
    if not prompt.strip():
        what = "Input must be provided either through stdin or as a prompt argument when using --print"
        raise InvalidInput(what)
    return prompt
