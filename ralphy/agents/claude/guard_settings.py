"""The settings that an agent runs with: the guard as a hook that fails closed, and the same rules as a deny list.

They are files of Ralphy's own, outside of the working tree, and named on the command line: a project's settings
cannot switch them off.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

from ralphy.files.atomic import read_regular, replace_file
from ralphy.sandbox.bubblewrap import interpreter

SCRIPT = Path(__file__).with_name("guard.py")
HOOK_S = 10  # longer than the guard's own alarm: a hook that is late would be ignored
# No line of its own in commits, and no prompts from the person's other sessions.
ALONE = {"attribution": {"commit": "", "pr": ""}, "crossSessionInbound": "refuse"}
_COMMANDS = ("git push", "git update-ref", "git rebase", "git worktree", "gh", "glab", "hub", "pkill", "killall")
_CREDENTIALS = ("~/.ssh", "~/.aws", "~/.gnupg", "~/.kube", "~/.config/gh", "~/.config/gcloud")
_PLAIN = re.compile(r"[\w./ @+,:=-]+")  # what a rule takes without reading a pattern into it


def write_settings(folder: Path, name: str, policy: dict[str, Any]) -> Path:
    """The settings file for runs under this policy; only what has changed is written.

    `policy` has `root`, `home`, `level`, `kept` (folders and files that are not the agent's) and `free` (what is
    its own nevertheless), all of them real paths.
    """
    rules, settings = folder / f"{name}.policy.json", folder / f"{name}.settings.json"
    _write(rules, policy)
    _write(settings, _settings(rules, policy))
    return settings


def _settings(rules: Path, policy: dict[str, Any]) -> dict[str, Any]:
    words = (interpreter(), "-I", "-S", str(SCRIPT), str(rules))
    # `|| exit 2` refuses where the guard fails; `onFailure` also where not even the shell can be started.
    hook = {"type": "command", "command": f"{shlex.join(words)} || exit 2", "timeout": HOOK_S, "onFailure": "block"}
    return {**ALONE, "permissions": {"deny": _denied(policy)},
            "hooks": {"PreToolUse": [{"matcher": "*", "hooks": [hook]}]}}  # fmt: skip


def _denied(policy: dict[str, Any]) -> list[str]:
    """Deny rules; the outbox lies in the feature folder, so that is kept by the names of its files."""
    kept = [path for path in policy["kept"] if _PLAIN.fullmatch(path)]
    files = [path for path in kept if not any(free.startswith(f"{path}/") for free in policy["free"])]
    return [
        "AskUserQuestion",
        *(f"Bash({command}:*)" for command in _COMMANDS),
        *(f"Edit(/{path}{'/**' if Path(path).is_dir() else ''})" for path in files),
        *(f"Read({folder}/**)" for folder in _CREDENTIALS),
    ]


def _write(path: Path, value: dict[str, Any]) -> None:
    data = json.dumps(value, indent=1).encode()
    if read_regular(path) != data:
        replace_file(path, data, durable=False)
