"""The live view of a night: below the log on a terminal; in a log, a line now and then while nothing else happens."""

from __future__ import annotations

import os
import sys
import threading
import time
from dataclasses import replace
from types import TracebackType
from typing import TextIO

from rich import live as rich_live
from rich.control import Control

from ralphy.agents.usage_windows import noted_windows
from ralphy.cli.output import Output, working_on
from ralphy.cli.run.night import Evidence, Night, after
from ralphy.cli.run.panel import panel
from ralphy.engine.workspace.workspace import Workspace
from ralphy.pipeline.events import Decided, Event
from ralphy.pipeline.forecast import usual_span
from ralphy.pipeline.preconditions import recent_calls
from ralphy.text.counted import counted
from ralphy.text.durations import span
from ralphy.text.tone import FAINT

_REFRESH_S, _HEARTBEAT_S = 0.5, 300.0
_LEAST_COLUMNS, _LEAST_LINES = 30, 8  # a smaller terminal belongs to the log alone


class Live:
    """Shows a night while it is entered: `hear` gets the events, a thread redraws as time passes."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._night = Night(began=time.time())
        self._view: rich_live.Live | None = None
        self._grown_at = time.monotonic()
        self._is_paused = False
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._pass_time, name="ralphy-live", daemon=True)
        self._drawing = threading.Lock()

    def __enter__(self) -> Live:
        if not self._output.quiet and not self._output.as_json:
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self.pause()

    def hear(self, event: Event, evidence: Evidence | None = None) -> None:
        """Add an event, and what is known beside it."""
        night = after(event, self._night)
        self._night = replace(night, evidence=evidence) if evidence else night
        if isinstance(event, Decided) and not event.rests:
            self._is_paused = False

    def log_grew(self) -> None:
        """The log has grown: no heartbeat is needed."""
        self._grown_at = time.monotonic()

    def pause(self) -> None:
        """Hide the view until the next act: a person types on the last line."""
        with self._drawing:
            self._is_paused = True
            self._clear()

    def typed(self) -> None:
        """A person has typed a line: move the cursor back to where rich left it."""
        if self._view:
            self._view.console.control(Control.move(0, -1))

    def _pass_time(self) -> None:
        while not self._over.wait(_REFRESH_S):
            self.tick(time.time(), time.monotonic())

    def tick(self, now: float, steady: float) -> None:
        """Draw the view, or print a heartbeat in a log that was silent for long."""
        if self._output.is_live:
            with self._drawing, working_on(sys.stderr):
                self._draw(now)
        elif steady - self._grown_at >= _HEARTBEAT_S and (line := heartbeat(self._night, now)):
            self._grown_at = steady
            self._output.say(line, FAINT)

    def _draw(self, now: float) -> None:
        console = self._output.terminal(sys.stderr)
        width, height = console.size
        has_room = width >= _LEAST_COLUMNS and height >= _LEAST_LINES and is_in_front(sys.stderr)
        drawn = panel(self._night, now, width, height // 2) if has_room and not self._is_paused else None
        if drawn is None:
            self._clear()
        elif self._view is None:
            self._view = rich_live.Live(drawn, console=console, auto_refresh=False, transient=True,
                                        redirect_stdout=False, redirect_stderr=False)  # fmt: skip
            self._view.start(refresh=True)
            console.show_cursor()  # a person may type below
        else:
            self._view.update(drawn, refresh=True)

    def _clear(self) -> None:
        """Take the view away."""
        if self._view:
            with working_on(sys.stderr):
                self._view.stop()
            self._view = None


def is_in_front(stream: TextIO) -> bool:
    """Does the stream's terminal belong to this process's group, as far as that can be told?"""
    try:
        return os.tcgetpgrp(stream.fileno()) in (0, os.getpgrp())
    except OSError:
        return True


def evidence_of(w: Workspace) -> Evidence:
    """What the events of a workspace do not say."""
    now, history, limits = w.clock(), w.history, w.config.limits
    return Evidence(
        budget_usd=limits.max_cost_usd,
        calls_left=max(0, limits.calls_per_hour - len(recent_calls(history, now))),
        story_s=usual_span(history.paces, w.feature.name),
        jobs=w.config.lanes.jobs,
        windows=tuple(noted_windows(history.limit, now)),
        breaker=history.breaker.state_at(now).value,
    )


def heartbeat(night: Night, now: float) -> str:
    """One line: which agents work, for how long, and how many tool calls they made; "" if none works."""
    return "; ".join(
        f"{agent.subject} attempt {agent.attempt}: {span(now - agent.began)}, {counted(agent.calls, 'tool call')}"
        for agent in night.agents.values()
    )
