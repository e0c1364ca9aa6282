"""What a Python file does to pytest: the outcomes that it rewrites, the tests that it leaves out or replaces."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from ralphy.testguard.assertions import FUNCTION, swallows
from ralphy.testguard.substance import is_test
from ralphy.testguard.test_parser import parsed

# Names that decide on outcomes, or that reach for the report; what a hook is called comes after them.
_REWRITING = frozenset(("outcome", "exitstatus", "wasxfail", "force_result", "force_exception", "_exit", "xmlpath"))
_REPLACING = frozenset(("pytest_pyfunc_call", "pytest_runtest_protocol", "pytest_cmdline_main", "pytest_runtestloop"))
_LEAVING_OUT = frozenset(("pytest_collection_modifyitems", "pytest_ignore_collect", "pytest_collect_file",
                          "pytest_pycollect_makeitem", "collect_ignore", "collect_ignore_glob"))  # fmt: skip
_REPORT = ("PYTEST_ADDOPTS", "junitxml", "ralphy-reports")
# What runs a test, or fails it, in the classes of pytest and unittest; and what a hook replaces of a test.
_RUNNING = ("runtest", "run", "__call__", "fail", "assert", "_callTest", "failureException")
_CLASSES = frozenset(("Function", "Item", "TestCase", "IsolatedAsyncioTestCase"))
_REPLACED = frozenset(("runtest", "obj", "_obj", "_excinfo", "_exception", "testsfailed"))
_HOOK = re.compile(r"pytest_|TestReport|pluginmanager|xmlpath|\b_exit\b")
_SWALLOWS, _PATCHES = "swallows failures", "replaces what runs a test"


def gained_hooks(path: str, old: str, new: str, *, is_listed: bool) -> list[str]:
    """What the file does that it did not do before; what leaves tests out only where no runner lists them."""
    has_hooks = path.rsplit("/", 1)[-1] == "conftest.py" or "def pytest_" in new
    if not (has_hooks or is_test(path)):
        return []
    now, was = _deeds(new), _deeds(old)
    wanted = _REPLACING | {_SWALLOWS} if has_hooks else frozenset[str]()
    wanted = wanted | (_REWRITING if has_hooks and _HOOK.search(new) else frozenset())  # else it is of another thing
    wanted = wanted | (_LEAVING_OUT if has_hooks and not is_listed else frozenset()) | {_PATCHES}
    return sorted(name for name in now - was if name in wanted or (has_hooks and name in _REPORT))


def _deeds(text: str) -> Counter[str]:
    """What a Python file assigns, calls, and which hooks it defines; and the names of the report that it knows."""
    tree = parsed(text.encode("utf-8", "replace")) if text else None
    found: Counter[str] = Counter()
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Attribute) and (isinstance(node.ctx, ast.Store) or node.attr in _CALLED):
            found[node.attr] += 1
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] += node.id in _LEAVING_OUT
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("pytest_"):
            found[node.name] += 1
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.update(word for word in _REPORT if word in node.value)
        found.update(word for word in _by_name(node) if word in _REWRITING)
        found.update(_replaced(node))
    return found


def _replaced(node: ast.AST) -> Iterator[str]:
    """A hook around tests that takes in their failures or puts something else in their place; a patched runner."""
    if isinstance(node, FUNCTION) and node.name.startswith("pytest_"):
        inner = list(ast.walk(node))
        if any(isinstance(n, ast.Try) and _yields(n) and swallows(n) for n in inner):
            yield _SWALLOWS
        stored = (n.attr for n in inner if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store))
        yield from (_PATCHES for name in stored if name in _REPLACED)
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr.startswith(_RUNNING):
        owner = node.value
        if (owner.id if isinstance(owner, ast.Name) else getattr(owner, "attr", "")) in _CLASSES:
            yield _PATCHES


def _yields(node: ast.Try) -> bool:
    return any(isinstance(n, ast.Yield) for part in node.body for n in ast.walk(part))


def _by_name(node: ast.AST) -> Iterator[str]:
    """The attributes that a node reaches by their names: with setattr and its like, or in a `__dict__`."""
    inner: Sequence[ast.AST] = ()
    if isinstance(node, ast.Call):
        is_meant = _called(node) in _BY_NAME or (isinstance(node.func, ast.Attribute) and _is_dict(node.func.value))
        inner = node.args if is_meant else ()
    elif isinstance(node, ast.Subscript) and _is_dict(node.value):
        inner = (node.slice,)
    for part in (part for found in inner for part in ast.walk(found)):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def _called(node: ast.Call) -> str:
    return getattr(node.func, "attr", "") or getattr(node.func, "id", "")


def _is_dict(node: ast.AST) -> bool:
    """`x.__dict__` or `vars(x)`."""
    is_vars = isinstance(node, ast.Call) and _called(node) == "vars"
    return is_vars or (isinstance(node, ast.Attribute) and node.attr == "__dict__")


_BY_NAME = frozenset(("setattr", "getattr", "delattr", "__setattr__", "__getattribute__"))
_CALLED = frozenset(("force_result", "force_exception", "_exit", "xmlpath"))
