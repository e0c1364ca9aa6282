"""What a run that was not finished had put into its outbox: material for the next run, never an artifact by itself."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from ralphy.engine.workspace.workspace import Workspace
from ralphy.files.read import read_regular
from ralphy.files.tree_walk import link_on_the_way
from ralphy.pipeline.steps.step import DRAFT
from ralphy.pipeline.steps.table import documents

UNFINISHED = "unfinished"

_MOST_BYTES = 1 << 20


def digest_of(w: Workspace, run: str) -> str:
    """One digest of what lies in the run's outbox; "" if that is nothing."""
    lines = [f"{name} {hashlib.sha256(data).hexdigest()}" for name, data in _files(w.feature.private, _outbox(w, run))]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest() if lines else ""


def hand_on(w: Workspace, run: str, outbox: Path) -> None:
    """Copy what a run has left in its outbox to `unfinished/` in another: only there, so that it is not handed in."""
    for name, data in _files(w.feature.private, _outbox(w, run)) if run else ():
        (outbox / UNFINISHED).mkdir(exist_ok=True)
        (outbox / UNFINISHED / name).write_bytes(data)


def _outbox(w: Workspace, run: str) -> Path:
    return w.feature.private / "outbox" / run


def _files(root: Path, outbox: Path) -> Iterator[tuple[str, bytes]]:
    """The run's own files, of those that any step hands in; where it wrote none, what it had been handed on itself."""
    for name in sorted((*documents(), DRAFT)):
        for place in (outbox / name, outbox / UNFINISHED / name):
            data = None if link_on_the_way(root, place) else read_regular(place, _MOST_BYTES)
            if data:
                yield name, data
                break
