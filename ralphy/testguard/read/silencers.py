"""What keeps a written Python test from running or from counting: marks, skips, imports that may be missing.

Two versions of a test that is skipped are compared by their silencers, without the reasons that these give: a story may
say better why a test is skipped, but not find another reason for it.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence

from ralphy.testguard.read.assertions import FUNCTION, Function
from ralphy.testguard.read.vacuous_asserts import last_name

MARKS = frozenset(("skip", "skipif", "skipIf", "skipUnless", "xfail", "expectedFailure"))
_CALLS = frozenset(("skip", "skipTest", "SkipTest", "importorskip", "xfail"))
_SET_UP = frozenset(("setUp", "setUpClass", "setUpModule", "setup_method", "setup_class", "setup_module", "asyncSetUp"))
_BY_CONDITION = frozenset(("skipif", "skipIf", "skipUnless", "xfail", "importorskip"))  # their arguments say when

Aliases = Mapping[str, ast.expr]


def aliases_of(body: Sequence[ast.stmt]) -> dict[str, ast.expr]:
    """The names that a module gives to marks: `needs_redis = pytest.mark.skipif(…)`."""
    return {target.id: node.value for node in body if isinstance(node, ast.Assign) and _mark_in(node.value)
            for target in node.targets if isinstance(target, ast.Name) and target.id != "pytestmark"}  # fmt: skip


def of_marks(marks: Sequence[ast.expr], aliases: Aliases) -> Iterator[str]:
    """The silencers among decorators or the values of `pytestmark`."""
    for mark in marks:
        meant = aliases.get(mark.id, mark) if isinstance(mark, ast.Name) else mark
        found = _mark_in(meant)
        if found is not None:
            yield _said(found)


def of_body(body: Sequence[ast.stmt]) -> Iterator[str]:
    """The silencers among the statements of a module, a class (its set-up methods, too) or a test."""
    for node in body:
        if isinstance(node, FUNCTION) and node.name in _SET_UP:
            yield from of_body(node.body)
        elif not isinstance(node, (*FUNCTION, ast.ClassDef)):
            guard = _guard(node)
            yield from (f"{guard}{_said(call)}" for call in _calls_in(node))


def awake(test: Function) -> Function | None:
    """The test without the statements of its body that take it out whatever happens; None if there are none."""
    body = [node for node in test.body if not is_silencing(node)]
    if len(body) == len(test.body):
        return None
    found = copy.copy(test)
    found.body = body
    return found


def is_silencing(node: ast.stmt) -> bool:
    """Does a statement end the test without a word on the code: `pytest.skip(…)`, `raise SkipTest`?"""
    said = node.value if isinstance(node, ast.Expr) else node.exc if isinstance(node, ast.Raise) else None
    return said is not None and last_name(said) in _CALLS - {"importorskip"}


def skips_others(tree: ast.Module | None) -> frozenset[str]:
    """What in a conftest skips tests of other files, or has them expected to fail: in its hooks and fixtures."""
    nodes = [] if tree is None else [n for n in ast.walk(tree) if isinstance(n, ast.Attribute | ast.Call)]
    called = {id(n.func) for n in nodes if isinstance(n, ast.Call)}
    return frozenset(_said(n) for n in nodes if id(n) not in called and last_name(n) in (MARKS | _CALLS))


def _mark_in(mark: ast.expr) -> ast.expr | None:
    """The mark itself; `pytest.param(…, marks=…)` is about one case, and none."""
    return mark if last_name(mark) in MARKS else None


def _calls_in(node: ast.stmt) -> Iterator[ast.expr]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call) and last_name(inner) in _CALLS and not _is_mark(inner):
            yield inner
        exception = inner.exc if isinstance(inner, ast.Raise) else None
        if isinstance(exception, ast.Name | ast.Attribute) and last_name(exception) in _CALLS:
            yield exception


def _is_mark(call: ast.Call) -> bool:
    """`pytestmark = pytest.mark.skip(…)` is read with the marks."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else call.func
    return last_name(owner) == "mark"


def _guard(node: ast.stmt) -> str:
    if isinstance(node, ast.If):
        return f"if {ast.dump(node.test)}: "
    return f"try {''.join(map(ast.dump, node.body))}: " if isinstance(node, ast.Try) else ""


def _said(node: ast.expr) -> str:
    """A mark or call with what it depends on, without its reason."""
    name = last_name(node)
    if not isinstance(node, ast.Call):
        return name
    words = sorted(f"{word.arg}={ast.dump(word.value)}" for word in node.keywords if word.arg not in ("reason", "msg"))
    args = node.args[:1] if name in ("skipIf", "skipUnless") else node.args
    values = [ast.dump(arg) for arg in args] if name in _BY_CONDITION else []
    return f"{name}({', '.join([*values, *words])})" if values or words else name
