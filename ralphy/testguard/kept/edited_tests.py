"""Tests that were edited: whether their old versions are worth a run, and which of what fails there are theirs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence

from ralphy.checks.runner_output import named
from ralphy.testguard.kept.test_keys import Key
from ralphy.testguard.read.assertions import FUNCTION, Function, names_in
from ralphy.testguard.read.test_parser import Case, parsed
from ralphy.testguard.read.text_test_parser import language_of
from ralphy.testguard.read.vacuous_asserts import last_name

# Lines that say what a file needs, or how it is divided.
_OFFERED = re.compile(
    r"(?:import\b|use\b|package\b|from\b|(?:const|let|var)\s[^=]*=\s*(?:await import|require)\([^()]*\);?$"
    r"|\"[\w./-]+\"$|[)}\]\s;]*$|//|/?\*|describe\(|#\[|@\w+$)"
)
_CLOSING = " ;})"
_CALLED = re.compile(r"pytest|collect_ignore|load_tests|(async_?)?(set_?up|tear_?down)|do_?cleanups|run$|__", re.I)
_PLAIN = frozenset(("fixture", "pytest", "staticmethod", "classmethod", "property", "contextmanager", "contextlib"))
_IMPORT = (ast.Import, ast.ImportFrom)


def is_edited(old: str, new: str, before: Sequence[Case], after: Iterable[Case]) -> bool:
    """Was anything changed or taken out? Tests and imports that were only added are not an edit.

    This compares lines; `only_adds` reads Python.
    """
    if not is_same(before, after):
        return True
    head, now = (_before_tests(text, before) for text in (old, new))
    if any(line not in head and not _OFFERED.match(line) for line in now):
        return True
    left = iter([line.strip() for line in new.splitlines()])
    return not all(line in left for line in map(str.strip, old.splitlines()) if line)


def _before_tests(text: str, cases: Sequence[Case]) -> list[str]:
    """The lines before the first test: what they do, they do to all tests."""
    language = language_of(cases[0].path) if cases else None
    first = language.test.search(text) if language else None
    return [line.strip() for line in text[: first.start() if first else 0].splitlines()]


def is_same(before: Iterable[Case], after: Iterable[Case]) -> bool:
    """Are these tests all among those, as they were?"""
    kept = {(case.name, case.body.rstrip(_CLOSING)) for case in after}
    return all((case.name, case.body.rstrip(_CLOSING)) in kept for case in before)


def only_adds(old: bytes, new: bytes) -> bool:
    """Was a module of Python tests, a conftest or another one beside them only added to, so that the old tests run as
    before? False for what takes effect without being asked for: a set-up, a hook, an automatic fixture, a new meaning
    of a name that the old module uses.
    """
    before, after = parsed(old), parsed(new)
    if before is None or after is None:
        return False
    return _only_adds(_single(before.body), _single(after.body), _mentioned(before))


def _only_adds(before: Sequence[ast.stmt], after: Sequence[ast.stmt], mentioned: frozenset[str]) -> bool:
    """Are these statements all among those, in their order, and are the others offers? A class may gain members."""
    was, now = (set(map(ast.dump, body)) for body in (before, after))
    kept = [[ast.dump(node) for node in body if not isinstance(node, _IMPORT) and ast.dump(node) in was & now]
            for body in (before, after)]  # fmt: skip
    gone = {getattr(node, "name", ""): node for node in before if ast.dump(node) not in now}
    for node in (one for one in after if ast.dump(one) not in was):
        old = gone.pop(node.name, None) if isinstance(node, ast.ClassDef) else None
        is_fine = _is_grown(old, node, mentioned) if old else _is_offer(node, mentioned)
        if not is_fine:
            return False
    return not gone and kept[0] == kept[1]


def _is_grown(old: ast.stmt, new: ast.stmt, mentioned: frozenset[str]) -> bool:
    """Did a class only gain members? One that inherits from the tests' own may have had them under the same names."""
    if not (isinstance(old, ast.ClassDef) and isinstance(new, ast.ClassDef)):
        return False
    heads = [ast.dump(ast.ClassDef(node.name, node.bases, node.keywords, [], node.decorator_list))
             for node in (old, new)]  # fmt: skip
    is_plain = all(last_name(base).endswith("TestCase") for base in old.bases)
    return is_plain and heads[0] == heads[1] and _only_adds(old.body, new.body, mentioned)


def _single(body: Iterable[ast.stmt]) -> list[ast.stmt]:
    """A module's statements, those that import several names as one import each."""
    found: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.ImportFrom):
            found += [ast.ImportFrom(node.module, [name], node.level) for name in node.names]
        elif isinstance(node, ast.Import):
            found += [ast.Import([name]) for name in node.names]
        else:
            found.append(node)
    return found


def _mentioned(tree: ast.Module) -> frozenset[str]:
    """All that an old module calls by name: variables, attributes, arguments (fixtures), texts, what it defines."""
    found = set[str]()
    for node in ast.walk(tree):
        for field in ("id", "attr", "arg", "name", "asname", "value"):
            value = getattr(node, field, None)
            found |= {value, value.partition(".")[0]} if isinstance(value, str) else set()
    return frozenset(found)


def _is_offer(node: ast.stmt, mentioned: frozenset[str]) -> bool:
    """Something that old tests do not ask for, and that no runner calls for them."""
    if isinstance(node, ast.Import) and [name.name for name in node.names if not name.asname] == ["pytest"]:
        return True
    if isinstance(node, _IMPORT):
        names = [(name.asname or name.name).partition(".")[0] for name in node.names]
    elif isinstance(node, ast.Assign):
        names = [target.id if isinstance(target, ast.Name) else "*" for target in node.targets if _is_value(node)]
    else:
        is_fine = _is_asked_for(node) if isinstance(node, FUNCTION) else _is_class_apart(node)
        names = [getattr(node, "name", "")] if is_fine else []
    return bool(names) and not any(name == "*" or name in mentioned or _CALLED.match(name) for name in names)


def _is_asked_for(node: Function) -> bool:
    """Is a function a test, a plain fixture, or none that a decorator hands to somebody?"""
    words = {word.arg for mark in node.decorator_list if isinstance(mark, ast.Call) for word in mark.keywords}
    used = set().union(*map(names_in, node.decorator_list))
    is_test = node.name.startswith("test") and "fixture" not in used
    return (is_test or used <= _PLAIN) and not words & {"autouse", None}


def _is_class_apart(node: ast.stmt) -> bool:
    """Is it a class that concerns itself alone?"""
    return isinstance(node, ast.ClassDef) and all(isinstance(one, (*FUNCTION, ast.Pass)) or _is_value(one)
                                                  for one in node.body)  # fmt: skip


def _is_value(node: ast.stmt) -> bool:
    """An assignment, or a text, that calls nothing."""
    is_quiet = not any(isinstance(one, ast.Call | ast.Await) for one in ast.walk(node))
    return is_quiet and isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr)


def theirs(names: Iterable[str], cases: Sequence[Case]) -> Mapping[str, Sequence[str]]:
    """The failing tests that are written among these cases, each once, by the file that they are written in."""
    first: dict[Case, str] = {}
    for name in map(named, names):
        case = next(filter(Key.of(name).means, cases), None)
        if case:
            first.setdefault(case, name)
    return {path: [name for case, name in first.items() if case.path == path] for path in {c.path: 0 for c in first}}
