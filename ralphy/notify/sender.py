"""The sender: one message for each thing, sent from a thread of its own, so that no receiver can hold up a run."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ralphy.errors import RalphyError
from ralphy.files.notes import read_note, write_note
from ralphy.notify import receivers as how
from ralphy.notify.receivers import Receiver, Undelivered
from ralphy.pipeline.notices import Notice, is_quiet
from ralphy.text.json_coerce import mapping_of, number_of

_LOOK_S = 30.0  # how often the clock is looked at while something waits for an hour of the day
_LIMIT_EVERY_S = 3600.0  # a limit that is met again and again is one thing
_MOST_HELD = 50
_MOST_REMINDERS = 5


@dataclass(slots=True)
class _Waiting:
    """What a person is waited for, and when they are reminded of it; each time takes twice as long."""

    notice: Notice
    at: float
    every_s: float
    left: int = _MOST_REMINDERS


class Sender:
    """Takes notices and sends them to all receivers.

    `note` is a file that holds what was told of each feature, for the next process; `complain` tells people of a
    receiver that failed, once.
    """

    def __init__(
        self, receivers: Sequence[Receiver], note: Path, complain: Callable[[str], None], quiet_hours: str = "",
        remind_after_s: float | None = None,
    ) -> None:  # fmt: skip
        self._receivers = receivers
        self._note = note
        self._complain = complain
        self._quiet_hours = quiet_hours
        self._remind_after_s = remind_after_s
        self._queue: queue.SimpleQueue[Notice | str | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._waiting: dict[str, _Waiting] = {}
        self._held: list[Notice] = []
        self._limit_at = 0.0
        self._broken: set[str] = set()
        self._at_work: dict[str, threading.Thread] = {}

    def post(self, notice: Notice) -> None:
        """Have a notice sent; returns at once."""
        self._put(notice)

    def settle(self, feature: str) -> None:
        """Work on the feature goes on: what it waited for is over."""
        self._put(feature)

    def close(self, seconds: float) -> None:
        """Send what is left, for at most so long."""
        if self._thread:
            self._queue.put(None)
            self._thread.join(seconds)
            self._thread = None

    def _put(self, item: Notice | str) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="notices", daemon=True)
            self._thread.start()
        self._queue.put(item)

    def _work(self) -> None:
        while True:
            try:
                item = self._queue.get(timeout=self._seconds_to_next())
            except queue.Empty:
                self._look()
                continue
            if item is None:
                return
            if isinstance(item, Notice):
                self._take(item)
            else:
                self._forget(item)

    def _seconds_to_next(self) -> float | None:
        if not self._held and not self._waiting:
            return None
        if self._is_quiet():
            return _LOOK_S
        due = min((waiting.at for waiting in self._waiting.values()), default=0.0)
        return 0.0 if self._held else max(0.0, min(due - time.time(), _LOOK_S))

    def _look(self) -> None:
        """What was held for the quiet hours, and reminders."""
        if self._is_quiet():
            return
        held, self._held = self._held, []
        for notice in held:
            self._tell(notice)
        now = time.time()
        for feature, waiting in list(self._waiting.items()):
            if waiting.at <= now:
                self._deliver(replace(waiting.notice, is_reminder=True))
                waiting.every_s, waiting.left = waiting.every_s * 2, waiting.left - 1
                waiting.at = now + waiting.every_s
                if not waiting.left:
                    del self._waiting[feature]

    def _take(self, notice: Notice) -> None:
        if not self._is_quiet():
            self._tell(notice)
        elif len(self._held) < _MOST_HELD:
            self._held.append(notice)

    def _tell(self, notice: Notice) -> None:
        """Send what was not sent before, and note that it was."""
        now = time.time()
        if notice.event == "limit":
            if now - self._limit_at < _LIMIT_EVERY_S:
                return
            self._limit_at = now
        told = mapping_of(read_note(self._note).get(notice.feature)) if notice.stands else {}
        is_known = told.get("key") == notice.key
        if not is_known and self._deliver(notice) and notice.stands:
            self._write({**read_note(self._note), notice.feature: {"key": notice.key, "at": now}})
        if notice.needs_person and self._remind_after_s is not None and notice.feature not in self._waiting:
            since = number_of(told.get("at")) or now if is_known else now
            self._waiting[notice.feature] = _Waiting(notice, since + self._remind_after_s, self._remind_after_s)

    def _forget(self, feature: str) -> None:
        self._waiting.pop(feature, None)
        self._held = [notice for notice in self._held if not (notice.stands and notice.feature == feature)]
        known = read_note(self._note)
        if known.pop(feature, None) is not None:
            self._write(known)

    def _write(self, note: dict[str, object]) -> None:
        with suppress(OSError, RalphyError):  # at worst something is told twice
            self._note.parent.mkdir(parents=True, exist_ok=True)
            write_note(self._note, note, durable=False)

    def _is_quiet(self) -> bool:
        now = time.localtime()
        return is_quiet(self._quiet_hours, now.tm_hour * 60 + now.tm_min)

    def _deliver(self, notice: Notice) -> bool:
        """Send to all at the same time; did it arrive anywhere? One that hangs is left behind."""
        arrived: list[str] = []
        threads = {}
        for receiver in self._receivers:
            if not (before := self._at_work.get(receiver.name)) or not before.is_alive():
                thread = threading.Thread(target=self._send, args=(receiver, notice, arrived), daemon=True)
                thread.start()
                self._at_work[receiver.name] = threads[receiver.name] = thread
        until = time.monotonic() + how.TIMEOUT_S + 1.0
        for name, thread in threads.items():
            thread.join(max(0.0, until - time.monotonic()))
            if thread.is_alive():
                self._failed(name, f"no answer in {how.TIMEOUT_S:.0f} s")
        return bool(arrived)

    def _send(self, receiver: Receiver, notice: Notice, arrived: list[str]) -> None:
        try:
            receiver.send(notice)
            arrived.append(receiver.name)
        except Undelivered as error:
            self._failed(receiver.name, str(error))
        except Exception as error:  # whatever a library of somebody else's raises
            self._failed(receiver.name, f"{type(error).__name__}: {error}")

    def _failed(self, name: str, why: str) -> None:
        if name not in self._broken:
            self._broken.add(name)
            self._complain(f"warning: notify.{name}: not delivered: {why}")
