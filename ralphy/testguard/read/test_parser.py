"""Tests as they are written: what each asserts, so that a renamed, moved or merged one is known again.

An assertion counts only where it can be reached and can fail. Of Python the syntax tree is read (here, and
`ralphy.testguard.read.assertions`); of other languages the text (`ralphy.testguard.read.text_test_parser`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ralphy.testguard.read import silencers
from ralphy.testguard.read.assertions import FUNCTION, Function, Helpers, assertions, ends, names_in
from ralphy.testguard.read.silencers import Aliases
from ralphy.testguard.read.vacuous_asserts import last_name


@dataclass(frozen=True, slots=True)
class Case:
    """A test as it is written. `asserts` are its effective assertions, normalised; `shapes` the same without values.

    `calls` names what it calls, `body` is the whole of it, `is_skipped` says that its own text takes it out, `may_fail`
    that it is expected to fail, whatever happens. `silencers` are what may keep it from running or from counting (also
    an import that may be missing), `awake` is the test without those in its own body, if there are any, and `wording`
    what a silenced test asserts, as a person reads it.
    """

    path: str
    name: str
    body: str
    asserts: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    calls: frozenset[str] = frozenset()
    is_skipped: bool = False
    may_fail: bool = False
    silencers: frozenset[str] = frozenset()
    awake: Case | None = None
    wording: tuple[str, ...] = ()

    @property
    def short(self) -> str:
        return self.name.rsplit(".", 1)[-1] if self.path.endswith(".py") else self.name

    @property
    def shown(self) -> str:
        return f"{self.path}::{self.name.replace('.', '::') if self.path.endswith('.py') else self.name}"


@dataclass(frozen=True, slots=True)
class _Marks:
    """What the decorators of a test, and what stands around it, say of it."""

    is_skipped: bool = False
    may_fail: bool = False
    silencers: frozenset[str] = frozenset()
    aliases: Aliases = field(default_factory=dict)

    def within(self, node: Function | ast.ClassDef) -> _Marks:
        return self.joined(node.decorator_list)

    def joined(self, marks: Sequence[ast.expr]) -> _Marks:
        is_skipped = self.is_skipped or any(names_in(mark) & silencers.MARKS for mark in marks)
        return replace(self, is_skipped=is_skipped, may_fail=self.may_fail or any(map(_excuses, marks)),
                       silencers=self.silencers.union(silencers.of_marks(marks, self.aliases)))  # fmt: skip


_VALUES = (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Subscript, ast.UnaryOp)
_EXCUSES = frozenset(("xfail", "expectedFailure"))
_HELD_BACK = (SyntaxError, ValueError, RecursionError, MemoryError)


def parsed(data: bytes) -> ast.Module | None:
    """The syntax tree of Python source, or None."""
    try:
        return ast.parse(data)
    except _HELD_BACK:
        return None


def functions_of(trees: Sequence[ast.Module]) -> dict[str, Function | ast.ClassDef]:
    """All functions and classes of the modules by name: what a test calls may hold, or swallow, its assertions."""
    nodes = (node for tree in trees for node in ast.walk(tree))
    return {node.name: node for node in nodes if isinstance(node, (*FUNCTION, ast.ClassDef))}


def python_cases(path: str, tree: ast.Module, shared: Helpers) -> Iterator[Case]:
    """The functions and methods of a module that look like tests."""
    helpers = {**shared, **functions_of([tree])}
    try:
        yield from _cases(
            path, tree.body, "", helpers, _around(_Marks(aliases=silencers.aliases_of(tree.body)), tree.body)
        )
    except RecursionError:
        return


def _cases(path: str, body: Sequence[ast.stmt], prefix: str, helpers: Helpers, marks: _Marks) -> Iterator[Case]:
    for at, node in enumerate(body):
        if isinstance(node, FUNCTION) and is_named_test(node):
            if not any(_replaces(later, node.name) for later in body[at + 1 :]):
                yield _case(path, node, f"{prefix}{node.name}", helpers, marks.within(node))
        elif isinstance(node, ast.ClassDef):
            inner = _around(marks.within(node), node.body)
            yield from _cases(path, node.body, f"{prefix}{node.name}.", helpers, inner)
        elif isinstance(node, ast.If | ast.Try):
            yield from _cases(path, [*node.body, *node.orelse], prefix, helpers, marks)


def _replaces(node: ast.stmt, name: str) -> bool:
    """Is a test given another meaning behind its definition: `test_a = …`, `del test_a`?"""
    targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else ()
    is_meant = any(isinstance(target, ast.Name) and target.id == name for target in targets)
    return is_meant and not (isinstance(node, ast.Assign) and name in names_in(node.value))


def is_named_test(node: Function) -> bool:
    """Does a function have the name of a test, and is it no fixture?"""
    is_fixture = any("fixture" in names_in(decorator) for decorator in node.decorator_list)
    return node.name.lower().startswith(("test", "it_", "should")) and not is_fixture


def _case(path: str, node: Function, name: str, helpers: Helpers, marks: _Marks) -> Case:
    found = list(assertions(node, helpers))
    parts = [*node.body, node.args, *(mark for mark in node.decorator_list if last_name(mark) not in silencers.MARKS)]
    calls = frozenset(last_name(n) for part in parts for n in ast.walk(part) if isinstance(n, ast.Call)) - {""}
    body = "\n".join(ast.dump(statement) for statement in node.body if not _is_text(statement))
    asserts, shapes = tuple(map(ast.dump, found)), tuple(map(_shape, found))
    case = Case(path, name, body, asserts, shapes, calls, marks.is_skipped, marks.may_fail)
    silent = marks.silencers.union(silencers.of_body(node.body))
    if not silent:
        return case
    bare = silencers.awake(node)
    awake = _case(path, bare, name, helpers, _Marks()) if bare else None
    asked = list(assertions(bare, helpers)) if bare else found
    return replace(case, silencers=silent, awake=awake, wording=tuple(map(ast.unparse, asked)))


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _excuses(mark: ast.expr) -> bool:
    """Does a mark take in any failure of a test? One with a condition is for other places or times."""
    said: list[ast.expr] = []
    if isinstance(mark, ast.Call):
        said = [*mark.args, *(word.value for word in mark.keywords if word.arg == "condition")]
    return last_name(mark) in _EXCUSES and all(isinstance(found, ast.Constant) and found.value for found in said)


def _around(marks: _Marks, body: Sequence[ast.stmt]) -> _Marks:
    """The same with what a module or a class says of all its tests: `pytestmark`, `__test__`, a skip at its level."""
    for node in body:
        if isinstance(node, ast.Assign):
            targets = {target.id for target in node.targets if isinstance(target, ast.Name)}
            if "pytestmark" in targets:
                several = node.value.elts if isinstance(node.value, ast.List | ast.Tuple) else [node.value]
                marks = marks.joined(several)
            if "__test__" in targets and isinstance(node.value, ast.Constant) and not node.value.value:
                marks = replace(marks, is_skipped=True, silencers=marks.silencers | {"__test__"})
        elif ends(node):
            marks = replace(marks, is_skipped=True)
    return replace(marks, silencers=marks.silencers.union(silencers.of_body(body)))


def _shape(node: ast.AST) -> str:
    """An expression without its values: what a parametrised test has in common with those that it was made of."""
    if isinstance(node, ast.Constant | ast.Name | ast.JoinedStr):
        return "_"
    label = type(node).__name__
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        label, children = f"{node.func.id}()", [*node.args, *node.keywords]
    else:
        label += f".{node.attr}" if isinstance(node, ast.Attribute) else ""
        children = [c for c in ast.iter_child_nodes(node) if not isinstance(c, ast.expr_context)]
    inner = [_shape(child) for child in children]
    values = [said for said, child in zip(inner, children, strict=True) if isinstance(child, ast.expr)]
    if isinstance(node, _VALUES) and set(values) <= {"_"}:  # one in a table is a value as well
        return "_" if not isinstance(node, ast.UnaryOp) or not isinstance(node.op, ast.Not) else "not _"
    return f"{label}({','.join(inner)})"
