"""The rehearsal agent: reads its command line, prompt and scenario, and plays one turn."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from ralphy.errors import InvalidInput
from ralphy.rehearsal.context import Context, read_context
from ralphy.rehearsal.endings import FAILED, end
from ralphy.rehearsal.flags import read_flags
from ralphy.rehearsal.scenario import load_turn
from ralphy.rehearsal.signals import Interrupted, SignalHandler
from ralphy.rehearsal.stream import Stream
from ralphy.rehearsal.tools import Tools
from ralphy.rehearsal.turns import Turn, work


def main() -> NoReturn:
    """Play one run with this process's arguments, and end the process."""
    sys.exit(play(sys.argv[1:], load_turn, end))


def play(argv: list[str], load: Callable[[Context], Turn], finish: Callable[[Turn, Tools, Namespace], int]) -> int:
    """Play the turn that `load` gives for this run, and return the exit code, which `finish` gives.

    A usage error is 1, with nothing on stdout.
    """
    signals = SignalHandler()
    try:
        flags = read_flags(argv)
        context = read_context(os.environ, _read_prompt(flags), Path.cwd())
        signals.install()
        turn = load(context)
    except InvalidInput as problem:
        hint = f"  {problem.hint}\n" if problem.hint else ""
        sys.stderr.write(f"Error: {problem}\n{hint}")
        return FAILED
    tools = Tools(context, Stream(flags, signals), signals)
    try:
        tools.stream.init(context, flags)
        work(turn, tools)
        return finish(turn, tools, flags)
    except Interrupted:
        if tools.stream.is_closed:
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
