"""Does a function work its answers out, or does it have those that its tests expect?

What tests expect is read as rows: the literals that stand together in one statement, or in one case of a table.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ralphy.testguard.read.assertions import FUNCTION, Function

Row = frozenset[str]

_PLAIN = frozenset(("0", "1", "2", "-1", "''", "None", "True", "False", "[]", "{}", "()", "...", "0.0", "1.0"))
_MOST_NAMED = 3
_TEXT_LITERAL = re.compile(
    r"""(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`[^`\n]*`|\[[^\[\]\n]*\]"""
)


def literal(node: ast.AST | None) -> str:
    """A literal as it is compared with others; "" if it is none."""
    try:
        return repr(ast.literal_eval(node)) if isinstance(node, ast.expr) else ""
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return ""


def says_much(value: str) -> bool:
    return bool(value) and value not in _PLAIN


def python_rows(tree: ast.Module | None) -> Iterator[Row]:
    """The literals that stand together in a module of tests."""
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Assert | ast.Expr | ast.Tuple | ast.Assign | ast.With | ast.Dict | ast.List):
            items = node.items if isinstance(node, ast.With) else [node]
            row = frozenset(said for item in items for one in ast.walk(item) if (said := literal(one)))
            if row:
                yield row


def text_rows(text: str) -> Iterator[Row]:
    """The same of a language that is read as text: what stands together in a line, or in two."""
    last: Row = frozenset()
    for line in text.splitlines():
        row = frozenset(map(text_literal, _TEXT_LITERAL.findall(line)))
        row |= frozenset(text_literal(one) for whole in re.findall(r"\[[^\[\]\n]*\]", line)
                         for one in _TEXT_LITERAL.findall(whole[1:-1]))  # fmt: skip
        if row:
            yield row | last
        last = row


def text_literal(said: str) -> str:
    """A literal of another language as Python would write it."""
    if said[:1] in "\"'`":
        return repr(said[1:-1])
    if said.startswith("["):
        return "[" + ", ".join(map(text_literal, _TEXT_LITERAL.findall(said[1:-1]))) + "]"
    return said


@dataclass(slots=True)
class _Read:
    """What a function returns: each answer with the literals that it is for and its line, and what it works out."""

    pairs: list[tuple[Row, str, int]] = field(default_factory=list)
    worked_out: int = 0


@dataclass(frozen=True, slots=True)
class Told:
    """What is said of a function's answers ("": nothing), and whether no honest function has such ones."""

    what: str = ""
    is_certain: bool = False


def answers(node: Function, tree: ast.Module, rows: Sequence[Row]) -> Iterator[tuple[int, Told]]:
    """(line, what is said) of a function that has the answers of its tests."""
    parameters = {one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)} - {"self", "cls"}
    assigned = [one for one in (*tree.body, *node.body) if isinstance(one, ast.Assign)]
    tables = {target.id: one.value for one in assigned for target in one.targets
              if isinstance(target, ast.Name) and isinstance(one.value, ast.Dict)}  # fmt: skip
    read = _Read()
    _statements(node.body, frozenset(), tables, read)
    found = told(read.pairs, rows, works_out=bool(read.worked_out))
    if found.what:
        yield read.pairs[0][2], replace(found, what=f"{node.name}() {found.what}")
    elif not read.worked_out and parameters:
        yield from _whatever(node, parameters, read, rows)


def told(pairs: Sequence[tuple[Row, str, int]], rows: Sequence[Row], *, works_out: bool) -> Told:
    """What is said of a function with these answers.

    Two answers or more, each a number for several numbers that it is given, and nothing else: that is no table.
    """
    keyed = [(keys, value) for keys, value, _ in pairs if keys]
    hits = [(keys, value) for keys, value in keyed if any(keys | {value} <= row for row in rows)]
    much = [(keys, value) for keys, value in hits if says_much(value) and any(map(says_much, keys))]
    shown = ", ".join(value for _, value in much[:_MOST_NAMED])
    if works_out or len(hits) < len(keyed):
        return Told(f"answers {shown} where its tests ask, and works out the rest" if much and works_out else "")
    exact = [keys for keys, value in much if is_number(value) and sum(map(is_number, keys)) > 1]
    return Told(f"answers nothing but what its tests expect: {shown}", len(exact) > 1) if much else Told()


def is_number(value: str) -> bool:
    return re.fullmatch(r"-?\d+(?:\.\d+)?", value) is not None


def _whatever(node: Function, parameters: set[str], read: _Read, rows: Sequence[Row]) -> Iterator[tuple[int, Told]]:
    """A function that answers the same whatever it is given."""
    used = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
    values = {value for _, value, _ in read.pairs}
    value = next(iter(values), "")
    if len(values) == 1 and says_much(value) and not used & parameters and any(value in row for row in rows):
        what = f"{node.name}() answers {value} whatever it is given, as its tests expect"
        yield node.lineno, Told(what, is_number(value) and len(parameters) > 1)


def _statements(body: Sequence[ast.stmt], keys: Row, tables: dict[str, ast.Dict], read: _Read) -> None:
    for node in body:
        if isinstance(node, ast.Return) and node.value is not None:
            _value(node.value, keys, tables, read)
        elif isinstance(node, ast.If):
            _statements(node.body, keys | _asked(node.test), tables, read)
            _statements(node.orelse, keys, tables, read)
        elif isinstance(node, ast.Match):
            for case in node.cases:
                _statements(case.body, keys | _matched(case.pattern), tables, read)
        elif isinstance(node, FUNCTION):
            read.worked_out += 1
        else:
            _within(node, keys, tables, read)


def _within(node: ast.stmt, keys: Row, tables: dict[str, ast.Dict], read: _Read) -> None:
    """What a loop, a `with` or a `try` returns; work that is done for its effect counts as worked out."""
    for name in ("body", "orelse", "finalbody"):
        _statements(getattr(node, name, None) or (), keys, tables, read)
    for handler in getattr(node, "handlers", ()):
        _statements(handler.body, keys, tables, read)
    if isinstance(node, ast.For | ast.While | ast.AugAssign):
        read.worked_out += 1


def _value(value: ast.expr, keys: Row, tables: dict[str, ast.Dict], read: _Read) -> None:
    table = _table(value, tables)
    if isinstance(value, ast.IfExp):
        _value(value.body, keys | _asked(value.test), tables, read)
        _value(value.orelse, keys, tables, read)
    elif table is not None and all(key is not None and literal(key) for key in table.keys):
        for key, one in zip(table.keys, table.values, strict=True):
            _value(one, keys | {literal(key)}, {}, read)
    elif said := literal(value):
        read.pairs.append((keys, said, value.lineno))
    else:
        read.worked_out += 1


def _table(value: ast.expr, tables: dict[str, ast.Dict]) -> ast.Dict | None:
    """The dictionary that something is looked up in."""
    at: ast.expr | None = None
    if isinstance(value, ast.Subscript):
        at = value.value
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "get":
        at = value.func.value
    if isinstance(at, ast.Name):
        at = tables.get(at.id)
    return at if isinstance(at, ast.Dict) else None


def _asked(test: ast.expr) -> Row:
    """The literals that a condition compares with."""
    found: set[str] = set()
    for node in ast.walk(test):
        if isinstance(node, ast.Compare) and all(isinstance(op, ast.Eq | ast.In) for op in node.ops):
            found |= {said for one in (node.left, *node.comparators) if (said := literal(one))}
    return frozenset(found)


def _matched(pattern: ast.pattern) -> Row:
    values = [one.value for one in ast.walk(pattern) if isinstance(one, ast.MatchValue)]
    return frozenset(said for value in values if (said := literal(value)))
