"""Which assertions of a Python test are reached, and can fail: those of the helpers that it calls, too."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from ralphy.testguard.read.vacuous_asserts import is_never, is_nothing, is_vacuous, is_vacuous_call, last_name

Function = ast.FunctionDef | ast.AsyncFunctionDef
Helpers = Mapping[str, "Function | ast.ClassDef"]
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_ASSERTING = re.compile(
    r"(?:assert|expect|check|verify|ensure|should|validate|require|compare|raises|warns|deprecated_call|fail|must)"
    r"|\w*_(?:assert|check|verify|equals?|raises)(?:_|$)"
)
_SKIPPING = frozenset(("skip", "skipTest", "xfail", "exit", "SkipTest", "_exit"))
_SWALLOWED = frozenset(("Exception", "BaseException", "AssertionError"))
_DEEP = 5


def names_in(node: ast.AST) -> set[str]:
    """All names and attributes within."""
    return {n.attr if isinstance(n, ast.Attribute) else n.id for n in ast.walk(node)
            if isinstance(n, ast.Attribute | ast.Name)}  # fmt: skip


def ends(node: ast.stmt) -> bool:
    """Is what stands behind this statement never reached?"""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return last_name(node.value) in _SKIPPING
    return isinstance(node, ast.Return | ast.Raise)


def assertions(test: Function, helpers: Helpers) -> Iterator[ast.expr]:
    """The assertions of a test that are reached and can fail; none if a decorator of the tests' own swallows them."""
    if not any(_quiets(helpers.get(last_name(decorator))) for decorator in test.decorator_list):
        yield from _asserts(test.body, helpers, ())


def _asserts(body: Sequence[ast.stmt], helpers: Helpers, within: tuple[str, ...]) -> Iterator[ast.expr]:
    """The assertions that are reached and can fail, those of called helpers in their place."""
    for node in body:
        if isinstance(node, ast.Assert):
            if not is_vacuous(node.test):
                yield node.test
        elif isinstance(node, ast.Raise) and node.exc is not None and "AssertionError" in names_in(node.exc):
            yield node.exc
        elif not isinstance(node, FUNCTION) or _is_used(node, body):
            for inner in _blocks(node, helpers):
                yield from _asserts(inner, helpers, within)
            yield from _asserting_calls(node, helpers, within)
        if ends(node):
            return


def _is_used(function: Function, body: Sequence[ast.stmt]) -> bool:
    """Is a function within a test called, handed on or registered by a decorator?"""
    return bool(function.decorator_list) or any(
        isinstance(n, ast.Name) and n.id == function.name for node in body if node is not function
        for n in ast.walk(node)
    )  # fmt: skip


def _blocks(node: ast.stmt, helpers: Helpers) -> Iterator[Sequence[ast.stmt]]:
    """The statements within a statement, but for those that never run or whose failures are swallowed."""
    if isinstance(node, ast.If | ast.While) and is_never(node.test):
        yield node.orelse
        return
    if isinstance(node, ast.If) and isinstance(node.test, ast.Constant):
        yield node.body
        return
    is_swallowed = isinstance(node, ast.Try) and swallows(node, helpers)
    is_swallowed = is_swallowed or (isinstance(node, ast.With | ast.AsyncWith)
                                    and any(_suppresses(item, helpers) for item in node.items))  # fmt: skip
    is_skipped = isinstance(node, ast.For | ast.AsyncFor) and is_nothing(node.iter)
    if not is_swallowed and not is_skipped:
        yield getattr(node, "body", [])
    yield getattr(node, "orelse", [])
    yield getattr(node, "finalbody", [])
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def swallows(node: ast.Try, helpers: Helpers = MappingProxyType({})) -> bool:
    """Is a failure within a `try` taken in: by a handler that says nothing of it, or by a `finally` that leaves?"""
    leaves = any(
        isinstance(n, ast.Return | ast.Break | ast.Continue) for part in node.finalbody for n in ast.walk(part)
    )
    return leaves or any(_takes_in(handler, helpers) for handler in node.handlers)


def _takes_in(handler: ast.ExceptHandler, helpers: Helpers) -> bool:
    names = _SWALLOWED if handler.type is None else names_in(handler.type)
    if not names & _SWALLOWED or any(isinstance(n, ast.Raise) for n in ast.walk(handler)):
        return False
    return next(_asserts(handler.body, helpers, ("",) * (_DEEP - 1)), None) is None


def _suppresses(item: ast.withitem, helpers: Helpers) -> bool:
    call = item.context_expr
    if isinstance(call, ast.Call) and last_name(call) == "suppress":
        return bool(names_in(call) & _SWALLOWED)
    return _quiets(helpers.get(last_name(call)))


def _quiets(helper: Function | ast.ClassDef | None) -> bool:
    """Does a decorator or a context manager of the tests' own swallow what fails within it?"""
    if helper is None:
        return False
    inner = [helper]
    if isinstance(helper, ast.ClassDef):
        inner = [n for n in helper.body if isinstance(n, FUNCTION) and n.name in ("__exit__", "__aexit__")]
    nodes = [node for part in inner for node in ast.walk(part)]
    if any(isinstance(node, ast.Raise | ast.Assert) for node in nodes):
        return False
    if isinstance(helper, ast.ClassDef):
        return any(
            isinstance(n, ast.Return) and isinstance(n.value, ast.Constant) and bool(n.value.value) for n in nodes
        )
    return any(isinstance(node, ast.Try) and swallows(node) for node in nodes)


def _asserting_calls(node: ast.stmt, helpers: Helpers, within: tuple[str, ...]) -> Iterator[ast.expr]:
    """Calls in a statement's own expressions that assert: by their name, or by what a helper of that name does."""
    for expression in _expressions(node):
        for call in ast.walk(expression):
            if not isinstance(call, ast.Call):
                continue
            name = last_name(call)
            helper = helpers.get(name) if _is_own(call.func) else None
            if isinstance(helper, FUNCTION):
                if name not in within and len(within) < _DEEP:
                    yield from _asserts(helper.body, helpers, (*within, name))
            elif _ASSERTING.match(name) and not is_vacuous_call(call):
                yield expression
                break


def _is_own(function: ast.expr) -> bool:
    """`check(…)` and `self.check(…)` may be written in the same files."""
    owner = function.value if isinstance(function, ast.Attribute) else function
    return isinstance(function, ast.Name) or (isinstance(owner, ast.Name) and owner.id in ("self", "cls"))


def _expressions(node: ast.stmt) -> Iterator[ast.expr]:
    if isinstance(node, (*FUNCTION, ast.ClassDef)):
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield child
        elif isinstance(child, ast.withitem):
            yield child.context_expr
