"""A copy of the candidate outside of the repository, with some files as they were, to run a check in."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ralphy.checks.listing import Listing
from ralphy.checks.runner_output import read_output
from ralphy.config.values import Check
from ralphy.engine.candidate import Candidate
from ralphy.engine.changes import files_of
from ralphy.engine.checks import bounds, place_of
from ralphy.engine.environment import check_environment
from ralphy.engine.lane_pool import lay_out_clean
from ralphy.engine.put_back import put_back_after
from ralphy.engine.reports import Reports
from ralphy.engine.walls import command_inside, walls
from ralphy.engine.workspace import Workspace, repository_token
from ralphy.errors import EnvironmentProblem
from ralphy.git.objects import Entry
from ralphy.processes.supervision import capture

_MOST_FILES = 20_000
_MOST_SECONDS = 300.0
_OUTPUT_BYTES = 256 * 1024
_DEPENDENCIES = ("node_modules",)  # what Git ignores and runners look for beside the code

Told = tuple[Listing | None, str]


def run_with_old(
    w: Workspace, candidate: Candidate, check: Check, old: Mapping[str, Entry | None], words: Sequence[str],
    rewritten: Callable[[str, bytes], bytes],
) -> Told | None:  # fmt: skip
    """What these words tell of the tests, run in the copy, and what they print; None if they cannot be run there.

    `old` are the files as they were, None for one that was not there; `rewritten` says what is taken of each.
    """
    try:
        if w.lanes:
            return _run_in_lane(w, candidate, check, old, words, rewritten)
        with Reports(repository_token(w.repository)) as reports:
            folder = Path(reports.folder) / "tree"
            if not _lay_out(w, candidate.tree, folder):
                return None
            for path, entry in old.items():
                place = _cleared(folder, path)
                if entry:
                    _put(place, entry, rewritten(path, w.objects.read(entry.oid) or b""))
            env = reports.environment(check_environment(w, f"old-tests-{candidate.tree[:12]}"), check.name)
            there = ["env", "-C", str(folder)] if walls(w).checks else []  # a sandbox begins at the repository's root
            inner = [*there, _program(words[0], w.repository.root, folder), *words[1:]]
            seconds = min(check.timeout_s, _MOST_SECONDS)
            command = command_inside(walls(w).checks, inner, folder, env, seconds, reports.folder)
            with put_back_after(w, f"the check {check.name}"):
                said = capture(w.supervisor, command, _OUTPUT_BYTES, should_stop=bounds(w, []))[1]
            output = said.decode("utf-8", "replace")
            return reports.read(check.name) or read_output(output), output
    except (OSError, EnvironmentProblem) as error:
        w.say(f"the old versions of edited tests could not be run: {error}")
        return None


def _run_in_lane(
    w: Workspace, candidate: Candidate, check: Check, old: Mapping[str, Entry | None], words: Sequence[str],
    rewritten: Callable[[str, bytes], bytes],
) -> Told:  # fmt: skip
    """The same in the clean lane: the candidate with the old files is one more tree to lay out."""
    with w.objects.together():
        files = {path: entry and replace(entry, oid=w.objects.write("blob", _text(w, path, entry, rewritten)))
                 for path, entry in old.items()}  # fmt: skip
    lay_out_clean(w, w.objects.graft(candidate.tree, files))
    with Reports(repository_token(w.repository)) as reports:
        env = reports.environment(check_environment(w, f"old-tests-{candidate.tree[:12]}"), check.name)
        sandbox, cwd = place_of(w, "checks")
        seconds = min(check.timeout_s, _MOST_SECONDS)
        command = command_inside(sandbox, words, cwd, env, seconds, reports.folder)
        output = capture(w.supervisor, command, _OUTPUT_BYTES, should_stop=bounds(w, []))[1].decode("utf-8", "replace")
        return reports.read(check.name) or read_output(output), output


def _text(w: Workspace, path: str, entry: Entry, rewritten: Callable[[str, bytes], bytes]) -> bytes:
    return rewritten(path, w.objects.read(entry.oid) or b"")


def _program(word: str, root: Path, folder: Path) -> str:
    """A program that is named from the repository's root (`.venv/bin/pytest`): from there, if the copy has none."""
    return str(root / word) if "/" in word and not (folder / word).exists() else word


def _lay_out(w: Workspace, tree: str, folder: Path) -> bool:
    """Write a tree's files below a folder, as they are stored; False if there are too many."""
    left = _MOST_FILES
    for path, entry in files_of(w, tree):
        left -= 1
        if not left:
            return False
        _put(folder / path, entry, w.objects.read(entry.oid) or b"")
    for name in _DEPENDENCIES:
        if (w.repository.root / name).is_dir() and not os.path.lexists(folder / name):
            (folder / name).symlink_to(w.repository.root / name)
    return True


def _cleared(folder: Path, name: str) -> Path:
    """Where a file goes: no link that stands in its place or on the way there is written through."""
    *way, last = name.split("/")
    for part in way:
        folder /= part
        if folder.is_symlink():
            folder.unlink()
        folder.mkdir(exist_ok=True)
    (folder / last).unlink(missing_ok=True)
    return folder / last


def _put(path: Path, entry: Entry, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if entry.mode == "120000":
        path.symlink_to(os.fsdecode(data))
        return
    with path.open("xb") as file:  # a new one: what is there is not written to, nor what it points to
        file.write(data)
    path.chmod(0o755 if entry.mode == "100755" else 0o644)
