"""When to look again: files that changed wake it up, and whoever watches a feature is given its new board.

One thread looks, for all who watch. A stream that grows is only read on; everything else makes the whole board anew.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from ralphy.cli.dashboard.agents import Agents
from ralphy.cli.dashboard.board import Board, again, board_of
from ralphy.cli.output import error_body
from ralphy.engine.wakeups import Wakeups
from ralphy.errors import ExitCode, RalphyError

if TYPE_CHECKING:
    from ralphy.cli.options import Invocation

# What is due for other reasons than a change: a limit that is over, a lock that nobody holds any more.
_RESYNC_S = 20.0
_LEAST_S = 0.3
# At most this part of the time is spent on looking.
_SHARE = 4
_STREAMS = ("stream.ndjson", "stderr.log")
# Of what lies in Git's folder: that which a person sees. The rest is Ralphy's own bookkeeping, some of it by looking.
_OF_THE_STATE, _QUEUE = ("journal.jsonl", "lock"), "requests"

Listener = Callable[[Board], None]


class Watched(Protocol):
    """What a dashboard needs of a feed."""

    def watch(self, feature: str, listener: Listener) -> Callable[[], None]: ...

    def look_again(self) -> None: ...


@dataclass(slots=True)
class _Feature:
    """A feature that somebody watches; "" is the one that needs a person first."""

    listeners: list[Listener] = field(default_factory=list)
    board: Board | None = None
    agents: Agents | None = None


class Feed:
    """Tells each listener the board of its feature now, and whenever something changed, until the feed is left."""

    def __init__(self, call: Invocation) -> None:
        self._call = call
        self._watched: dict[str, _Feature] = {}
        self._guard = threading.Lock()
        self._over = threading.Event()
        self._is_new = True
        self._wakeups = Wakeups(_folders(call), resync_s=_RESYNC_S)
        self._thread = threading.Thread(target=self._follow, name="dashboard", daemon=True)

    def __enter__(self) -> Feed:
        self._wakeups.__enter__()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._wakeups.wake()
        self._thread.join(10.0)
        self._wakeups.__exit__(kind, error, at)

    def watch(self, feature: str, listener: Listener) -> Callable[[], None]:
        """Tell the listener of the feature from now on, from the feed's thread; what is given ends that."""
        with self._guard:
            watched = self._watched.setdefault(feature, _Feature())
            watched.listeners.append(listener)
            known = watched.board
        if known:
            listener(known)
        self.look_again()

        def end() -> None:
            with self._guard:
                watched.listeners.remove(listener)
                if not watched.listeners:
                    self._watched.pop(feature, None)

        return end

    def look_again(self) -> None:
        """Look now: something was done."""
        self._is_new = True
        self._wakeups.wake()

    def _follow(self) -> None:
        changed: Collection[str] = ()
        while not self._over.is_set():
            began = time.monotonic()
            is_whole = self._is_new or not changed or any(not name.endswith(_STREAMS) for name in changed)
            self._is_new = False
            for feature, watched in self._now():
                self._tell(feature, watched, is_whole=is_whole)
            self._over.wait(max(_LEAST_S, _SHARE * (time.monotonic() - began)) if self._watched else 0)
            changed = self._next()

    def _next(self) -> set[str]:
        """The paths that changed and mean something; none if the time was over, or somebody asked."""
        end = time.monotonic() + _RESYNC_S
        while not self._over.is_set() and not self._is_new and (left := end - time.monotonic()) > 0:
            changed, _ = self._wakeups.wait(left)
            if found := {path for path in changed if _matters(path)}:
                return found
        return set()

    def _now(self) -> list[tuple[str, _Feature]]:
        with self._guard:
            return list(self._watched.items())

    def _tell(self, feature: str, watched: _Feature, *, is_whole: bool) -> None:
        before = watched.board
        try:
            board = self._look(feature, watched) if is_whole or not before else self._read_on(before, watched)
        except RalphyError as error:
            board = _problem(feature, error_body(error.exit_code, str(error), error.hint))
        except Exception as error:  # a dashboard outlives whatever it sees for a moment; the next look may be well
            board = _problem(feature, error_body(ExitCode.UNEXPECTED, f"{type(error).__name__}: {error}", ""))
        watched.board = board
        if _is_same(before, board):
            return
        with self._guard:
            listeners = list(watched.listeners)
        for listener in listeners:
            listener(board)

    def _look(self, feature: str, watched: _Feature) -> Board:
        call = again(self._call)
        board = board_of(call, feature or None)
        name = board["feature"]
        if not name or "error" in board["status"]:
            return {**board, "agents": []}
        if watched.agents is None or watched.agents.name != name:
            watched.agents = Agents(call, name)
        with call.workspace(name) as w:
            watched.agents.look(w)
        return {**board, "agents": watched.agents.read()}

    def _read_on(self, board: Board, watched: _Feature) -> Board:
        return {**board, "agents": watched.agents.read()} if watched.agents else board


def _matters(path: str) -> bool:
    """Is it about something that a board shows?"""
    parts = path.split("/")
    if ".git" not in parts or "heads" in parts:
        return True
    return parts[-1] in _OF_THE_STATE or _QUEUE in parts


def _is_same(before: Board | None, board: Board) -> bool:
    return before is not None and {**before, "at": 0} == {**board, "at": 0}


def _problem(feature: str, error: dict[str, object]) -> Board:
    return {"schema": "ralphy/dashboard@1", "ok": False, "at": time.time(), "features": [], "feature": feature,
            "status": {"error": error}, "agents": []}  # fmt: skip


def _folders(call: Invocation) -> list[Path]:
    """Where everything happens that a board shows."""
    repository = call.repository()
    features = repository.root / call.settings(repository).config.project.features_dir
    wanted = (features, repository.state_dir, repository.common_dir / "refs" / "heads")
    return [folder for folder in wanted if folder.is_dir()] or [repository.root]
