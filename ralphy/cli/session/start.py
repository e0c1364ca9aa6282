"""start --mode: do the stories in a session of Claude Code, or by agents of their own."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ralphy.cli.options import Invocation
from ralphy.cli.session.plugin import plugin_folder
from ralphy.errors import EnvironmentProblem, ExitCode, InvalidInput
from ralphy.pipeline.session_mode import HOOK, SCRIPT, mode_of
from ralphy.processes.program_paths import find

_PASSED_ON = {"max_iterations": "--max-iterations", "max_attempts": "--max-attempts"}
_FITTING = {*_PASSED_ON, "only", "dry_run", "_continue"}  # the other options of `start` have no effect in a session


def start_in_session(call: Invocation, feature: str | None, wanted: str, limits: Mapping[str, Any]) -> int | None:
    """Open a session of Claude Code that works on the stories, and give its exit code; None if agents of their own do
    them. `wanted` is hook, or auto; `limits` are the options of `run_options`."""
    with call.seen(feature) as (w, s):
        name, config = w.feature.name, w.config
        mode, why = mode_of(s, config, HOOK if wanted == HOOK else "")
    if mode == HOOK and (unfit := _why_unfit(limits, config.agent.preset)):
        if wanted == HOOK:
            raise InvalidInput(unfit, hint="--mode script")
        mode, why = SCRIPT, unfit
    call.output.note(f"mode: {mode} ({why})")
    if mode == SCRIPT:
        return None
    words = [*config.agent.command, "--plugin-dir", plugin_folder(), _typed(name, limits)]
    if limits["dry_run"]:
        return call.output.answer("start", f"would run: {shlex.join(words)}", mode=mode, why=why, run=words)
    return _session(call.repository().root, words, limits["max_iterations"] or config.limits.max_iterations)


def _why_unfit(limits: Mapping[str, Any], preset: str) -> str:
    """Why no session can be opened; "" if one can."""
    given = (name for name, value in limits.items() if value is not None and value is not False and value != ())
    if name := next((name for name in given if name not in _FITTING), ""):
        return f"--{name.replace('_', '-')} has no effect in a session of Claude Code"
    if len(limits["only"]) > 1 or any("," in word or ".." in word for word in limits["only"]):
        return "a session takes one --story"
    if preset != "claude":
        return f"a session needs Claude Code, and agent.preset is {preset}"
    can_open = limits["dry_run"] or sys.stdin.isatty()
    return "" if can_open else "there is no terminal for a session of Claude Code"


def _typed(feature: str, limits: Mapping[str, Any]) -> str:
    """The plugin's command with which the session begins."""
    command, more = ("ralph-exec", ["--story", *limits["only"]]) if limits["only"] else ("ralph", ["--mode", HOOK])
    for name, option in _PASSED_ON.items():
        more += [option, str(limits[name])] if limits[name] is not None else []
    return f"/ralphy:{command} {shlex.join([feature, *more])}"


def _session(root: Path, words: list[str], iterations: int) -> int:
    program = find(words[0], os.environ, str(root))
    if program is None:
        raise EnvironmentProblem(f"{words[0]} is not on PATH", hint="ralphy doctor")
    # Without it Claude Code ends a session that a hook holds eight times in a row.
    env = {**os.environ, "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": str(iterations + 1)}
    code = subprocess.run([program, *words[1:]], cwd=root, env=env, check=False).returncode
    return ExitCode.DONE if code == 0 else ExitCode.UNEXPECTED
