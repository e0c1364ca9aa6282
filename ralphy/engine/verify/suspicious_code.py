"""Does the story's code look made for its tests? Changed files are read, and a few that tell people of settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ralphy.engine.lane_use.checks import CheckResult
from ralphy.engine.lane_use.take_over import Candidate, file_changes
from ralphy.engine.workspace.changes import files_of
from ralphy.engine.workspace.workspace import Workspace
from ralphy.pipeline.model import Story
from ralphy.testguard.kept.test_keys import Key
from ralphy.testguard.substance import FileChange, is_manifest, is_test
from ralphy.testguard.written.suspicions import Suspicion, suspicions

_MOST_CHANGED = 200  # files of a story
_MOST_READ = 50  # further files
_MOST_BYTES = 500_000  # of a file
# Where a variable of the environment that people set is told to them.
_TOLD = (".md", ".rst", ".adoc", ".env", ".example", ".yml", ".yaml", ".toml", ".cfg", ".ini", ".json", ".sh",
         "README", "Dockerfile", "Procfile", ".envrc")  # fmt: skip


def suspicious_code(
    w: Workspace, story: Story, candidate: Candidate, results: Sequence[CheckResult]
) -> list[Suspicion]:
    """What looks made for the tests, the certain first; none of a story that is too large to be read."""
    listed = {Key.of(test).path for result in results if result.listing for test in result.listing.tests}
    if len(candidate.files) > _MOST_CHANGED:
        return []
    changes = [change for change in file_changes(w, candidate.green, candidate.tree) if _is_read(change)]
    tests = {change.path: (change.new or b"").decode("utf-8", "replace") for change in changes
             if is_test(change.path) or change.path in listed}  # fmt: skip
    code = [change for change in changes if change.path not in tests and not is_manifest(change.path)]
    spoken = str(story.raw)
    return suspicions(code, tests, lambda name: name in spoken or any(name.encode() in d for d in _told(w, candidate)))


def _is_read(change: FileChange) -> bool:
    is_text = change.new is not None and len(change.new) <= _MOST_BYTES and b"\0" not in change.new
    return is_text and change.mode.startswith("100")


def _told(w: Workspace, candidate: Candidate) -> Iterator[bytes]:
    """The files that tell people of the environment's variables, those that lie highest first."""
    paths = [(path, entry) for path, entry in files_of(w, candidate.tree) if path.endswith(_TOLD) and not is_test(path)]
    for _, entry in sorted(paths, key=lambda row: (row[0].count("/"), row[0]))[:_MOST_READ]:
        yield w.objects.read(entry.oid) or b""
