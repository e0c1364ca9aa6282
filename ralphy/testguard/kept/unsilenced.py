"""Old versions of files of tests, made so that each test runs: without what skips it, and without what is gone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ralphy.testguard.read.assertions import FUNCTION
from ralphy.testguard.read.silencers import MARKS, aliases_of, is_silencing
from ralphy.testguard.read.test_parser import parsed
from ralphy.testguard.read.vacuous_asserts import last_name


class _Rule(NamedTuple):
    endings: tuple[str, ...]
    pattern: re.Pattern[str]
    instead: str


_SCRIPTS = (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts")
_RULES = (
    _Rule(_SCRIPTS, re.compile(r"\b(it|test|specify|describe|suite)\.(?:skip|todo|fixme|fails|failing)\b"), r"\1"),
    _Rule(_SCRIPTS, re.compile(r"^([ \t]*)x(it|test|specify|describe)\b", re.M), r"\1\2"),
    _Rule(_SCRIPTS, re.compile(r"\b(?:skip|todo)\s*:\s*(?:true|'[^'\n]*'|\"[^\"\n]*\")\s*,?"), ""),
    _Rule(_SCRIPTS, re.compile(r"^[ \t]*(?:t|ctx|context|this)\.(?:skip|todo)\([^\n]*\);?[ \t]*$", re.M), ""),
    _Rule((".go",), re.compile(r"^[ \t]*t\.Skip(?:Now|f)?\([^\n]*\)[ \t]*$", re.M), ""),
    _Rule((".rs",), re.compile(r"#\[ignore\b[^\]\n]*\]"), ""),
)


def unsilenced(path: str, data: bytes) -> bytes:
    """The file with its tests awake; as it is where nothing skips them, or where it cannot be read."""
    if path.endswith(".py"):
        tree = parsed(data)
        return _without(data, list(_parts(tree.body, frozenset(aliases_of(tree.body))))) if tree else data
    text = data.decode("utf-8", "surrogateescape")
    for rule in _RULES:
        if path.endswith(rule.endings):
            text = rule.pattern.sub(rule.instead, text)
    return text.encode("utf-8", "surrogateescape")


def importable(path: str, data: bytes) -> bytes:
    """A file of Python tests in which an import of what is gone fails the tests that use it, and not the file."""
    tree = parsed(data) if path.endswith(".py") else None
    lines = data.splitlines(keepends=True)
    for node in reversed(tree.body if tree else []):
        if not isinstance(node, ast.ImportFrom) or node.module == "__future__":
            continue
        own = b"".join(lines[node.lineno - 1 : node.end_lineno])
        if not any(name.name == "*" for name in node.names) and b";" not in own:
            each = (ast.unparse(ast.ImportFrom(node.module, [name], node.level)) for name in node.names)
            text = "".join(f"try:\n    {one}\nexcept ImportError:\n    pass\n" for one in each)
            lines[node.lineno - 1 : node.end_lineno] = [text.encode()]
    return b"".join(lines)


def _parts(body: Sequence[ast.stmt], aliases: frozenset[str]) -> Iterator[ast.expr | ast.stmt]:
    """The decorators and statements that take tests out whatever happens, or by a condition of their mark."""
    for node in body:
        if isinstance(node, (*FUNCTION, ast.ClassDef)):
            yield from (mark for mark in node.decorator_list if _is_mark(mark, aliases))
            yield from _parts(node.body, aliases)
        elif is_silencing(node) or _is_pytestmark(node, aliases):
            yield node


def _is_mark(mark: ast.expr, aliases: frozenset[str]) -> bool:
    return last_name(mark) in MARKS or (isinstance(mark, ast.Name) and mark.id in aliases)


def _is_pytestmark(node: ast.stmt, aliases: frozenset[str]) -> bool:
    """`pytestmark` with nothing but marks that skip."""
    if not (isinstance(node, ast.Assign) and any(last_name(target) == "pytestmark" for target in node.targets)):
        return False
    marks = node.value.elts if isinstance(node.value, ast.List | ast.Tuple) else [node.value]
    return all(_is_mark(mark, aliases) for mark in marks)


def _without(data: bytes, parts: Sequence[ast.expr | ast.stmt]) -> bytes:
    """The lines of decorators are emptied; a statement becomes `pass`, so that its block still has one."""
    lines = data.splitlines(keepends=True)
    for part in parts:
        first, last = part.lineno - 1, (part.end_lineno or part.lineno) - 1
        indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        lines[first : last + 1] = [b"\n"] * (last + 1 - first)
        if isinstance(part, ast.stmt):
            lines[first] = indent + b"pass\n"
    return b"".join(lines)
