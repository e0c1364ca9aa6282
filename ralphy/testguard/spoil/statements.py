"""The functions and compound statements of a file: what it is when one of them does nothing, and the rest as it was.

Of Python the syntax tree is read. Of languages with braces the text is: a branch is turned off by its condition, a loop
by a `break`, so that a compiler still finds a value on every way and a use for every import.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from ralphy.testguard.read.test_parser import parsed
from ralphy.testguard.spoil.hollow_text import hollow_each, masked_text

Without = tuple[int, int, bytes]  # lines from 0, the end excluded, and the file in which they do nothing

_WITH_PARENTHESES = (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".java", ".kt", ".kts", ".c", ".h", ".cc", ".cpp",
                     ".hpp", ".cs", ".php", ".dart")  # fmt: skip
_WITHOUT = (".go", ".rs", ".swift")
_LOGGER = re.compile(r"_?(?:log|logger|logging)", re.I)
_LEVELS = ("debug", "info", "warning", "error", "exception", "critical", "log")
_IF = re.compile(r"(?<![\w.#@$])if\b\s*")
_LOOP = re.compile(r"^[ \t]*(?:'?\w+\s*:\s*)?(?:for|while|loop)\b(?!<)", re.M)
_CATCH = re.compile(r"\bcatch\s*\(")
_ELSE = re.compile(r"\s*(else)\b(?!\s+if\b)\s*")
_CAUGHT = re.compile(r"^\s*(\$?\w+)\s*:|(\$?\w+)\s*$")
_PAIRS = {"(": ")", "{": "}"}


def without_each(path: str, data: bytes) -> Iterator[Without]:
    """The file without what each of its functions and compound statements does."""
    if path.endswith(".py"):
        yield from _of_python(data)
    elif path.endswith((*_WITH_PARENTHESES, *_WITHOUT)):
        yield from hollow_each(path, data)
        yield from _of_braces(path, data)


def _of_python(data: bytes) -> Iterator[Without]:
    tree, lines = parsed(data), data.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def without(begin: int, body: Sequence[ast.stmt], text: bytes = b"pass") -> Without:
        at = starts[_line(body[0]) - 1] + body[0].col_offset
        end = body[-1].end_lineno or 1
        return begin - 1, end, data[:at] + text + data[starts[end - 1] + (body[-1].end_col_offset or 0) :]

    for node in ast.walk(tree) if tree else ():
        for first, body, text in _bodies(node, lines):
            if not all(map(is_silent, body)):
                yield without(first, body, text)


def _bodies(node: ast.AST, lines: Sequence[bytes]) -> Iterator[tuple[int, Sequence[ast.stmt], bytes]]:
    """What can be left out of a node: the line where it begins, the statements, and what takes their place."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yields = any(isinstance(one, ast.Yield | ast.YieldFrom) for one in ast.walk(node))
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            yield _line(node), body, b"if False: yield" if yields else b"pass"
        case ast.If():
            yield node.lineno, node.body, b"pass"
            if (other := node.orelse) and not lines[other[0].lineno - 1].lstrip().startswith(b"elif"):
                yield _line(other[0]), other, b"pass"
        case ast.For() | ast.AsyncFor() | ast.While() | ast.With() | ast.AsyncWith():
            yield node.lineno, [] if all(map(is_silent, node.body)) else [node], b"pass"
        case ast.ExceptHandler(body=[ast.Raise(exc=None)]):
            return
        case ast.ExceptHandler():
            yield node.lineno, node.body, b"raise"
        case ast.match_case():
            yield node.pattern.lineno, node.body, b"pass"
        case ast.Try() if node.finalbody:
            yield _line(node.finalbody[0]), node.finalbody, b"pass"


def is_silent(node: ast.stmt) -> bool:
    """A docstring, `pass`, a line that logs, what is left to subclasses, or an import for annotations."""
    match node:
        case ast.Expr(ast.Constant()) | ast.Pass() | ast.ImportFrom(module="__future__"):
            return True
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(name) | ast.Attribute(attr=name), level))):
            return bool(_LOGGER.fullmatch(name)) and level in _LEVELS
        case ast.Raise(ast.Name("NotImplementedError") | ast.Call(ast.Name("NotImplementedError"))):
            return True
        case ast.If(ast.Name(name) | ast.Attribute(attr=name)):
            return name == "TYPE_CHECKING"
    return False


def _line(node: ast.stmt) -> int:
    """The first line of a statement, with its decorators."""
    marks: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(mark.lineno for mark in marks)])


def _of_braces(path: str, data: bytes) -> Iterator[Without]:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return
    bare = masked_text(text)
    for first, last, at, until, new in _edits(text, bare, path.endswith(_WITHOUT)):
        begin, end = bare.count("\n", 0, first), bare.count("\n", 0, last) + 1
        yield begin, end, (text[:at] + new + text[until:]).encode()


_Edit = tuple[int, int, int, int, str]  # what it is about, begin and end; what is replaced, begin and end; by what


def _edits(text: str, bare: str, is_open: bool) -> Iterator[_Edit]:
    """`is_open`: the conditions of this language stand without parentheses."""
    for head in _IF.finditer(bare):
        yield from _branches(text, bare, head, is_open)
    for head in _LOOP.finditer(bare):
        opened = _body(bare, head.end(), is_open)
        if opened >= 0 and (end := _closing(bare, opened)) >= 0:
            yield head.end() - 1, end, opened + 1, opened + 1, " if (true) { break; }"
    for head in _CATCH.finditer(bare):
        closed = _closing(bare, head.end() - 1)
        opened = _next(bare, closed + 1) if closed >= 0 else -1
        name = _CAUGHT.search(bare[head.end() : closed])
        if name and bare[opened : opened + 1] == "{" and (end := _closing(bare, opened)) >= 0:
            yield head.start(), end, opened + 1, opened + 1, f" if (true) {{ throw {name[1] or name[2]}; }}"


def _branches(text: str, bare: str, head: re.Match[str], is_open: bool) -> Iterator[_Edit]:
    """An `if` turned off; and its `else`, which the condition turns off when it is always true."""
    begin = head.end()
    if is_open:
        until = _body(bare, begin, is_open)
        begin = max(begin, bare.rfind(";", begin, until) + 1)
        behind = until
    else:
        until = _closing(bare, begin) if bare[begin : begin + 1] == "(" else -1
        begin, behind = begin + 1, _next(bare, until + 1)
    condition = text[begin:until].strip()
    if until < 0 or not condition or re.match(r"(?:let|case|var)\b|.*=>", condition, re.S):
        return
    end = _end(bare, behind)
    yield head.start(), end, begin, until, f" false && ({condition}) "
    if other := _ELSE.match(bare, end + 1):
        yield other.start(1), _end(bare, other.end()), begin, until, f" true || ({condition}) "


def _body(bare: str, at: int, is_open: bool) -> int:
    """Where the block of a statement opens whose head goes on at `at`; -1 if it has none."""
    if not is_open:
        opened = _next(bare, at)
        opened = bare.find("(", at) if bare[opened : opened + 5] == "await" else opened
        closed = _closing(bare, opened) if bare[opened : opened + 1] == "(" else -1
        found = _next(bare, closed + 1) if closed >= 0 else -1
        return found if bare[found : found + 1] == "{" else -1
    while at < len(bare) and bare[at] != "{":
        at = _closing(bare, at) + 1 if bare[at] == "(" else at + 1
        if at == 0:
            return -1
    return at if at < len(bare) else -1


def _end(bare: str, at: int) -> int:
    """The last character of the block or of the statement that begins at `at`."""
    if bare[at : at + 1] == "{":
        return max(at, _closing(bare, at))
    ends = [end for mark in (";", "\n") if (end := bare.find(mark, at)) >= 0]
    return min(ends, default=len(bare) - 1)


def _next(bare: str, at: int) -> int:
    """The next character that is not white space."""
    while at < len(bare) and bare[at].isspace():
        at += 1
    return at


def _closing(bare: str, at: int) -> int:
    """Where what opens at `at` is closed again; -1 if it is not."""
    opened, closed, depth = bare[at], _PAIRS[bare[at]], 0
    for found in re.compile(f"[{re.escape(opened + closed)}]").finditer(bare, at):
        depth += 1 if found[0] == opened else -1
        if depth == 0:
            return found.start()
    return -1
