"""What an ignored path is, by its name and place: dependencies, a cache, a database; and the globs of `lanes.bring`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from enum import Enum
from pathlib import Path

AUTO = "auto"
SCENARIOS = (".ralphy/rehearsal.yaml", ".ralphy/rehearsal.yml", ".ralphy/rehearsal.json")  # the rehearsal agent's


class Kind(Enum):
    """(what it is, its claim on the room: the lowest comes first, why it stays behind)."""

    NAMED = ("listed in lanes.bring", 0, "")
    DEPENDENCY = ("dependencies", 1, "")
    ENVIRONMENT = ("environment", 2, "")
    DATABASE = ("database", 3, "")
    OTHER = ("other", 4, "")
    CACHE = ("cache", 9, "a cache, or what a build makes")
    LOG = ("log", 9, "a log")
    SCRATCH = ("scratch", 9, "temporary, or an editor's")

    def __init__(self, text: str, rank: int, why_not: str) -> None:
        self.text, self.rank, self.why_not = text, rank, why_not


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
_LOG = re.compile(r"\.log(?:\.[^/]*)?$|^logs?$|^nohup\.out$")
_SCRATCH = re.compile(
    r"^(?:tmp|temp|\.tmp|\.idea|\.vscode|\.vs|\.zed|\.fleet|\.DS_Store|Thumbs\.db)$|\.(?:sw[op]|pid|sock)$|~$"
)
_DATABASE = re.compile(r"\.(?:sqlite3?|db3?|duckdb)(?:-(?:wal|shm|journal))?$", re.I)


def kind_of(root: Path, row: str) -> Kind:
    """What an ignored path of the checkout is; a folder ends with a slash."""
    parts = row.rstrip("/").split("/")
    if dependency_folder(root, row) or any(part.endswith(".egg-info") for part in parts):
        return Kind.DEPENDENCY
    name = parts[-1]
    if not _CACHES.isdisjoint(parts) or _CACHE_NAME.search(name):
        return Kind.CACHE
    if any(_SCRATCH.search(part) for part in parts):
        return Kind.SCRATCH
    if any(_LOG.search(part) for part in parts):
        return Kind.LOG
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


def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a relative path is one that a glob names; one without a slash names what has that name anywhere.

    `*` and `?` stop at a slash, `**` does not.
    """
    text = pattern.strip("/")
    expression = re.compile(
        ("" if "/" in text else "(?:.*/)?") + "".join(map(_translated, _TOKENS.findall(text))), re.S
    )
    return lambda path: bool(expression.fullmatch(path))


_TOKENS = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]/]*\]|.", re.S)
_WILD = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _translated(token: str) -> str:
    if token in _WILD:
        return _WILD[token]
    if len(token) > 2 and token.startswith("["):
        inner = token[1:-1].replace("\\", "\\\\").replace("[", "\\[")
        return f"[^{inner[1:]}]" if inner.startswith("!") else f"[{inner.replace('^', chr(92) + '^', 1)}]"
    return re.escape(token)
