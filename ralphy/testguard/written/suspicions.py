"""Code that looks made for its tests: the lines that a story adds are compared with its tests, in any language alike.

Words and numbers are looked at, hardly any syntax. What no honest change looks like is certain; the rest is only said.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from posixpath import basename

from ralphy.testguard.substance import FileChange, is_test, without_comment

_TEXT = re.compile(r'"((?:\\.|[^"\\\n])*)"|\'((?:\\.|[^\'\\\n])*)\'|`([^`\n]*)`')
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?")
# Code that asks whether something is this very number: a comparison, a case, a row of a table.
_IS_NUMBER = re.compile(rf"[=!]==?|\bcase\b|{_NUMBER.pattern}\s*=>|(?:^|[{{,(\[])\s*{_NUMBER.pattern}\)?\s*:")
_UNDONE = re.compile(r"\b(?:TODO|FIXME|XXX)\b|\b(?:todo|unimplemented)!\(")
_NOT_WRITTEN = re.compile(r"NotImplementedError|not implemented|(?:todo|unimplemented)!|TODO", re.I)
_EXPECTS_FAILURE = re.compile(r"raises|throws|panic|Throw|Error")
_ENVIRONMENT = re.compile(r"(?:environ(?:\.get)?|[gG]et_?[eE]nv|LookupEnv|env::var(?:_os)?|process\.env)\W{1,3}(\w+)")
_ALL_EQUAL = re.compile(
    r"(?:(?:def __eq__|\bfn eq|\bequals|\bEquals?|\beq)\([^)]*\)[^{:]*[{:]|\b__eq__\s*=\s*lambda\b[^:]*:)"
    r"\s*(?:return\s+)?true\b",
    re.I,
)
_CLASS = re.compile(r"\bclass (\w+)")
_PRIVATE = re.compile(r"^\s*(?:async )?(?:def|function) (_[a-zA-Z]\w*)\(|^func ([a-z]\w*)\(")
_TOP_LEVEL = 4  # spaces before a statement of a function that is no method
_MOST_PARTS = 6  # of a path
_FEW = 3  # numbers that belong together: what is asked for two arguments, with its answer


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What looks made for the tests. It is `certain` if no honest change looks like this."""

    said: str
    is_certain: bool = False


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that a story added to a file of code: as it is, and without comments and docstrings."""

    place: str
    raw: str
    code: str


def suspicions(
    changes: Sequence[FileChange], tests: Mapping[str, str], is_told: Callable[[str], bool]
) -> list[Suspicion]:
    """What looks made for `tests` (the story's, by path) in the changed files of code, the certain first; `is_told`:
    does a story or a document have a word?"""
    spoken = "\n".join(tests.values())
    found: list[Suspicion] = []
    for change in changes:
        lines = list(_added(change))
        found += _in_lines(lines, tests, spoken, is_told)
        found += _answers(lines, spoken)
        found += _unused(lines, changes, spoken)
        text = "\n".join(line.code for line in lines)
        if equal := _ALL_EQUAL.search(text):
            place = lines[text.count("\n", 0, equal.start())].place
            is_wildcard = "any" in "".join(_CLASS.findall(text[: equal.start()])[-1:]).lower()
            found.append(Suspicion(f"{place} calls everything equal", is_certain=not is_wildcard))
    return sorted(dict.fromkeys(found), key=lambda one: not one.is_certain)


def _in_lines(
    lines: Sequence[_Line], tests: Mapping[str, str], spoken: str, is_told: Callable[[str], bool]
) -> Iterator[Suspicion]:
    """What a single line says."""
    for line in lines:
        texts = ["".join(found) for found in _TEXT.findall(line.code)]
        if own := next((path for path in tests for text in [*texts, *_joined(texts)] if _names(text, path)), ""):
            yield Suspicion(f"{line.place} reads {own}, which belongs to the tests", is_certain=True)
        word = _NOT_WRITTEN.search(line.code)
        depth = len(line.raw) - len(line.raw.lstrip(" "))  # a method may be there for others to write
        if word and word[0] in spoken and _EXPECTS_FAILURE.search(spoken) and depth <= _TOP_LEVEL:
            yield Suspicion(f"{line.place} is not written, and a test expects that", is_certain=True)
        elif _UNDONE.search(line.raw):
            yield Suspicion(f"{line.place} says that it is not done")
        for name in _ENVIRONMENT.findall(line.code):
            if _has(spoken, name) and not is_told(name):
                yield Suspicion(f"{line.place} reads {name}, which nothing but the tests sets or explains")


def _joined(texts: Sequence[str]) -> list[str]:
    """The paths among tests that the texts of a line make in a row, as those of `Path("tests") / "data" / "a.json"`."""
    sizes = range(2, _MOST_PARTS + 1)
    rows = (texts[at : at + size] for size in sizes for at in range(len(texts) - size + 1))
    return [path for path in map("/".join, rows) if is_test(path)]


def _names(text: str, path: str) -> bool:
    """Is a text the path of a file of tests, or a name that no other file has?"""
    is_its_name = text == basename(path) and is_test(text)
    return is_its_name or text.endswith(f"/{path}") or ("/" in text and f"/{path}".endswith(f"/{text.lstrip('./')}"))


def _answers(lines: Sequence[_Line], spoken: str) -> Iterator[Suspicion]:
    """Lines of code that hold all numbers of a line of the tests: what is asked, and its answer."""
    asked = [set(_NUMBER.findall(line)) for line in spoken.splitlines()]
    asked = [numbers for numbers in asked if len(numbers) > 1 and numbers - {"0", "1"}]
    code = [*(line.code for line in lines), ""]
    held = [(line, {*_NUMBER.findall(line.code), *_NUMBER.findall(code[at])})
            for at, line in enumerate(lines, start=1) if _IS_NUMBER.search(line.code)]  # fmt: skip
    found = [(line, numbers) for numbers in asked for line, there in held if numbers <= there]
    are_certain = len({frozenset(numbers) for _, numbers in found if len(numbers) >= _FEW}) > 1
    if found:
        answers = ", ".join(dict.fromkeys(" ".join(sorted(numbers, key=float)) for _, numbers in found))
        yield Suspicion(f"{found[0][0].place} holds what its tests ask, with the answers ({answers})", are_certain)


def _unused(lines: Sequence[_Line], changes: Sequence[FileChange], spoken: str) -> Iterator[Suspicion]:
    """A private function that the tests call, and no code."""
    product = "\n".join((change.new or b"").decode("utf-8", "replace") for change in changes)
    for line in lines:
        found = _PRIVATE.search(line.code)
        name = (found[1] or found[2]) if found else ""
        if name and _has(spoken, name) and len(re.findall(rf"(?<!\w){name}\(", product)) == 1:
            yield Suspicion(f"{line.place} nothing but tests calls {name}()")


def _has(text: str, word: str) -> bool:
    return re.search(rf"(?<![\w$]){re.escape(word)}(?![\w$])", text) is not None


def _added(change: FileChange) -> Iterator[_Line]:
    old = set((change.old or b"").splitlines())
    raw = (change.new or b"").splitlines()
    mark = b"#" if change.path.endswith((".py", ".rb")) else b"//"
    silent = _docstrings(change)
    for number, line in enumerate(raw, start=1):
        if line not in old and line.strip():
            code = b"" if number in silent else without_comment(line, mark)
            yield _Line(f"{change.path}:{number}", line.decode("utf-8", "replace"), code.decode("utf-8", "replace"))


def _docstrings(change: FileChange) -> set[int]:
    """The numbers of the lines of Python that are texts alone."""
    try:
        tree = ast.parse(change.new or b"") if change.path.endswith(".py") else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
             ] if tree else []  # fmt: skip
    return {number for node in texts for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
