"""Does the story's code look made for its tests? Changed files are read, and a few that tell people of settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ralphy.engine.lane_use.checks import CheckResult
from ralphy.engine.lane_use.take_over import Candidate, file_changes
from ralphy.engine.workspace.changes import files_of, shown
from ralphy.engine.workspace.workspace import Workspace
from ralphy.pipeline.model import Story
from ralphy.testguard.kept.test_keys import Key
from ralphy.testguard.substance import FileChange, is_test
from ralphy.testguard.written.suspicion import Surroundings, Suspicion, tells_people
from ralphy.testguard.written.suspicious import suspicions

_MOST_CHANGED = 200  # files of a story
_MOST_READ = 50  # further files
_MOST_BYTES = 500_000  # of a file


def suspicious_code(
    w: Workspace, story: Story, candidate: Candidate, results: Sequence[CheckResult]
) -> list[Suspicion]:
    """What looks made for the tests, the certain first; none of a story that is too large to be read."""
    listed = {Key.of(test).path for result in results if result.listing for test in result.listing.tests}
    if len(candidate.files) > _MOST_CHANGED:
        return []
    changes = [change for change in file_changes(w, candidate.green, candidate.tree) if _is_read(change)]
    tests = {
        change.path: change.new.decode("utf-8", "replace")
        for change in changes
        if change.new is not None and (is_test(change.path) or change.path in listed)
    }
    spoken = str(story.raw)
    around = Surroundings(
        tests,
        lambda: [shown(path) for path, _ in files_of(w, candidate.tree) if is_test(path)],
        lambda name: name in spoken or any(name.encode() in data for data in _told(w, candidate)),
    )
    return suspicions([change for change in changes if change.path not in tests], around)


def _is_read(change: FileChange) -> bool:
    return change.mode.startswith("100") and len(change.new or b"") <= _MOST_BYTES and b"\0" not in (change.new or b"")


def _told(w: Workspace, candidate: Candidate) -> Iterator[bytes]:
    """The files that tell people of the environment's variables, those that lie highest first."""
    paths = [(path, entry) for path, entry in files_of(w, candidate.tree) if tells_people(path)]
    for _, entry in sorted(paths, key=lambda row: (row[0].count("/"), row[0]))[:_MOST_READ]:
        yield w.objects.read(entry.oid) or b""
