"""Code that looks made for its tests: the lines that a story adds are compared with its tests, in any language alike.

Words and numbers are compared, hardly any syntax. What no honest change looks like is certain; the rest is a flag.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from posixpath import basename

from ralphy.testguard.substance import FileChange, is_test, without_comment
from ralphy.testguard.test_files import parsed

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
    """What looks made for the tests, in a sentence. It is `certain` if no honest change looks like this."""

    text: str
    is_certain: bool = False


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that a story added to a file of code: as it is, and without comments and docstrings."""

    place: str
    raw: str
    code: str


def suspicions(
    changes: Sequence[FileChange], tests: Mapping[str, str], is_documented: Callable[[str], bool]
) -> list[Suspicion]:
    """What looks made for `tests` (the story's, by path) in the changed files of code, the certain first;
    `is_documented`: does a story or a document have a word?"""
    test_text = "\n".join(tests.values())
    every: list[Suspicion] = []
    for change in changes:
        lines = list(_added(change))
        every += _in_lines(lines, tests, test_text, is_documented)
        every += _answers(lines, test_text)
        every += _unused(lines, changes, test_text)
        every += _equality(lines)
    return sorted(dict.fromkeys(every), key=lambda one: not one.is_certain)


def _in_lines(
    lines: Sequence[_Line], tests: Mapping[str, str], test_text: str, is_documented: Callable[[str], bool]
) -> Iterator[Suspicion]:
    """Lines that are suspicious by themselves."""
    for line in lines:
        texts = ["".join(groups) for groups in _TEXT.findall(line.code)]
        if own := next((path for path in tests for text in [*texts, *_joined(texts)] if _names(text, path)), ""):
            yield Suspicion(f"{line.place} reads {own}, which belongs to the tests", is_certain=True)
        word = _NOT_WRITTEN.search(line.code)
        depth = len(line.raw) - len(line.raw.lstrip(" "))  # a method may be there for others to write
        if word and word[0] in test_text and _EXPECTS_FAILURE.search(test_text) and depth <= _TOP_LEVEL:
            yield Suspicion(f"{line.place} is not written, and a test expects that", is_certain=True)
        elif _UNDONE.search(line.raw):
            yield Suspicion(f"{line.place} says that it is not done")
        for name in _ENVIRONMENT.findall(line.code):
            if _has_word(test_text, name) and not is_documented(name):
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


def _answers(lines: Sequence[_Line], test_text: str) -> Iterator[Suspicion]:
    """Lines of code that hold all numbers of a line of the tests: what is asked, and its answer."""
    asked = [set(_NUMBER.findall(line)) for line in test_text.splitlines()]
    asked = [numbers for numbers in asked if len(numbers) > 1 and numbers - {"0", "1"}]
    code = [*(line.code for line in lines), ""]
    compared = [(line, {*_NUMBER.findall(line.code), *_NUMBER.findall(code[at])})
                for at, line in enumerate(lines, start=1) if _IS_NUMBER.search(line.code)]  # fmt: skip
    matches = [(line, numbers) for numbers in asked for line, there in compared if numbers <= there]
    are_certain = len({frozenset(numbers) for _, numbers in matches if len(numbers) >= _FEW}) > 1
    if matches:
        answers = ", ".join(dict.fromkeys(" ".join(sorted(numbers, key=float)) for _, numbers in matches))
        yield Suspicion(f"{matches[0][0].place} holds what its tests ask, with the answers ({answers})", are_certain)


def _unused(lines: Sequence[_Line], changes: Sequence[FileChange], test_text: str) -> Iterator[Suspicion]:
    """A private function that the tests call, and no code."""
    product = "\n".join((change.new or b"").decode("utf-8", "replace") for change in changes)
    for line in lines:
        private = _PRIVATE.search(line.code)
        name = (private[1] or private[2]) if private else ""
        if name and _has_word(test_text, name) and len(re.findall(rf"(?<!\w){name}\(", product)) == 1:
            yield Suspicion(f"{line.place} nothing but tests calls {name}()")


def _equality(lines: Sequence[_Line]) -> Iterator[Suspicion]:
    """An equality that is always true; a class like mock's `ANY` may have one."""
    text = "\n".join(line.code for line in lines)
    if equal := _ALL_EQUAL.search(text):
        is_wildcard = "any" in "".join(_CLASS.findall(text[: equal.start()])[-1:]).lower()
        place = lines[text.count("\n", 0, equal.start())].place
        yield Suspicion(f"{place} calls everything equal", is_certain=not is_wildcard)


def _has_word(text: str, word: str) -> bool:
    return re.search(rf"(?<![\w$]){re.escape(word)}(?![\w$])", text) is not None


def _added(change: FileChange) -> Iterator[_Line]:
    old = set((change.old or b"").splitlines())
    raw = (change.new or b"").splitlines()
    mark = b"#" if change.path.endswith((".py", ".rb")) else b"//"
    docstrings = _docstrings(change)
    for number, line in enumerate(raw, start=1):
        if line not in old and line.strip():
            code = b"" if number in docstrings else without_comment(line, mark)
            yield _Line(f"{change.path}:{number}", line.decode("utf-8", "replace"), code.decode("utf-8", "replace"))


def _docstrings(change: FileChange) -> set[int]:
    """The numbers of the lines of Python that are texts alone."""
    tree = parsed(change.new or b"") if change.path.endswith(".py") else None
    texts = [node for node in ast.walk(tree or ast.Module([], []))
             if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)]  # fmt: skip
    return {number for node in texts for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
