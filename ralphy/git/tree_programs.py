"""Programs that Git is configured to run and that lie in the working tree: an agent can change them.

Filters run at every look at a changed file, outside of the sandbox. One whose program an agent can write is never run
by Ralphy's own Git: it is switched off for reading, and a run refuses to begin.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ralphy.errors import EnvironmentProblem
from ralphy.processes import program_paths

if TYPE_CHECKING:
    from ralphy.git.commands import Repository

SETTINGS = (
    r"^(filter\..*\.(clean|smudge|process)|credential\.(.*\.)?helper|core\.(sshcommand|askpass|gitproxy)"
    r"|gpg\.(.*\.)?(program|defaultkeycommand))$"
)
# Variables by which a person's shell (direnv, a Makefile) names programs to git.
_VARIABLES = ("GIT_EXEC_PATH", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_PROXY_COMMAND")
_HOME = re.compile(r"(?:(?<![\w./-])~(?=/)|\$HOME\b|\$\{HOME\})")
_ASKS_ROOT = r"(?:pwd|git rev-parse --show-toplevel)"
_HERE = re.compile(rf"\$PWD\b|\$\{{PWD\}}|\$\({_ASKS_ROOT}\)|`{_ASKS_ROOT}`")
_BREAKS = re.compile(r"[\s;&|<>(){}'\"`]+")
_OFF = ("clean=", "smudge=", "process=", "required=false")


def settings_in_tree(rows: bytes, root: Path, env: Mapping[str, str]) -> dict[str, str]:
    """Setting -> command, where it runs a file of the checkout; `rows` come from `git config -z --get-regexp`."""
    commands = {}
    for row in filter(None, rows.split(b"\0")):
        name, _, command = os.fsdecode(row).partition("\n")
        if _runs_in(name, command, root, env):
            commands[name] = command
    return commands


def variables_in_tree(root: Path, env: Mapping[str, str]) -> dict[str, str]:
    """Variable -> command, where git would run a file of the checkout by it."""
    named = {name: env[name] for name in _VARIABLES if env.get(name)}
    return {name: command for name, command in named.items() if _runs_in(name, command, root, env)}


def _runs_in(name: str, command: str, root: Path, env: Mapping[str, str]) -> bool:
    return any(_is_in(word, at == 0, root, env) for at, word in enumerate(_words(name, command, root, env)))


def require_programs_outside(repository: Repository) -> None:
    """Raises EnvironmentProblem where git would run a program that an agent can change."""
    for name, command in repository.programs_in_tree.items():
        raise EnvironmentProblem(
            f"git runs a program from the working tree: {name} is {command!r}. An agent can change it, "
            "and Ralphy's own git would run it outside the sandbox",
            hint="install the program outside the repository, then: "
            + (f"git config {name} COMMAND" if "." in name else f"export {name}=COMMAND"),
        )


def switched_off(settings: Mapping[str, str]) -> tuple[str, ...]:
    """Options that switch those filters off; the other programs are only needed for a push."""
    filters = dict.fromkeys(name.rpartition(".")[0] for name in settings if name.startswith("filter."))
    return tuple(word for name in filters for off in _OFF for word in ("-c", f"{name}.{off}"))


def _words(name: str, command: str, root: Path, env: Mapping[str, str]) -> Iterator[str]:
    """The words of a command as a shell would run it, those in quotes or behind `;` and `|` too.

    Options and what git fills in (`%f`) are left out; a credential helper of git's own has none.
    """
    if name.startswith("credential.") and not command.startswith(("!", "/", "~")):
        return
    line = _HERE.sub(lambda _: str(root), _HOME.sub(lambda _: env.get("HOME") or "~", command.removeprefix("!")))
    try:
        words = shlex.split(line)
    except ValueError:
        words = line.split()
    yield from (word for word in (*words, *_BREAKS.split(line)) if word and not word.startswith(("-", "%")))


def _is_in(word: str, is_program: bool, root: Path, env: Mapping[str, str]) -> bool:
    if "/" in word:
        place = os.path.normpath(root / word)
        if word.startswith(("/", "../")):
            return any(program_paths.lies_in(at, str(root)) for at in (place, os.path.realpath(place)))
        return is_program or word.startswith("./") or os.path.lexists(place)
    if not is_program:
        return (root / word).is_file()
    path = program_paths.find(word, env) or ""
    return any(program_paths.lies_in(at, str(root)) for at in (path, os.path.realpath(path)) if path)
