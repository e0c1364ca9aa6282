"""The rehearsal agent: reads its command line, prompt and scenario, and plays one act."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from typing import NoReturn

from ralphy.errors import InvalidInput
from ralphy.rehearsal import files, signals
from ralphy.rehearsal.flags import Flags, check_flags, read_flags
from ralphy.rehearsal.scenario import choose_act, load_scenario
from ralphy.rehearsal.scene import Scene, read_scene
from ralphy.rehearsal.signals import Vigil
from ralphy.rehearsal.stream import VERSION, Stream, new_uuid

USAGE = """\
Usage: ralphy-rehearsal -p [the flags of claude] < PROMPT

Stands where `claude` stands and plays a scenario: RALPHY_REHEARSAL, else .ralphy/rehearsal.yaml,
else a default that works on any repository. Nothing is sent anywhere and nothing is spent.
"""
STDIN_PATIENCE_S = 3.0
STDIN_MOST = 10_000_000
REFUSED = 1
IGNORABLE = (("ignore_sigterm", signal.SIGTERM), ("ignore_sigint", signal.SIGINT))


def main() -> NoReturn:
    """Play one run with this process's arguments, and end the process."""
    code = play(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # the interpreter's own farewell takes 4 ms of every run


def play(argv: list[str]) -> int:
    """Play one run and return its exit code; a usage error is 1, with nothing on stdout."""
    vigil = Vigil()
    vigil.begin()
    try:
        flags = read_flags(argv)
        if "version" in flags or "help" in flags:
            text = f"{VERSION} (Claude Code rehearsal)\n" if "version" in flags else USAGE
            sys.stdout.write(text)
            return 0
        check_flags(flags)
        return _run(flags, os.environ, files.here(), vigil)
    except InvalidInput as problem:
        sys.stderr.write(f"Error: {problem}\n" + (f"  {problem.hint}\n" if problem.hint else ""))
        return REFUSED


def _run(flags: Flags, environ: Mapping[str, str], cwd: str, vigil: Vigil) -> int:
    scene = read_scene(environ, read_prompt(flags), cwd)
    scenario = load_scenario(environ, cwd)
    act = choose_act(scenario, scene, _count(flags, scene, environ))
    from ralphy.rehearsal import acts, endings
    from ralphy.rehearsal.stage import Stage

    acts.check_act(act, scene)
    session = flags.last("session-id") or flags.last("resume") or new_uuid()
    stream = Stream(session, flags.model, flags.last("output-format", "text"), "verbose" in flags)
    stage = Stage(scene, stream)
    vigil.ignored = {number for key, number in IGNORABLE if act.get(key)}
    if act.get("silent_hang"):
        signals.stay()
    vigil.on_interrupt = lambda: endings.interrupt(act, stage)
    stream.init(scene.cwd, flags.permission_mode, flags.tools)
    acts.work(act, stage)
    return endings.end(act, stage, flags)


def read_prompt(flags: Flags) -> str:
    """The prompt's words and stdin, joined by a line ending; InvalidInput when both are empty or too much."""
    piped = "" if sys.stdin is None or sys.stdin.isatty() else _read_stdin()
    prompt = "\n".join(part for part in (flags.prompt, piped) if part)
    if not prompt.strip():
        what = "Input must be provided either through stdin or as a prompt argument when using --print"
        raise InvalidInput(what)
    return prompt


def _read_stdin() -> str:
    from select import select

    if not select([sys.stdin], [], [], STDIN_PATIENCE_S)[0]:
        sys.stderr.write("Warning: no stdin data received in 3s, proceeding without it.\n")
        return ""
    data = sys.stdin.buffer.read(STDIN_MOST + 1)
    if len(data) > STDIN_MOST:
        raise InvalidInput("piped stdin input exceeds 10MB")
    return data.decode(errors="replace")


def _count(flags: Flags, scene: Scene, environ: Mapping[str, str]) -> int:
    """Which run of its key this is; where nothing can be written, the caller's number stands in."""
    from ralphy.rehearsal.counters import count_run, state_path

    path = state_path(environ, scene.cwd)
    if not path:
        return scene.number
    session = "" if "no-session-persistence" in flags else flags.last("session-id")
    try:
        return count_run(path, scene.key, session)
    except OSError as problem:
        sys.stderr.write(f"Warning: {path} cannot be written ({problem.strerror}): the caller's count is used.\n")
        return scene.number
