"""The old versions of edited tests, run against the new code: what fails there is shown, and rejects nothing.

An edited test may follow a requirement or give in to a mistake; who reads the evidence should know which it was. Where
a check calls pytest itself, only the files that were edited are run; any other check is run as it stands, once more.
Both happen in a copy of the candidate outside of the repository.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ralphy.adapters.objects import Entry
from ralphy.core.cases import Case
from ralphy.core.config import Check
from ralphy.core.edited_tests import is_edited, is_same, theirs
from ralphy.core.failing import failing_tests
from ralphy.core.findings import listed_names
from ralphy.core.homes import Sources
from ralphy.core.listing import FAILED, PASSED, Listing
from ralphy.core.runs import Key
from ralphy.core.substance import is_test
from ralphy.core.tests_kept import may_go
from ralphy.engine.baseline import known_tests
from ralphy.engine.candidate import Candidate
from ralphy.engine.changes import shown
from ralphy.engine.checks import argv
from ralphy.engine.old_copy import run_with_old
from ralphy.engine.workspace import Workspace
from ralphy.engine.written_tests import sources

_MOST_EDITED = 50
_WITH_VALUE = frozenset(("-c", "-p", "-k", "-m", "-o", "-W", "-n", "-r", "--rootdir", "--confcutdir", "--basetemp"))


def old_tests_fail(w: Workspace, candidate: Candidate, removes: Sequence[str]) -> Iterator[str]:
    """A sentence for each edited or moved file whose old tests, which passed, fail against the candidate's code;
    `removes` names tests that may go."""
    known = known_tests(w, w.code_of(candidate.green)) or {}
    for check in w.checks:
        before = known.get(check.name)
        if _pytest_at(argv(check)):
            yield from _by_pytest(w, candidate, check, before, removes) if before else ()
        elif before or any("test" in word for word in argv(check)):
            yield from _by_the_check(w, candidate, check, before or Listing(), removes)


def _by_pytest(
    w: Workspace, candidate: Candidate, check: Check, before: Listing, removes: Sequence[str]
) -> Iterator[str]:
    edited = _edited(w, candidate, before)
    words = [*_options(argv(check), w.repository.root), *map(shown, sorted(edited))]
    told = run_with_old(w, candidate, check, edited, words) if edited else None
    after = (told and told[0]) or Listing()
    for path in sorted(edited):
        red = [test for test, outcome in after.tests.items()
               if outcome == FAILED and before.tests.get(test) == PASSED and Key.of(test).is_at(path)]  # fmt: skip
        yield from _sentence(path, [test for test in red if not may_go(test, removes)])


def _edited(w: Workspace, candidate: Candidate, before: Listing) -> Mapping[str, Entry]:
    """The changed files that tests of the listing stand in, as they were."""
    places = {Key.of(test).path for test in before.tests} - {""}
    below = tuple(f"/{place}" for place in places)
    both = [(path, was) for path, was, now in w.objects.changes(candidate.green, candidate.tree)
            if was and (now is None or was.oid != now.oid)]  # fmt: skip
    found = {path: was for path, was in both if path in places or path.endswith(below)}
    return found if len(found) <= _MOST_EDITED else {}


def _pytest_at(words: Sequence[str]) -> int:
    """Behind which word pytest's own arguments begin; 0 if it is not pytest that is called."""
    names = [os.path.basename(word) for word in words]  # noqa: PTH119 - words are no paths
    return next((at for at, name in enumerate(names, start=1) if name in ("pytest", "py.test")), 0)


def _options(words: Sequence[str], root: Path) -> Iterator[str]:
    """The command without the files and folders that it names: the edited files are asked for instead."""
    begin = _pytest_at(words)
    yield words[0]
    for at, word in enumerate(words[1:], start=1):
        is_path = at >= begin and not word.startswith("-") and words[at - 1] not in _WITH_VALUE
        if not (is_path and (root / word.partition("::")[0]).exists()):
            yield word


def _by_the_check(
    w: Workspace, candidate: Candidate, check: Check, before: Listing, removes: Sequence[str]
) -> Iterator[str]:
    """Whatever runner it calls: the tests that fail now, and stand in the old version of an edited file."""
    written = sources(w, candidate, before)
    edited = _edited_files(w, candidate, written)
    if not edited:
        return
    w.say(f"  check {check.name} is run on the old versions of the tests that were edited")
    told = run_with_old(w, candidate, check, edited, argv(check))
    if told is None:
        return
    listing, output = told
    red = [*([test for test, outcome in listing.tests.items() if outcome == FAILED] if listing else ()),
           *failing_tests(output)]  # fmt: skip
    new = [test for test in red if before.tests.get(test) != FAILED and test not in w.history.known_red]
    kept = [case for case in written.old if case.path in map(shown, edited) and not may_go(case.shown, removes)]
    for path, names in theirs(new, kept).items():
        yield from _sentence(path, names)


def _edited_files(w: Workspace, candidate: Candidate, written: Sources) -> Mapping[str, Entry]:
    """The files of tests that were edited, as they were; what is no file of tests by its name holds other code, too."""
    found = {}
    for path, was, now in w.objects.changes(candidate.green, candidate.tree):
        old = _cases_in(written.old, path)
        if not (was and old and is_test(path)):
            continue
        new = _cases_in(written.new, path)
        is_other = is_edited(_text(w, was), _text(w, now), old, new) if now else not is_same(old, written.new)
        if is_other:
            found[path] = was
    return found if len(found) <= _MOST_EDITED else {}


def _cases_in(cases: Sequence[Case], path: str) -> Sequence[Case]:
    return [case for case in cases if case.path == shown(path)]


def _text(w: Workspace, entry: Entry) -> str:
    return (w.objects.read(entry.oid) or b"").decode("utf-8", "replace")


def _sentence(path: str, red: Sequence[str]) -> Iterator[str]:
    if red:
        yield f"{len(red)} of the old {shown(path)} fail against the new code: {listed_names(red)}"
