"""Tests as they are written: what each asserts, so that a renamed, moved or merged one is known again.

An assertion counts only where it can be reached and can fail. Of Python the syntax tree is read (here); of other
languages the text (`ralphy.core.cases_text`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    """A test as it is written. `asserts` are its effective assertions, normalised; `shapes` the same without values.

    `calls` names what it calls, `body` is the whole of it, `is_skipped` says that its own text takes it out.
    """

    path: str
    name: str
    body: str
    asserts: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    calls: frozenset[str] = frozenset()
    is_skipped: bool = False

    @property
    def short(self) -> str:
        return self.name.rsplit(".", 1)[-1] if self.path.endswith(".py") else self.name

    @property
    def shown(self) -> str:
        return f"{self.path}::{self.name.replace('.', '::') if self.path.endswith('.py') else self.name}"


_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Functions = Mapping[str, _Function]
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_ASSERTING = re.compile(
    r"(?:assert|expect|check|verify|ensure|should|validate|require|compare|raises|warns|deprecated_call|fail|must)"
    r"|\w*_(?:assert|check|verify|equals?|raises)(?:_|$)"
)
_SKIPPING = frozenset(("skip", "skipTest", "xfail", "exit", "SkipTest", "_exit"))
_SKIP_MARKS = frozenset(("skip", "skipif", "skipIf", "skipUnless", "xfail", "expectedFailure"))
_SWALLOWED = frozenset(("Exception", "BaseException", "AssertionError"))
_PLAIN = frozenset(("assertTrue", "assertFalse", "assertEqual", "assertNotEqual", "assertIs", "assertIsNone",
                    "assertIsNotNone", "assertIn", "expect"))  # fmt: skip
_DEEP = 5
_HELD_BACK = (SyntaxError, ValueError, RecursionError, MemoryError)


def parsed(data: bytes) -> ast.Module | None:
    """The syntax tree of Python source, or None."""
    try:
        return ast.parse(data)
    except _HELD_BACK:
        return None


def functions_of(trees: Sequence[ast.Module]) -> dict[str, _Function]:
    """All functions of the modules by their name: what a test calls may hold its assertions."""
    return {node.name: node for tree in trees for node in ast.walk(tree) if isinstance(node, _FUNCTION)}


def python_cases(path: str, tree: ast.Module, shared: _Functions) -> Iterator[Case]:
    """The functions and methods of a module that look like tests."""
    helpers = {**shared, **functions_of([tree])}
    is_skipped = _skips_all(tree.body)
    try:
        yield from _cases(path, tree.body, "", helpers, is_skipped=is_skipped)
    except RecursionError:
        return


def _cases(
    path: str, body: Sequence[ast.stmt], prefix: str, helpers: _Functions, *, is_skipped: bool
) -> Iterator[Case]:
    for node in body:
        if isinstance(node, _FUNCTION) and _is_named_test(node):
            yield _case(path, node, f"{prefix}{node.name}", helpers, is_skipped=is_skipped or _is_marked(node))
        elif isinstance(node, ast.ClassDef):
            out = is_skipped or _is_marked(node) or _skips_all(node.body)
            yield from _cases(path, node.body, f"{prefix}{node.name}.", helpers, is_skipped=out)
        elif isinstance(node, ast.If | ast.Try):
            yield from _cases(path, [*node.body, *node.orelse], prefix, helpers, is_skipped=is_skipped)


def _is_named_test(node: _Function) -> bool:
    is_fixture = any("fixture" in _names(decorator) for decorator in node.decorator_list)
    return node.name.lower().startswith(("test", "it_", "should")) and not is_fixture


def _case(path: str, node: _Function, name: str, helpers: _Functions, *, is_skipped: bool) -> Case:
    found = list(_asserts(node.body, helpers, ()))
    calls = frozenset(_called(call) for call in ast.walk(node) if isinstance(call, ast.Call)) - {""}
    body = "\n".join(ast.dump(statement) for statement in node.body if not _is_text(statement))
    return Case(path, name, body, tuple(map(ast.dump, found)), tuple(map(_shape, found)), calls, is_skipped)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_marked(node: _Function | ast.ClassDef) -> bool:
    return any(_names(decorator) & _SKIP_MARKS for decorator in node.decorator_list)


def _names(node: ast.AST) -> set[str]:
    return {n.attr if isinstance(n, ast.Attribute) else n.id for n in ast.walk(node)
            if isinstance(n, ast.Attribute | ast.Name)}  # fmt: skip


def _skips_all(body: Sequence[ast.stmt]) -> bool:
    """Does a module or a class take all of its tests out: `pytestmark`, `__test__`, a skip at its level?"""
    for node in body:
        if isinstance(node, ast.Assign):
            targets = {target.id for target in node.targets if isinstance(target, ast.Name)}
            if "pytestmark" in targets and _names(node.value) & _SKIP_MARKS:
                return True
            if "__test__" in targets and isinstance(node.value, ast.Constant) and not node.value.value:
                return True
        elif _ends(node):
            return True
    return False


def _ends(node: ast.stmt) -> bool:
    """Is what stands behind this statement never reached?"""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return _called(node.value) in _SKIPPING
    return isinstance(node, ast.Return | ast.Raise)


def _called(call: ast.Call) -> str:
    """The last name of what is called."""
    function = call.func
    return (
        function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
    )


def _asserts(body: Sequence[ast.stmt], helpers: _Functions, within: tuple[str, ...]) -> Iterator[ast.expr]:
    """The assertions that are reached and can fail, those of called helpers in their place."""
    for node in body:
        if isinstance(node, ast.Assert):
            if not _is_vacuous(node.test):
                yield node.test
        elif isinstance(node, ast.Raise) and node.exc is not None and "AssertionError" in _names(node.exc):
            yield node.exc
        else:
            for inner in _blocks(node):
                yield from _asserts(inner, helpers, within)
            yield from _asserting_calls(node, helpers, within)
        if _ends(node):
            return


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The statements within a statement, but for those that never run or whose failures are swallowed."""
    if isinstance(node, ast.If) and isinstance(node.test, ast.Constant):
        yield node.body if node.test.value else node.orelse
        return
    is_swallowed = isinstance(node, ast.Try) and any(map(_swallows, node.handlers))
    is_swallowed = is_swallowed or (isinstance(node, ast.With) and any(map(_suppresses, node.items)))
    is_never = isinstance(node, ast.For) and isinstance(node.iter, ast.List | ast.Tuple) and not node.iter.elts
    is_never = is_never or (isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and not node.test.value)
    if not is_swallowed and not is_never:
        yield getattr(node, "body", [])
    yield getattr(node, "orelse", [])
    yield getattr(node, "finalbody", [])
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def _swallows(handler: ast.ExceptHandler) -> bool:
    names = _SWALLOWED if handler.type is None else _names(handler.type)
    return bool(names & _SWALLOWED) and not any(isinstance(n, ast.Raise | ast.Assert) for n in ast.walk(handler))


def _suppresses(item: ast.withitem) -> bool:
    call = item.context_expr
    return isinstance(call, ast.Call) and _called(call) == "suppress" and bool(_names(call) & _SWALLOWED)


def _asserting_calls(node: ast.stmt, helpers: _Functions, within: tuple[str, ...]) -> Iterator[ast.expr]:
    """Calls in a statement's own expressions that assert: by their name, or by what a helper of that name does."""
    for expression in _expressions(node):
        for call in ast.walk(expression):
            if not isinstance(call, ast.Call):
                continue
            name = _called(call)
            helper = helpers.get(name) if _is_own(call.func) else None
            if helper is not None:
                if name not in within and len(within) < _DEEP:
                    yield from _asserts(helper.body, helpers, (*within, name))
            elif _ASSERTING.match(name) and not _is_vacuous_call(call):
                yield expression
                break


def _is_own(function: ast.expr) -> bool:
    """`check(…)` and `self.check(…)` may be written in the same files."""
    owner = function.value if isinstance(function, ast.Attribute) else function
    return isinstance(function, ast.Name) or (isinstance(owner, ast.Name) and owner.id in ("self", "cls"))


def _expressions(node: ast.stmt) -> Iterator[ast.expr]:
    if isinstance(node, (*_FUNCTION, ast.ClassDef)):
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield child
        elif isinstance(child, ast.withitem):
            yield child.context_expr


def _is_vacuous_call(call: ast.Call) -> bool:
    """`self.assertTrue(True)`, `expect(1)`: nothing but constants."""
    return _called(call) in _PLAIN and bool(call.args) and all(map(_is_constant, call.args))


def _is_constant(node: ast.AST) -> bool:
    return not any(isinstance(n, ast.Name | ast.Call | ast.Attribute | ast.Await) for n in ast.walk(node))


def _is_vacuous(test: ast.expr) -> bool:
    """Can it not fail, whatever the code does?"""
    if _is_constant(test) or isinstance(test, ast.Lambda) or (isinstance(test, ast.Tuple) and test.elts):
        return True
    if isinstance(test, ast.BoolOp):
        each = [_is_vacuous(value) for value in test.values]
        return any(each) if isinstance(test.op, ast.Or) else all(each)
    if (
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and isinstance(test.ops[0], ast.Eq | ast.Is | ast.LtE | ast.GtE)
    ):
        return ast.dump(test.left) == ast.dump(test.comparators[0])
    return False


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
    if isinstance(node, ast.List | ast.Tuple | ast.Dict | ast.Set | ast.UnaryOp) and set(values) <= {"_"}:
        return "_" if not isinstance(node, ast.UnaryOp) or not isinstance(node.op, ast.Not) else "not _"
    return f"{label}({','.join(inner)})"
