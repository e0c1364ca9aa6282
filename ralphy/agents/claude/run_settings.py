"""The settings that an agent runs with: a deny list for Claude Code's own tools.

They are a file of Ralphy's own, outside of the working tree, and named on the command line: a project's settings cannot
switch them off. They tell an honest agent at once what it must not do; the sandbox enforces it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from ralphy.files.atomic import replace_file
from ralphy.files.read import read_regular

# No line of its own in commits, and no prompts from the person's other sessions.
ALONE = {"attribution": {"commit": "", "pr": ""}, "crossSessionInbound": "refuse"}
_COMMANDS = ("git push", "git update-ref", "git rebase", "git worktree", "gh", "glab", "hub", "pkill", "killall")
_CREDENTIALS = ("~/.ssh", "~/.aws", "~/.gnupg", "~/.kube", "~/.config/gh", "~/.config/gcloud")
_PLAIN = re.compile(r"[\w./ @+,:=-]+")  # what a rule takes without reading a pattern into it


def write_settings(folder: Path, name: str, protected: Iterable[Path]) -> Path:
    """The settings file for runs that may not edit the `protected` files and folders, real paths; written if it
    changed."""
    path = folder / f"{name}.settings.json"
    data = json.dumps({**ALONE, "permissions": {"deny": _denied(protected)}}, indent=1).encode()
    if read_regular(path) != data:
        replace_file(path, data, durable=False)
    return path


def _denied(protected: Iterable[Path]) -> list[str]:
    return [
        "AskUserQuestion",
        *(f"Bash({command}:*)" for command in _COMMANDS),
        *(f"Edit(/{path}{'/**' if path.is_dir() else ''})" for path in protected if _PLAIN.fullmatch(str(path))),
        *(f"Read({folder}/**)" for folder in _CREDENTIALS),
    ]
