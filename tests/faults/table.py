"""The fault matrix: one row a fault, and which tests of the suite prove what Ralphy promises then.

A test says so itself, by `@pytest.mark.fault("P6")`. It is found by reading the source, not by running it. A test that
only `make soak` runs proves no row. A row that no test proves stands in `NOT_PROVED`, with the reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROWS = Path(__file__).with_name("rows.txt")

NOT_PROVED: dict[str, str] = {
    "S4": "Ralphy calls no webhooks.",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """A row: what goes wrong, how a test makes it go wrong, and what Ralphy promises then."""

    id: str
    what: str
    injection: str
    promise: str
    group: str


@dataclass(frozen=True, slots=True)
class Proof:
    """A test that carries the marker, with the ids that it names."""

    file: str
    test: str
    ids: tuple[str, ...]

    @property
    def sentence(self) -> str:
        return self.test.removeprefix("test_").replace("_", " ")


def read_rows(text: str) -> Iterator[Fault]:
    """The faults of `rows.txt`, in their order."""
    group = ""
    for block in text.split("\n\n"):
        lines = [line.strip() for line in block.strip().splitlines() if not line.startswith("#")]
        if lines and lines[0].startswith("= "):
            group = lines[0].removeprefix("= ")
        elif lines:
            head, injection, promise = lines
            fault_id, _, what = head.partition(" ")
            yield Fault(fault_id, what, injection, promise, group)


@cache
def faults() -> tuple[Fault, ...]:
    return tuple(read_rows(ROWS.read_text(encoding="utf-8")))


def ids_in(node: ast.AST) -> list[str]:
    """What every `….fault("P1", …)` below a node names."""
    calls = [found for found in ast.walk(node) if isinstance(found, ast.Call)]
    named = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "fault"]
    return [
        word.value
        for call in named
        for word in call.args
        if isinstance(word, ast.Constant) and isinstance(word.value, str)
    ]


def proofs_in(source: str, file: str) -> Iterator[Proof]:
    """The tests of a file with the ids of their decorators, of their class's, and of `pytestmark`."""
    tree = ast.parse(source)
    marks = [
        node for node in tree.body if isinstance(node, ast.Assign) and "pytestmark" in map(ast.unparse, node.targets)
    ]
    of_all = [found for node in marks for found in ids_in(node)]
    for node in tree.body:
        of_class = of_all + [found for word in getattr(node, "decorator_list", []) for found in ids_in(word)]
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        for test in inside:
            if isinstance(test, ast.FunctionDef) and test.name.startswith("test_"):
                own = [found for word in test.decorator_list for found in ids_in(word)]
                ids = tuple(dict.fromkeys([*of_class, *own]))
                if ids and not is_for_soak(test):
                    yield Proof(file, test.name, ids)


def is_for_soak(test: ast.FunctionDef) -> bool:
    """Is the whole test left to `make soak`, and not only some of its rows?"""
    return any(ast.unparse(word) == "pytest.mark.soak" for word in test.decorator_list)


@cache
def proofs() -> tuple[Proof, ...]:
    """Every test of the suite that carries the marker, by file and by its place in it."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return tuple(
        proof
        for path in files
        for proof in proofs_in(path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix())
    )


def proved_by(fault_id: str) -> list[Proof]:
    return [proof for proof in proofs() if fault_id in proof.ids]
