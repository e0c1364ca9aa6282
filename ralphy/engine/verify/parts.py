"""Which parts of a change would no test miss? Each is taken back alone, and the checks are asked.

The story's own tests are asked first, where the runner can be asked for files; all checks only if those stay green.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ralphy.engine.lane_use.checks import CheckResult, argv
from ralphy.engine.lane_use.take_over import Candidate, file_changes
from ralphy.engine.lane_use.trial import try_tree, words_for
from ralphy.engine.verify.red_first import with_tests
from ralphy.engine.workspace.workspace import Workspace
from ralphy.git.objects import Entry
from ralphy.testguard.hunks import Hunk, hunks_of
from ralphy.testguard.test_keys import Key


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a change, by its place in the new code, and whether a check turns red without it."""

    place: str
    is_proved: bool


def parts_of(w: Workspace, candidate: Candidate, results: Sequence[CheckResult], red: Sequence[str]) -> Iterator[Part]:
    """Each part as soon as it is known; `results` are those of the green checks, `red` the story's own tests."""
    files = sorted({path for test in red if (path := Key.of(test).path)})
    for change in file_changes(w, candidate.green, candidate.tree):
        for hunk in hunks_of(change):
            tree = _without(w, candidate, hunk, change.new or b"", change.mode)
            yield Part(hunk.place, _is_missed(w, tree, results, files))


def _without(w: Workspace, candidate: Candidate, hunk: Hunk, new: bytes, mode: str) -> str:
    with w.objects.together():
        entry = Entry(mode, w.objects.write("blob", hunk.taken_back(new)))
    return w.objects.graft(candidate.tree, {hunk.path: entry})


def _is_missed(w: Workspace, tree: str, results: Sequence[CheckResult], files: Sequence[str]) -> bool:
    """Does any check turn red on this tree? One that cannot be run, or comes to no end, proves nothing."""
    checks = [check for check, _ in with_tests(w, results)]
    own = [(check, words) for check in checks if (words := words_for(w, check, files))]
    ways = [*own, *((check, argv(check)) for check in checks)]
    return any((told := try_tree(w, tree, check, words, "part")) and not told.is_green for check, words in ways)
