"""The tests that stand in a file: their names and texts, and how many assertions there are.

They tell which tests are a story's own, and where one is made to fail. Whether one asserts anything, a run tells.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Function = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
SCRIPT = (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts")
# Where a test begins, in languages whose syntax is not read.
_HEADS = (
    (SCRIPT, re.compile(r"^[ \t]*[xf]?(?:it|test|specify)(?:\.\w+)*\s*(?:\([^()\n]*\)\s*)?"
                        r"\(\s*(['\"`])(?P<name>(?:\\.|(?!\1).)*)\1", re.M)),
    ((".go",), re.compile(r"^func (?P<name>(?:Test(?!Main\()|Fuzz|Example)\w*)\(", re.M)),
    ((".rs",), re.compile(r"#\[(?:\w+::)?test\b[^\]]*\](?:\s*#\[[^\]]*\])*\s*(?:pub )?(?:async )?fn (?P<name>\w+)")),
    ((".java", ".kt"), re.compile(r"@(?:Test|ParameterizedTest|RepeatedTest)\b[^{};]*?(?:void|fun)\s+"
                                  r"`?(?P<name>[^`({]+?)`?\s*\(")),
)  # fmt: skip
_RUST_TESTS = re.compile(r"^#\[cfg\(test\)\]", re.M)
_ASSERTING = ("assert", "expect", "verify", "check", "fail", "raises")
_ASSERTIONS = ("assert", "expect(", "verify(", ".should", "t.Error", "t.Fatal", "t.Fail", "panic!")
_MOST_LEVELS = 200  # of a syntax tree: unparse() takes three frames for each, of Python's 1000
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


@dataclass(frozen=True, slots=True)
class WrittenTest:
    """A test as it stands in a file; of Python its `name` has its class, and its `body` no comments."""

    path: str
    name: str
    body: str = ""

    @property
    def short(self) -> str:
        return self.name.rsplit(".", 1)[-1] if self.path.endswith(".py") else self.name

    @property
    def id(self) -> str:
        """As pytest writes it."""
        return f"{self.path}::{self.name.replace('.', '::') if self.path.endswith('.py') else self.name}"


def parsed(data: bytes) -> ast.Module | None:
    """The syntax tree of Python source; None if it has none, or one that is too deep for functions that walk it."""
    try:
        tree = ast.parse(data)
    except _UNREADABLE:
        return None
    level, depth = list[ast.AST]([tree]), 0
    while level and depth < _MOST_LEVELS:
        level, depth = [inner for node in level for inner in ast.iter_child_nodes(node)], depth + 1
    return None if level else tree


def last_name(node: ast.AST) -> str:
    """The name, or the last one of a dotted one; of a call, of what is called."""
    node = node.func if isinstance(node, ast.Call) else node
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def is_named_test(node: Function) -> bool:
    """Does a function have the name of a test, and is it no fixture?"""
    is_fixture = any("fixture" in ast.unparse(decorator) for decorator in node.decorator_list)
    return node.name.lower().startswith(("test", "it_", "should")) and not is_fixture


def is_readable(path: str) -> bool:
    """Are the tests of such a file known by name?"""
    return path.endswith((".py", *(ending for endings, _ in _HEADS for ending in endings)))


def tests_in(path: str, data: bytes) -> list[WrittenTest]:
    """The tests of a file; none where its language is not known."""
    if path.endswith(".py"):
        tree = parsed(data)
        return list(_of_python(path, tree.body, "")) if tree else []
    text = data.decode("utf-8", "surrogateescape")
    return [
        WrittenTest(path, head["name"], " ".join(text[head.end() : end].split())) for head, end in heads(path, text)
    ]


def heads(path: str, text: str) -> list[tuple[re.Match[str], int]]:
    """Where each test of a file begins, and where the next one does, in languages whose syntax is not read."""
    pattern = next((pattern for endings, pattern in _HEADS if path.endswith(endings)), None)
    begins = list(pattern.finditer(text)) if pattern else []
    return list(zip(begins, [*(head.start() for head in begins[1:]), len(text)], strict=False))


def has_tests_beside_code(path: str) -> bool:
    """Rust's tests stand in the files that they test."""
    return path.endswith(".rs")


def tests_beside_code(path: str, text: str) -> int:
    """Where the tests begin that stand beside a file's code, by convention at its end; its length if it has none."""
    begin = _RUST_TESTS.search(text) if has_tests_beside_code(path) else None
    return begin.start() if begin else len(text)


def assertions_in(path: str, data: bytes | None) -> int:
    """How many assertions a file has, as far as these look like ones; a constant asserts nothing."""
    if not path.endswith(".py"):
        text = (data or b"").decode("utf-8", "replace")
        return sum(map(text.count, _ASSERTIONS))
    return sum(map(_asserts, ast.walk(parsed(data or b"") or ast.Module([], []))))


def _asserts(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return last_name(node).lower().startswith(_ASSERTING) and not (
            node.args and all(isinstance(one, ast.Constant) for one in node.args)
        )
    return isinstance(node, ast.Assert) and not isinstance(node.test, ast.Constant)


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


def _of_python(path: str, body: Sequence[ast.stmt], prefix: str) -> Iterator[WrittenTest]:
    for node in body:
        if isinstance(node, FUNCTION) and is_named_test(node):
            yield WrittenTest(path, f"{prefix}{node.name}", ast.unparse(node))
        elif isinstance(node, ast.ClassDef):
            yield from _of_python(path, node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.If | ast.Try):
            yield from _of_python(path, [*node.body, *node.orelse], prefix)
