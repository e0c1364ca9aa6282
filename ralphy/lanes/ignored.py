"""What an ignored path is, by its name and place: dependencies, a cache, a database; and the globs of `lanes.bring`."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import Path

AUTO = "auto"
SCENARIOS = (".ralphy/rehearsal.yaml", ".ralphy/rehearsal.yml", ".ralphy/rehearsal.json")  # the rehearsal agent's


class Kind(Enum):
    """What an ignored path is; its number is its claim on the room: the lowest comes first."""

    NAMED = 0  # listed in lanes.bring
    DEPENDENCY = 1
    ENVIRONMENT = 2
    DATABASE = 3
    OTHER = 4
    LEFTOVER = 9  # a cache, what a build makes, a log, what is temporary, an editor's: it stays


_DEPENDENCIES = frozenset([".venv", "venv", "node_modules", "vendor", ".bundle", "bower_components", ".yarn",
                           "__pypackages__", ".dart_tool", ".terraform", "Pods", ".pixi"])  # fmt: skip
_CACHES = frozenset(["__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox",
                     ".npm", ".pnpm-store", ".next", ".nuxt", ".output", ".svelte-kit", ".angular", ".cache",
                     ".gradle", "target", ".eggs", "htmlcov", "coverage", ".nyc_output", ".turbo", ".parcel-cache",
                     ".vite", "build", "dist", "out", "_build", ".build", "obj", "DerivedData", ".stack-work",
                     "dist-newstyle", ".zig-cache", "zig-out", "storybook-static", ".ipynb_checkpoints", ".vercel",
                     ".netlify", ".serverless", "CMakeFiles", ".ccls-cache", ".clangd"])  # fmt: skip
_CACHE_NAME = re.compile(
    r"\.(?:pyc|pyo|o|obj|class|tsbuildinfo|gcda|gcno|profraw)$|^\.coverage(?:$|\.)|^coverage\.xml$"
)
_LEFTOVER = re.compile(
    r"\.log(?:\.[^/]*)?$|^logs?$|^nohup\.out$|\.(?:sw[op]|pid|sock)$|~$"
    r"|^(?:tmp|temp|\.tmp|\.idea|\.vscode|\.vs|\.zed|\.fleet|\.DS_Store|Thumbs\.db)$"
)
_DATABASE = re.compile(r"\.(?:sqlite3?|db3?|duckdb)(?:-(?:wal|shm|journal))?$", re.I)


def kind_of(root: Path, row: str) -> Kind:
    """What an ignored path of the checkout is; a folder ends with a slash."""
    parts = row.rstrip("/").split("/")
    if dependency_folder(root, row) or any(part.endswith(".egg-info") for part in parts):
        return Kind.DEPENDENCY
    name = parts[-1]
    if not _CACHES.isdisjoint(parts) or _CACHE_NAME.search(name) or any(map(_LEFTOVER.search, parts)):
        return Kind.LEFTOVER
    if name.startswith(".env"):
        return Kind.ENVIRONMENT
    return Kind.DATABASE if _DATABASE.search(name) else Kind.OTHER


def dependency_folder(root: Path, row: str) -> str:
    """The folder of dependencies that an ignored path is, or lies in, with a slash at its end; "" if there is none."""
    *folders, last = row.rstrip("/").split("/")
    names = [*folders, last] if row.endswith("/") else folders
    for depth, name in enumerate(names, 1):
        path = "/".join(names[:depth])
        if name in _DEPENDENCIES or _holds_packages(str(root), path, name):
            return f"{path}/"
        if name in _CACHES:
            return ""
    return ""


def _holds_packages(root: str, path: str, name: str) -> bool:
    """A virtual environment of any name, or Elixir's `deps`."""
    if name == "deps":
        return os.path.lexists(f"{root}/{path}/../mix.exs")
    return os.path.lexists(f"{root}/{path}/pyvenv.cfg")


def matches(pattern: str, path: str) -> bool:
    """Does a glob name a relative path? One without a slash names what has that name anywhere; only `**` goes beyond a
    slash."""
    parts = pattern.strip("/").split("/")
    return _match(path.split("/"), parts if len(parts) > 1 else ["**", *parts])


def _match(names: Sequence[str], parts: Sequence[str]) -> bool:
    if not names or not parts:
        return not names and not parts
    if parts[0] != "**":
        return fnmatchcase(names[0], parts[0]) and _match(names[1:], parts[1:])
    return len(parts) == 1 or _match(names, parts[1:]) or _match(names[1:], parts)
