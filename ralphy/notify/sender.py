"""The sender: one message for each thing, sent in the thread that posts it, and one reminder, from a timer."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ralphy.errors import RalphyError
from ralphy.files.notes import read_note, write_note
from ralphy.notify.receivers import Receiver, Undelivered
from ralphy.pipeline.notices import Notice, is_quiet
from ralphy.text.json_coerce import mapping_of, number_of

_CHECK_EVERY_S = 30.0  # during quiet hours, and until a reminder is due
_LIMIT_EVERY_S = 3600.0  # a usage limit that is hit again and again is one thing


class Sender:
    """Takes notices and sends them to all receivers.

    `note` is a file with the last notice of each feature, for the next process; `warn` prints a warning, once for each
    receiver that fails.
    """

    def __init__(
        self, receivers: Sequence[Receiver], note: Path, warn: Callable[[str], None], quiet_hours: str = "",
        remind_after_s: float | None = None,
    ) -> None:  # fmt: skip
        self._receivers = receivers
        self._note = note
        self._warn = warn
        self._quiet_hours = quiet_hours
        self._remind_after_s = remind_after_s
        self._lock = threading.RLock()
        self._timer: threading.Timer | None = None
        self._reminders: dict[str, tuple[float, Notice]] = {}  # by feature, with when
        self._held: list[Notice] = []
        self._limit_at = 0.0
        self._broken: set[str] = set()

    def post(self, notice: Notice) -> None:
        """Send a notice, or hold it until the quiet hours end."""
        with self._lock:
            if not self._is_quiet():
                self._send_new(notice)
            else:
                self._held.append(notice)
            self._schedule()

    def settle(self, feature: str) -> None:
        """Drop what is held for a feature: work on it goes on."""
        with self._lock:
            self._reminders.pop(feature, None)
            self._held = [notice for notice in self._held if not (notice.stands and notice.feature == feature)]
            known = read_note(self._note)
            if known.pop(feature, None) is not None:
                self._write(known)

    def close(self) -> None:
        """Stop: nothing more is sent."""
        with self._lock:
            self._held, self._reminders = [], {}
            self._schedule()

    def _schedule(self) -> None:
        """Start the timer, if a notice is held or a reminder is to come."""
        if self._timer:
            self._timer.cancel()
        if self._held or self._reminders:
            due = min((at for at, _ in self._reminders.values()), default=math.inf)
            seconds = _CHECK_EVERY_S if self._is_quiet() else max(0.0, min(due - time.time(), _CHECK_EVERY_S))
            self._timer = threading.Timer(seconds, self._send_due)
            self._timer.daemon = True
            self._timer.start()

    def _send_due(self) -> None:
        """Send held notices and due reminders, unless the hours are quiet."""
        with self._lock:
            if not self._is_quiet():
                held, self._held = self._held, []
                for notice in held:
                    self._send_new(notice)
                due = [feature for feature, (at, _) in self._reminders.items() if at <= time.time()]
                for feature in due:
                    _, notice = self._reminders.pop(feature)
                    self._deliver(replace(notice, is_reminder=True))
                    known = read_note(self._note)
                    self._write({**known, feature: {**mapping_of(known.get(feature)), "is_reminded": True}})
            self._schedule()

    def _send_new(self, notice: Notice) -> None:
        """Send a notice that was not sent before, and note it."""
        now = time.time()
        if notice.event == "limit":
            if now - self._limit_at < _LIMIT_EVERY_S:
                return
            self._limit_at = now
        sent = mapping_of(read_note(self._note).get(notice.feature)) if notice.stands else {}
        is_known = sent.get("key") == notice.key
        if not is_known and self._deliver(notice) and notice.stands:
            self._write({**read_note(self._note), notice.feature: {"key": notice.key, "at": now}})
        is_reminded = is_known and sent.get("is_reminded")
        if notice.needs_person and self._remind_after_s is not None and not is_reminded:
            since = number_of(sent.get("at")) or now if is_known else now
            self._reminders[notice.feature] = since + self._remind_after_s, notice

    def _write(self, note: dict[str, object]) -> None:
        with suppress(OSError, RalphyError):  # at worst a notice is sent twice
            self._note.parent.mkdir(parents=True, exist_ok=True)
            write_note(self._note, note, durable=False)

    def _is_quiet(self) -> bool:
        now = time.localtime()
        return is_quiet(self._quiet_hours, now.tm_hour * 60 + now.tm_min)

    def _deliver(self, notice: Notice) -> bool:
        """Send to all receivers, one after the other. Did it arrive anywhere?"""
        arrived = [self._send(receiver, notice) for receiver in self._receivers]
        return any(arrived)

    def _send(self, receiver: Receiver, notice: Notice) -> bool:
        try:
            receiver.send(notice)
        except Undelivered as error:
            self._failed(receiver.name, str(error))
        except Exception as error:  # a library may raise anything
            self._failed(receiver.name, f"{type(error).__name__}: {error}")
        else:
            return True
        return False

    def _failed(self, name: str, why: str) -> None:
        if name not in self._broken:
            self._broken.add(name)
            self._warn(f"warning: notify.{name}: not delivered: {why}")
