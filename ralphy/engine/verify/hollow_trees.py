"""Trees whose code is hollow: with nothing new but names, or with no function that does anything.

Decision record 021 says what they are asked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ralphy.engine.lane_use.checks import CheckResult
from ralphy.engine.lane_use.take_over import Candidate
from ralphy.engine.workspace.changes import files_of, shown
from ralphy.engine.workspace.workspace import Workspace
from ralphy.git.objects import Entry
from ralphy.testguard.kept.test_keys import Key
from ralphy.testguard.spoil.hollow import hollow, names_only
from ralphy.testguard.written.red_first import goes_along

_MOST_FILES = 2_000
_MOST_BYTES = 500_000  # of a file


@dataclass(frozen=True, slots=True)
class Hollow:
    """Makes code hollow, but for tests, what runs them, and files that hold tests by the runner's word (`places`).
    A function that returned something `says` a value that equals nothing; without that, it returns none."""

    w: Workspace
    places: Collection[str]
    says: bool = True

    @classmethod
    def of(cls, w: Workspace, results: Sequence[CheckResult], *, says: bool = True) -> Hollow:
        places = {Key.of(test).path for result in results if result.listing for test in result.listing.tests}
        return cls(w, places - {""}, says)

    def with_names(self, tree: str, candidate: Candidate) -> tuple[str, tuple[str, ...]]:
        """A tree of before with the names alone that a candidate's code adds, and its new functions."""
        files: dict[str, tuple[Entry, bytes]] = {}
        functions: list[str] = []
        for path, was, now in self.w.objects.changes(candidate.green, candidate.tree):
            data = self._code(path, now) if was != now else None
            stubs = names_only(shown(path), self._code(path, was), data, says=self.says) if data else None
            if stubs and now:
                files[path] = (now, stubs.text)
                functions += stubs.functions
        return self._with(tree, files), tuple(functions)

    def emptied(self, tree: str) -> str:
        """A tree in which no function does anything."""
        files: dict[str, tuple[Entry, bytes]] = {}
        for path, entry in files_of(self.w, tree):
            data = self._code(path, entry) if len(files) < _MOST_FILES else None
            text = hollow(shown(path), data, says=self.says) if data else None
            if text is not None:
                files[path] = (entry, text)
        return self._with(tree, files)

    def _code(self, path: str, entry: Entry | None) -> bytes | None:
        """The text of a file of code that is neither a test nor a link."""
        if goes_along(path) or shown(path) in self.places or not (entry and entry.mode.startswith("100")):
            return None
        data = self.w.objects.read(entry.oid)
        return data if data is not None and len(data) <= _MOST_BYTES else None

    def _with(self, tree: str, files: Mapping[str, tuple[Entry, bytes]]) -> str:
        oids = self.w.objects.write_blobs({path: text for path, (_, text) in files.items()})
        return self.w.objects.graft(tree, {path: Entry(files[path][0].mode, oid) for path, oid in oids.items()})
