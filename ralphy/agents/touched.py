"""Which files an agent's tool calls account for: what else changed during a run may be a person's.

Edits name their file. A command accounts for what it names, and for everything below a folder that it names. Formatters
and generators change files that nobody names, so the rest is a question, never a verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from posixpath import basename, dirname
from typing import Any

from ralphy.text.json_coerce import blocks_of, mapping_of, text_of

_FILES = ("file_path", "notebook_path")


@dataclass(slots=True)
class Touched:
    """`files` are the paths of edits as the agent gave them, `commands` the texts of what it ran."""

    files: set[str] = field(default_factory=set)
    commands: set[str] = field(default_factory=set)

    def saw(self, event: Mapping[str, Any]) -> None:
        """Take in the tool calls of a message."""
        for block in blocks_of(mapping_of(event.get("message"))):
            if block.get("type") == "tool_use":
                given = mapping_of(block.get("input"))
                self.files |= {name for key in _FILES if (name := text_of(given.get(key)))}
                self.commands |= {command} if (command := text_of(given.get("command"))) else set()

    def unexplained(self, changed: Iterable[str]) -> tuple[str, ...]:
        """Those of the changed paths (relative, with slashes) that no call accounts for; none if no call was seen."""
        if not self.files and not self.commands:
            return ()
        named = _Named(self)
        return tuple(path for path in changed if not named.explains(path))


class _Named:
    """The same, laid out for many questions: a run may have thousands of calls and of changed files."""

    def __init__(self, touched: Touched) -> None:
        self._commands = "\n".join(touched.commands)
        self._files = touched.files
        self._by_name: dict[str, list[str]] = {}
        for name in touched.files:
            self._by_name.setdefault(basename(name), []).append(name)
        self._folders: dict[str, bool] = {"": False}

    def explains(self, path: str) -> bool:
        if path in self._files or any(_is_at(name, path) for name in self._by_name.get(basename(path), ())):
            return True
        return basename(path) in self._commands or self._names_folder(dirname(path))

    def _names_folder(self, folder: str) -> bool:
        if folder not in self._folders:
            self._folders[folder] = folder in self._commands or self._names_folder(dirname(folder))
        return self._folders[folder]


def _is_at(name: str, path: str) -> bool:
    return name.startswith("/") and name.endswith(f"/{path}")
