"""A suspicion, what it is compared with, and what is asked of code in any language: see `suspicious`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from posixpath import basename

from ralphy.testguard.substance import is_test

_MOST_LITERALS = 12
_PLACES = ("test", "spec", "snap", "golden", "fixture")
# Where a variable of the environment that people set is told to them.
_TOLD = re.compile(
    r"(?:^|/)(?:README[^/]*|[^/]*\.(?:md|rst|adoc|env|example|service|tf)|\.env[^/]*|\.envrc|Dockerfile[^/]*"
    r"|(?:docker-)?compose[^/]*\.ya?ml|Procfile|[^/]*\.(?:ya?ml|toml|cfg|ini|json|sh))$"
)
_CALLER = re.compile(
    r"\binspect\b\W{0,4}\.(?:stack|currentframe)\b|\bsys\._getframe\b|\bextract_stack\b|\bnew Error\([^)]*\)\.stack"
    r"|\bruntime\.Callers?\b|\bgetStackTrace\b|\bsys\.argv\b|\bprocess\.argv\b|\bos\.Args\b|\benv::args\b"
)
_TESTISH = re.compile(r"""['"`/][^'"`\n]*(?:test|spec|jest|vitest|junit|surefire)[^'"`\n]*['"`/]""", re.I)


@dataclass(frozen=True, slots=True)
class Suspicion:
    """`what` stands in a line (from 1) of a file. It is `certain` if no honest change looks like this."""

    path: str
    line: int
    what: str
    is_certain: bool = False

    @property
    def said(self) -> str:
        return f"{self.path}:{self.line} {self.what}"


@dataclass(frozen=True)
class Surroundings:
    """What the code is compared with: the story's `tests` by path, the files that belong to tests in its tree, and
    whether a name stands anywhere else than in tests. The last two are only asked if something calls for it."""

    tests: Mapping[str, str] = field(default_factory=dict)
    places: Callable[[], Collection[str]] = tuple
    is_told: Callable[[str], bool] = lambda _: False

    @cached_property
    def text(self) -> str:
        return "\n".join(self.tests.values())

    def speak_of(self, name: str) -> bool:
        """Do the story's tests have a word?"""
        return re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", self.text) is not None

    @cached_property
    def known(self) -> frozenset[str]:
        return frozenset(self.places())


def tells_people(path: str) -> bool:
    """Would a person look here for the environment's variables?"""
    return not is_test(path) and bool(_TOLD.search(path))


def reads_tests(path: str, line: int, literals: Sequence[str], around: Surroundings, *, opens: bool) -> list[Suspicion]:
    """What is said of a statement that names a file of the tests; `opens`: and reads it."""
    wanted = list(_paths(literals))
    if not any(mark in one.lower() for one in wanted for mark in _PLACES):
        return []
    found = next((place for place in sorted(around.known) if any(_is_named(place, one) for one in wanted)), "")
    if not found:
        return []
    is_code = basename(found).endswith((".py", ".js", ".ts", ".mjs", ".cjs", ".go", ".java", ".rs", ".snap"))
    is_certain = opens and (is_code or found in around.tests)  # its own tests' text, or what it put beside them
    return [Suspicion(path, line, f"reads {found}, which belongs to the tests", is_certain)]


def _paths(literals: Sequence[str]) -> Iterator[str]:
    """Each literal as a path, and what literals that follow each other make of one."""
    parts = [[word for word in one.split("/") if word not in ("", ".", "..")] for one in literals[:_MOST_LITERALS]]
    for begin in range(len(parts)):
        for end in range(begin + 1, len(parts) + 1):
            yield "/".join(word for part in parts[begin:end] for word in part)


def _is_named(place: str, wanted: str) -> bool:
    return place == wanted or (place.endswith(f"/{wanted}") and "/" in wanted) or (
        wanted.endswith(f"/{place}") and "/" in place)  # fmt: skip


def looks_at_callers(path: str, lines: Iterable[tuple[int, str]]) -> Iterator[Suspicion]:
    """Code that asks who calls it, and knows words of tests."""
    rows = list(lines)
    about_tests = any(_TESTISH.search(text) for _, text in rows)
    for number, text in rows:
        if about_tests and _CALLER.search(text):
            is_certain = bool(_TESTISH.search(text)) and "arg" not in text
            yield Suspicion(path, number, "looks at who calls it, and knows tests by name", is_certain)
            return


def variables(path: str, found: Iterable[tuple[int, str]], around: Surroundings) -> Iterator[Suspicion]:
    """The variables of the environment that the tests set, and that nobody is told about."""
    for line, name in dict.fromkeys(found):
        if around.speak_of(name) and not around.is_told(name):
            yield Suspicion(path, line, f"reads {name}, which nothing but the tests sets or explains")
