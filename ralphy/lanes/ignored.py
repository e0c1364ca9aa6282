"""The kind of a path that Git ignores, by its name and place: dependencies, or the leftover of a tool."""

from __future__ import annotations

import os
import re
from pathlib import Path

AUTO = "auto"
SCENARIOS = (".ralphy/rehearsal.yaml", ".ralphy/rehearsal.yml", ".ralphy/rehearsal.json")  # the rehearsal agent's

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


def is_leftover(root: Path, row: str) -> bool:
    """Is an ignored path a cache, build output, a log, temporary, or an editor's? A folder ends with a slash."""
    parts = row.rstrip("/").split("/")
    is_cache = not _CACHES.isdisjoint(parts) or _CACHE_NAME.search(parts[-1]) or any(map(_LEFTOVER.search, parts))
    return bool(is_cache) and not is_dependency(root, row)


def is_dependency(root: Path, row: str) -> bool:
    """Is it a folder of dependencies, or in one?"""
    return bool(dependency_folder(root, row)) or any(part.endswith(".egg-info") for part in row.rstrip("/").split("/"))


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
