"""plugin: Ralphy inside Claude Code: the folder of its plugin, and the loop of a session."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from ralphy.cli.group import Group
from ralphy.cli.options import Invocation, WholeNumber, feature_argument, with_options
from ralphy.cli.session.loop import begin, end_loop, loop_in, on_stop
from ralphy.documents.session_loop import SessionLoop
from ralphy.errors import InvalidInput
from ralphy.pipeline.session_mode import HOOK, SCRIPT
from ralphy.processes.program_paths import root_around
from ralphy.resources import template_root
from ralphy.text.counted import counted


@click.group("plugin", cls=Group, otherwise="path")
def plugin() -> None:
    """The plugin's hooks call `ralphy plugin hook`; the other commands are for you and the session."""


@plugin.command("path")
@with_options
def path(call: Invocation) -> int:
    """Print the folder of the plugin: claude --plugin-dir "$(ralphy plugin path)"."""
    at = plugin_folder()
    call.output.note(f"to install it, in Claude Code: /plugin marketplace add {at}, then /plugin install ralphy@ralphy")
    return call.output.answer("plugin-path", at, path=at)


def plugin_folder() -> str:
    return str(template_root() / "claude-plugin")


@plugin.command("start")
@feature_argument
@click.option("--mode", type=click.Choice([HOOK, SCRIPT]),
              help="hook: in this session; script: agents of their own. Default: by size.")  # fmt: skip
@click.option("--story", "story_id", metavar="ID", default="", help="Begin with this story.")
@click.option("--one", is_flag=True, help="End after one story.")
@click.option("--prd", type=click.Path(), metavar="FILE", help="The feature's prd.json, in place of its name.")
@click.option("--max-iterations", type=WholeNumber(1), metavar="N", help="Maximum turns of the session.")
@click.option("--max-attempts", type=WholeNumber(1), metavar="N", help="Maximum attempts per story.")
@with_options
def start(
    call: Invocation, feature: str | None, mode: str | None, story_id: str, one: bool, prd: str | None,
    max_iterations: int | None, max_attempts: int | None,
) -> int:  # fmt: skip
    """Begin the loop of a session of Claude Code, and print its first task.

    Fewer than ten stories that take less than two hours are done in the session; more, by agents of their own.
    """
    session = os.environ.get("CLAUDE_CODE_SESSION_ID", "")
    if not session:
        raise InvalidInput("not in a Claude Code session: CLAUDE_CODE_SESSION_ID is not set",
                           hint=" ".join(["ralphy start", *([feature] if feature else []), "--mode hook"]))  # fmt: skip
    feature = os.path.relpath((call.directory / prd).parent, call.directory) if prd else feature
    limits = {"limits.max_iterations": max_iterations, "limits.max_attempts": max_attempts}
    call.override({name: value for name, value in limits.items() if value is not None})
    first_task = begin(call, feature, mode or "", story_id, SessionLoop("", session, is_one=one))
    message = f"mode: {first_task['mode']} ({first_task['why']})\n\n{first_task['prompt']}"
    return call.output.answer("plugin-start", message, **first_task)


@plugin.command("cancel")
@with_options
def cancel(call: Invocation) -> int:
    """End the loop of a session; say how many iterations it took."""
    root = call.repository().root
    loop = loop_in(root)
    end_loop(root)
    took = counted(loop.iteration, "iteration") if loop else ""
    message = f"cancelled the loop of {loop.feature} after {took}" if loop else "no active loop"
    return call.output.answer("plugin-cancel", message, active=loop is not None,
                              iterations=loop.iteration if loop else 0)  # fmt: skip


@plugin.command("hook")
@click.argument("event", type=click.Choice(["session-start", "pre-compact", "stop"]))
@with_options
def hook(call: Invocation, event: str) -> int:
    """Answer a hook of Claude Code, which gives its input on stdin; the plugin calls this."""
    given = json.loads(sys.stdin.read() or "{}")
    root = root_around(str(call.directory))
    loop = loop_in(Path(root)) if root else None
    if loop and loop.session_id == given.get("session_id"):
        sys.stdout.write(json.dumps(_answer(call, event, Path(root), loop, given)) + "\n")
    return 0


def _answer(call: Invocation, event: str, root: Path, loop: SessionLoop, given: Mapping[str, Any]) -> Mapping[str, Any]:
    if event == "stop":
        return on_stop(call, root, loop, given)
    about = f"A Ralphy loop is active: {loop.feature}, iteration {loop.iteration} of at most {loop.max_iterations}."
    if event == "pre-compact":
        return {"systemMessage": f"{about} Ralphy keeps its prompt, and repeats it afterwards."}
    hook_output = {"hookEventName": "SessionStart", "additionalContext": f"{about}\n\n{loop.prompt}"}
    return {"hookSpecificOutput": hook_output}
