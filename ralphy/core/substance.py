"""Does a change do anything? White space, comments and documents alone are no work (ruling 1)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass

DOCUMENTS = (".md", ".rst", ".txt", ".adoc", ".org", ".pdf")
_HASH = (".py", ".rb", ".sh", ".bash", ".yaml", ".yml", ".toml", ".mk", ".r", ".pl", ".ex", ".exs", ".cfg")
_SLASH = (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".go", ".rs", ".c", ".h", ".cc", ".cpp", ".hpp", ".java",
          ".kt", ".swift", ".cs", ".scala", ".php", ".dart", ".css", ".scss")  # fmt: skip
_INDENTED = (".yaml", ".yml", ".mk")  # their indentation means something


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file before and after; None where it was not, or is no longer, there. Modes are git's octal strings."""

    path: str
    old: bytes | None
    new: bytes | None
    mode: str = "100644"


def why_no_work(changes: Iterable[FileChange]) -> str:
    """Why the changes do not count as work on code; "" if at least one of them does."""
    kinds = set()
    for change in changes:
        kind = _kind(change)
        if kind == "code":
            return ""
        kinds.add(kind)
    return f"only {' and '.join(sorted(kinds))} changed" if kinds else "nothing changed"


def _kind(change: FileChange) -> str:
    if change.path.lower().endswith(DOCUMENTS):
        return "documents"
    if change.old is None and change.new is None:
        return "code"
    old, new = _meaning(change.path, change.old or b""), _meaning(change.path, change.new or b"")
    return "white space or comments" if old == new else "code"


def _meaning(path: str, data: bytes) -> object:
    """What is left of a file when its white space and whole-line comments are taken away."""
    if path.endswith(".py"):
        try:
            return ast.dump(ast.parse(data))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return data
    suffix = path[path.rfind(".") :].lower() if "." in path else ""
    marks = (b"#",) if suffix in _HASH else (b"//",) if suffix in _SLASH else ()
    lines = [
        line.rstrip() if suffix in _INDENTED else re.sub(rb"\s+", b" ", line).strip()
        for line in data.splitlines()
    ]
    return [line for line in lines if line and not (marks and line.lstrip().startswith(marks))]


def why_unsafe(path: str, mode: str, target: bytes = b"") -> str:
    """Why a changed entry may not be committed: a nested repository or a link out of this one (ruling 2)."""
    if mode == "160000":
        return f"{path} is a nested repository"
    if mode == "120000" and _leaves(path, target.decode("utf-8", "replace")):
        return f"{path} is a link out of the repository"
    return ""


def _leaves(path: str, target: str) -> bool:
    depth = path.count("/")
    for part in target.split("/"):
        depth += {"..": -1, ".": 0, "": 0}.get(part, 1)
        if depth < 0:
            return True
    return target.startswith("/")
