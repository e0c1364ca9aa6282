"""Tests that are made to fail: where one passes all the same, the runner does not hear failures.

A failure is put at the beginning of each test's body. A hook that rewrites outcomes, a decorator or a recipe that
swallows failures, an assertion that was replaced, a runner that ends early: all show in the same way. Where the tests
themselves are to be run, too, one of a file has a twin that fails.
"""

from __future__ import annotations

import ast
import copy
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ralphy.checks.listing import PASSED, SKIPPED
from ralphy.testguard.test_files import FUNCTION, SCRIPT, Function, WrittenTest, heads, is_named_test, parsed
from ralphy.testguard.test_keys import RAN, Key

# A test passes if one of the assertions lets a falsehood pass.
_PYTHON = """
def _must_fail(own=None):
    import unittest
    own = own if isinstance(own, unittest.TestCase) else unittest.TestCase()
    wrong = {"fail": (), "assertEqual": (0, 1), "assertTrue": (0,), "assertFalse": (1,), "assertIn": (0, ()),
             "assertIs": (0, 1), "assertIsNone": (0,), "assertNotEqual": (0, 0), "assertGreater": (0, 1)}
    for fails in (lambda: exec("assert 0"), *(lambda n=n, s=s: getattr(own, n)(*s) for n, s in wrong.items())):
        try:
            fails()
        except AssertionError:
            continue
        return
    assert 0 == 1
"""
_TWIN = "_made_to_fail"
_SCRIPT = (
    "try { expect(0).toBe(1); return } catch {} try { assert(0); return } catch {} "
    "try { assert.equal(0, 1); return } catch {} throw new Error('0 is not 1')"
)


class _Rule(NamedTuple):
    """`opens` finds where a test's body opens, `fails` is put there, `instead` where it is an expression alone."""

    endings: tuple[str, ...]
    opens: re.Pattern[str]
    fails: str
    instead: str = ""


_RULES = (
    _Rule(SCRIPT, re.compile(r"=>\s*\{?|\bfunction\b[^{]*\{"),
          f" {_SCRIPT}; ", f"(() => {{ {_SCRIPT} }})() ?? "),
    _Rule((".go",), re.compile(r"(\w+)\s+\*testing\.[TF]\)\s*\{"), r" if true {{ {0}.Fatal(0) }};"),
    _Rule((".rs",), re.compile(r"\{"), " if true {{ panic!() }}"),
    _Rule((".java", ".kt"), re.compile(r"\{"), " if (true) {{ throw new AssertionError(); }}"),
)  # fmt: skip


def spoiled(path: str, data: bytes) -> tuple[bytes, list[WrittenTest]]:
    """A file whose tests fail whatever the code does, and these tests; as it is where none can be told."""
    if not path.endswith(".py"):
        return _spoiled_text(path, data)
    tree = parsed(data)
    tests = list(_tests(tree.body, "")) if tree else []
    if not tree or not tests:
        return data, []
    for name, node in tests:
        node.body = [_failure(name, node), *node.body]
    tree.body += ast.parse(_PYTHON).body
    return ast.unparse(ast.fix_missing_locations(tree)).encode(), [WrittenTest(path, name) for name, _ in tests]


def with_twin(path: str, data: bytes) -> tuple[bytes, WrittenTest | None]:
    """A file of Python in which the last test, if there is one without decorators, has a twin that fails; no other
    line of it is another one. In other languages a file of tests changes no other file's assertions."""
    tree = parsed(data) if path.endswith(".py") else None
    tests = sorted(_tests(tree.body, "") if tree else (), key=lambda row: (not row[1].decorator_list, row[1].lineno))
    if not tests:
        return data, None
    name, node = tests[-1]
    twin = copy.deepcopy(node)
    twin.name += _TWIN
    twin.body = [_failure(name, node)]
    lines = data.splitlines(keepends=True)
    indent = lines[node.lineno - 1][: node.col_offset].decode("utf-8", "replace")
    text = textwrap.indent(ast.unparse(ast.fix_missing_locations(twin)), indent)
    lines.insert(node.end_lineno or node.lineno, f"\n{text}\n".encode())
    spoiled_data = b"".join([*lines, b"\n", _PYTHON.encode()])
    return (spoiled_data, WrittenTest(path, f"{name}{_TWIN}")) if parsed(spoiled_data) else (data, None)


def passing_although_spoiled(
    now: Mapping[str, str], spoiled: Mapping[str, str], cases: Sequence[WrittenTest]
) -> list[str]:
    """The tests that pass now (name -> outcome), and that pass as well when they are made to fail (`cases`)."""
    names: dict[str, list[WrittenTest]] = {}
    for case in cases:
        names.setdefault(case.short, []).append(case)
    return [test for test, outcome in now.items() if outcome == PASSED == spoiled.get(test)
            and any(map(Key.of(test).means, names.get(Key.of(test).short, ())))]  # fmt: skip


def those_of(twins: Sequence[WrittenTest], tests: Iterable[str]) -> list[str]:
    """Which of these tests are twins."""
    return [test for test in tests if any(map(Key.of(test).means, twins))]


def silent_twins(outcomes: Mapping[str, str], twins: Sequence[WrittenTest]) -> list[str]:
    """The twins that do not fail: they pass, or are skipped although the test itself is run."""
    return [test for test in those_of(twins, outcomes) if outcomes[test] == PASSED
            or (outcomes[test] == SKIPPED and outcomes.get(test.replace(_TWIN, "")) in RAN)]  # fmt: skip


def _tests(body: Sequence[ast.stmt], prefix: str) -> Iterator[tuple[str, Function]]:
    """The tests in which a failure can be put, by name."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _tests(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, FUNCTION) and is_named_test(node) and not _is_generator(node):
            yield f"{prefix}{node.name}", node


def _failure(name: str, node: Function) -> ast.Return:
    own = node.args.args[:1] if "." in name else []
    return ast.Return(ast.Call(ast.Name("_must_fail", ast.Load()), [ast.Name(one.arg, ast.Load()) for one in own], []))


def _is_generator(node: Function) -> bool:
    return any(isinstance(inner, ast.Yield | ast.YieldFrom) for inner in ast.walk(node))


def _spoiled_text(path: str, data: bytes) -> tuple[bytes, list[WrittenTest]]:
    rule = next((rule for rule in _RULES if path.endswith(rule.endings)), None)
    if rule is None:
        return data, []
    text = data.decode("utf-8", "surrogateescape")
    parts, cases, at = [], [], 0
    for begin, end in heads(path, text):
        opens = rule.opens.search(text, begin.end(), end)
        if opens:
            is_alone = bool(rule.instead) and not opens[0].endswith("{")
            fails = rule.instead if is_alone else rule.fails if rule.instead else rule.fails.format(*opens.groups())
            parts += [text[at : opens.end()], fails]
            cases.append(WrittenTest(path, begin["name"]))
            at = opens.end()
    return "".join([*parts, text[at:]]).encode("utf-8", "surrogateescape"), cases
