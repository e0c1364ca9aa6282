"""The boards of a feature as time passes: one for each change of the files that a board shows.

If only streams have grown, they are read on; any other change makes the whole board again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Collection
from contextlib import suppress
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from watchfiles import awatch

from ralphy.cli.dashboard.board import Board, WatchedFeature
from ralphy.cli.options import Invocation
from ralphy.cli.output import error_body

# A board can change without a file: a limit is over, a lock is released.
_RESYNC_TICKS, _TICK_MS, _STEP_MS = 20, 1000, 50
# At most this part of the time is spent on looking.
_LEAST_S, _SHARE = 0.3, 4
_STREAMS = ("stream.ndjson", "stderr.log")
# Files of Ralphy in Git's folder that a board shows; looking itself writes others.
_OF_THE_STATE = ("journal.jsonl", "lock")


async def boards(call: Invocation, feature: str) -> AsyncIterator[Board]:
    """The board of a feature now, and after each change; "" is the feature that needs a person first."""
    watched = WatchedFeature(call, feature)
    async for changed in _changes(_folders(call)):
        began = time.monotonic()
        yield await run_in_threadpool(_look, watched, changed)
        await asyncio.sleep(max(_LEAST_S, _SHARE * (time.monotonic() - began)))


def _look(watched: WatchedFeature, changed: Collection[str]) -> Board:
    has_only_grown = bool(changed) and all(name.endswith(_STREAMS) for name in changed)
    try:
        return watched.read_on() if has_only_grown else watched.board()
    except Exception as error:  # the page stays open: the next look may succeed
        return _problem(watched.name, error_body(error))


async def _changes(folders: Collection[Path]) -> AsyncIterator[set[str]]:
    """The changed paths that a board shows: none at first, then those of each change, and none once in a while."""
    yield set()
    quiet_ticks = 0
    for polling in (None, True):  # without free watches of the system, the folders are polled
        with suppress(OSError):
            async for batch in awatch(*folders, watch_filter=None, step=_STEP_MS, debounce=_STEP_MS,
                                      rust_timeout=_TICK_MS, yield_on_timeout=True, force_polling=polling):  # fmt: skip
                paths = {path for _, path in batch if _matters(path)}
                quiet_ticks = 0 if paths else quiet_ticks + 1
                if paths or quiet_ticks % _RESYNC_TICKS == 1:
                    yield paths


def _matters(path: str) -> bool:
    """Does a board show something of the file?"""
    parts = path.split("/")
    if ".git" not in parts or "heads" in parts:
        return True
    return parts[-1] in _OF_THE_STATE


def _problem(feature: str, error: dict[str, object]) -> Board:
    return {"schema": "ralphy/dashboard@1", "ok": False, "at": time.time(), "features": [], "feature": feature,
            "status": {"error": error}, "agents": []}  # fmt: skip


def _folders(call: Invocation) -> list[Path]:
    """The folders of the files that a board shows."""
    repository = call.repository()
    features = repository.root / call.settings().config.project.features_dir
    wanted = (features, repository.state_dir, repository.common_dir / "refs" / "heads")
    return [folder for folder in wanted if folder.is_dir()] or [repository.root]
