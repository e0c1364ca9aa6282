"""The tests as they are written in the files that a story changed, before and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ralphy.adapters.objects import Entry
from ralphy.core.cases import Case, functions_of, parsed, python_cases
from ralphy.core.cases_text import has_tests_beside_code, text_cases
from ralphy.core.findings import Finding
from ralphy.core.listing import Listing
from ralphy.core.substance import is_test
from ralphy.core.surroundings import PYTEST_CONFIGS, Surroundings, is_pytest_config, matters, weaker
from ralphy.core.tests_kept import Key, Sources
from ralphy.engine.candidate import Candidate
from ralphy.engine.changes import shown
from ralphy.engine.checks import argv
from ralphy.engine.workspace import Workspace

_MOST_BYTES = 2_000_000
_MOST_FILES = 2_000

_Files = list[tuple[str, bytes]]


def sources(w: Workspace, candidate: Candidate, known: Listing) -> Sources:
    """Read what holds tests: by the file's name, or because the runner said so in `known`."""
    old: _Files = []
    new: _Files = []
    for path, was, now in _test_files(w, candidate, known):
        old += _read(w, path, was)
        new += _read(w, path, now)
    return Sources(_cases(old), _cases(new), frozenset(map(shown, candidate.files)))


def surroundings_of(w: Workspace, candidate: Candidate, *, is_listed: bool) -> Iterator[Finding]:
    """What the story changed around the tests, that makes the checks greener."""
    rows = w.objects.entries(candidate.green)
    configs = {name: text for name in PYTEST_CONFIGS if name in rows and (text := _text(w, rows[name])) is not None}
    known = {name: text for name, text in configs.items() if is_pytest_config(name, text)}
    around = Surroundings([argv(check) for check in w.checks], known, is_listed)
    for path, was, now in w.objects.changes(candidate.green, candidate.tree):
        if matters(path, around):
            yield from weaker(shown(path), _text(w, was), _text(w, now), around)


def _text(w: Workspace, entry: Entry | None) -> str | None:
    data = _data(w, entry)
    return None if data is None else data.decode("utf-8", "replace")


def _test_files(w: Workspace, candidate: Candidate, known: Listing) -> Iterator[tuple[str, Entry | None, Entry | None]]:
    places = {Key.of(test).path for test in known.tests} - {""}
    below = tuple(f"/{place}" for place in places)
    left = _MOST_FILES
    for path, was, now in w.objects.changes(candidate.green, candidate.tree):
        if left and (is_test(path) or has_tests_beside_code(path) or path in places or path.endswith(below)):
            left -= 1
            yield path, was, now


def _read(w: Workspace, path: str, entry: Entry | None) -> _Files:
    data = _data(w, entry)
    return [] if data is None else [(shown(path), data)]


def _data(w: Workspace, entry: Entry | None) -> bytes | None:
    """The bytes of a file that is no link and not too large to be source."""
    data = w.objects.read(entry.oid) if entry and entry.mode.startswith("100") else None
    return data if data is not None and len(data) <= _MOST_BYTES else None


def _cases(files: Sequence[tuple[str, bytes]]) -> list[Case]:
    trees = [(path, tree) for path, data in files if path.endswith(".py") and (tree := parsed(data)) is not None]
    shared = functions_of([tree for _, tree in trees])
    read = [case for path, tree in trees for case in python_cases(path, tree, shared)]
    return read + [case for path, data in files for case in text_cases(path, data.decode("utf-8", "replace"))]
