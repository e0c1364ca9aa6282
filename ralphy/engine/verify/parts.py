"""Which parts of a change would no test miss? Each is taken back alone, and the checks are asked.

The story's own tests are asked first, where the runner can be asked for files; all checks only if those stay green. Of
a file with several parts all are taken back at once before: what stays green without all of them misses none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ralphy.engine.lane_use.checks import CheckResult, argv
from ralphy.engine.lane_use.take_over import Candidate, file_changes
from ralphy.engine.lane_use.trial import Beside, patience_s, tried, words_for
from ralphy.engine.verify.red_first import with_tests
from ralphy.engine.workspace.workspace import Workspace
from ralphy.git.objects import Entry
from ralphy.testguard.kept.test_keys import Key
from ralphy.testguard.spoil.hunks import Hunk, hunks_of, without_all
from ralphy.testguard.substance import FileChange

_A_GROUP = 3  # parts of a file from which on it pays to take back all of them first

Ask = Callable[[str], "bool | None"]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a change, by its place in the new code, and whether a check turns red without it; None: not asked."""

    place: str
    is_proved: bool | None


def parts_of(
    w: Workspace, candidate: Candidate, ask: Ask, go_on: Callable[[], object] = lambda: None
) -> Iterator[Part]:
    """Each part as soon as it is known. `ask` says of a tree whether it `is_missed` there; `go_on` is called often,
    and may raise."""
    for change in file_changes(w, candidate.green, candidate.tree):
        hunks = []
        for hunk in hunks_of(change):
            go_on()
            hunks.append(hunk)
        if len(hunks) >= _A_GROUP and ask(_tree(w, candidate, change, without_all(hunks, change.new or b""))) is False:
            yield from (Part(hunk.place, is_proved=False) for hunk in hunks)
            continue
        for hunk in hunks:
            yield from _asked(w, candidate, change, hunk, ask, go_on)


def _asked(
    w: Workspace, candidate: Candidate, change: FileChange, hunk: Hunk, ask: Ask, go_on: Callable[[], object]
) -> Iterator[Part]:
    """A part, and those within it: what is not missed as a whole is not asked about piece by piece."""
    go_on()
    part = Part(hunk.place, ask(_tree(w, candidate, change, hunk.taken_back(change.new or b""))))
    yield part
    if part.is_proved is not False:
        for inner in hunk.within:
            yield from _asked(w, candidate, change, inner, ask, go_on)


def _tree(w: Workspace, candidate: Candidate, change: FileChange, data: bytes) -> str:
    with w.objects.together():
        entry = Entry(change.mode, w.objects.write("blob", data))
    return w.objects.graft(candidate.tree, {change.path: entry})


def is_missed(
    w: Workspace, tree: str, results: Sequence[CheckResult], red: Sequence[str], beside: Beside | None = None
) -> bool | None:
    """Does any check turn red on this tree, or come to no end? None if one cannot be run there.

    `results` are those of the checks on the whole code, `red` the story's own tests. Raises GaveWay.
    """
    files = sorted({path for test in red if (path := Key.of(test).path)})
    checks = list(with_tests(w, results))
    own = [(check, words, result) for check, result in checks if (words := words_for(w, check, files))]
    for check, words, result in [*own, *((check, list(argv(check)), result) for check, result in checks)]:
        told = tried(w, tree, check, words, "part", patience_s(check, result), beside)
        if told is None:
            return None
        if told.stopped in ("", "deadline") and not told.is_green:
            return True
    return False
