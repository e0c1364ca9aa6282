"""The old versions of edited tests, run against the new code: what fails there is shown, and rejects nothing.

An edited test may follow a requirement or give in to a mistake; who reads the evidence should know which it was. Only
where a check calls pytest itself, and only the files that were edited, in a copy of the candidate outside of the
repository.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ralphy.adapters.command import Command
from ralphy.adapters.objects import TREE, Entry
from ralphy.adapters.process import capture
from ralphy.core.config import Check
from ralphy.core.errors import EnvironmentProblem
from ralphy.core.findings import listed_names
from ralphy.core.listing import FAILED, PASSED, Listing
from ralphy.core.tests_kept import Key
from ralphy.engine.baseline import known_tests
from ralphy.engine.candidate import Candidate
from ralphy.engine.changes import shown
from ralphy.engine.checks import argv
from ralphy.engine.environment import check_environment
from ralphy.engine.reports import Reports
from ralphy.engine.walls import around, walls
from ralphy.engine.workspace import Workspace, repository_token

_MOST_FILES = 20_000
_MOST_EDITED = 50
_MOST_SECONDS = 300.0
_OUTPUT_BYTES = 64 * 1024
_WITH_VALUE = frozenset(("-c", "-p", "-k", "-m", "-o", "-W", "-n", "-r", "--rootdir", "--confcutdir", "--basetemp"))


def old_tests_fail(w: Workspace, candidate: Candidate) -> Iterator[str]:
    """A sentence for each edited file whose old tests, which passed, fail against the candidate's code."""
    known = known_tests(w, w.code_of(candidate.green)) or {}
    for check in w.checks:
        before = known.get(check.name)
        edited = _edited(w, candidate, before) if before and _pytest_at(argv(check)) else {}
        after = _run(w, candidate, check, edited) if edited else None
        if before and after:
            yield from _sentences(before, after, sorted(edited))


def _edited(w: Workspace, candidate: Candidate, before: Listing) -> Mapping[str, Entry]:
    """The changed files that tests of the listing stand in, as they were."""
    places = {Key.of(test).path for test in before.tests} - {""}
    below = tuple(f"/{place}" for place in places)
    both = [(path, was) for path, was, now in w.objects.changes(candidate.green, candidate.tree)
            if was and now and was.oid != now.oid]  # fmt: skip
    found = {path: was for path, was in both if path in places or path.endswith(below)}
    return found if len(found) <= _MOST_EDITED else {}


def _run(w: Workspace, candidate: Candidate, check: Check, edited: Mapping[str, Entry]) -> Listing | None:
    try:
        with Reports(repository_token(w.repository)) as reports:
            folder = Path(reports.folder) / "tree"
            if not _lay_out(w, candidate.tree, folder):
                return None
            for path, entry in edited.items():
                _put(w, folder / path, entry)
            env = reports.environment(check_environment(w, f"old-tests-{candidate.tree[:12]}"), check.name)
            words = [*_options(argv(check), w.repository.root), *map(shown, sorted(edited))]
            there = ["env", "-C", str(folder)] if walls(w).checks else []  # a sandbox begins at the repository's root
            words = [*around(walls(w).checks, [*there, *words], env, reports.folder)]
            command = Command(tuple(words), str(folder), env, min(check.timeout_s, _MOST_SECONDS))
            capture(w.supervisor, command, _OUTPUT_BYTES)
            return reports.read(check.name)
    except (OSError, EnvironmentProblem) as error:
        w.say(f"the old versions of edited tests could not be run: {error}")
        return None


def _pytest_at(words: Sequence[str]) -> int:
    """Behind which word pytest's own arguments begin; 0 if it is not pytest that is called."""
    names = [os.path.basename(word) for word in words]  # noqa: PTH119 - words are no paths
    return next((at for at, name in enumerate(names, start=1) if name in ("pytest", "py.test")), 0)


def _options(words: Sequence[str], root: Path) -> Iterator[str]:
    """The command without the files and folders that it names: the edited files are asked for instead.

    A program that is named from the repository's root (`.venv/bin/pytest`) is run from there: the copy has none.
    """
    begin = _pytest_at(words)
    yield str(root / words[0]) if "/" in words[0] else words[0]
    for at, word in enumerate(words[1:], start=1):
        is_path = at >= begin and not word.startswith("-") and words[at - 1] not in _WITH_VALUE
        if not (is_path and (root / word.partition("::")[0]).exists()):
            yield word


def _lay_out(w: Workspace, tree: str, folder: Path) -> bool:
    """Write a tree's files below a folder, as they are stored; False if there are too many."""
    left = _MOST_FILES
    for path, entry in _walk(w, tree, ""):
        left -= 1
        if not left:
            return False
        _put(w, folder / path, entry)
    return True


def _walk(w: Workspace, tree: str, prefix: str) -> Iterator[tuple[str, Entry]]:
    for name, entry in w.objects.entries(tree).items():
        if entry.mode == TREE:
            yield from _walk(w, entry.oid, f"{prefix}{name}/")
        elif entry.mode.startswith(("100", "120")):
            yield f"{prefix}{name}", entry


def _put(w: Workspace, path: Path, entry: Entry) -> None:
    data = w.objects.read(entry.oid) or b""
    path.parent.mkdir(parents=True, exist_ok=True)
    if entry.mode == "120000":
        path.symlink_to(os.fsdecode(data))
        return
    path.write_bytes(data)
    path.chmod(0o755 if entry.mode == "100755" else 0o644)


def _sentences(before: Listing, after: Listing, edited: Sequence[str]) -> Iterator[str]:
    for path in edited:
        red = [test for test, outcome in after.tests.items()
               if outcome == FAILED and before.tests.get(test) == PASSED and Key.of(test).is_at(path)]  # fmt: skip
        if red:
            yield f"{len(red)} of the old {shown(path)} fail against the new code: {listed_names(red)}"
