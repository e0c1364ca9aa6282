"""The watchdog inside a run: silence, the same error again, no progress, output without progress.

Pure: it gets every event, the number of bytes printed, and the clocks' readings. A measure starts again at a sign of
life or of progress. Each time a measure reaches its limit there is a warning, and warning number `warnings` stops the
run. docs/watchdog.md says what counts.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ralphy.agents.claude.loop_detection import error_key, last_line, output_key, result_text
from ralphy.agents.claude.open_work import ToolCall
from ralphy.agents.claude.stream import Transcript
from ralphy.agents.protocol import Thresholds
from ralphy.text.json_coerce import count_of

TOOL_MARGIN_S = 30.0  # what a tool gets beyond the timeout that it was called with
ASLEEP_S = 30.0  # a longer time between two looks: Ralphy was stopped
SUSPENDED_S = 1.0  # a larger step between the two clocks: the machine was suspended
REMEMBERED = 200  # results that are no progress when they come again

_WORDLESS = re.compile(r"\s*(?:Exit code \d+)?\s*")


class Trigger(Enum):
    """Why a run is warned and stopped; the value stands in the journal."""

    SILENCE = "silence"
    TOOL_SILENCE = "tool_silence"
    REPEATED_ERROR = "repeated_error"
    NO_PROGRESS = "no_progress"
    OUTPUT = "output"


@dataclass(frozen=True, slots=True)
class WatchdogWarning:
    """A warning: the trigger, its number of `most`, and what was observed. The last one stops the run."""

    trigger: Trigger
    number: int
    most: int
    seen: str

    @property
    def stops(self) -> bool:
        return self.number >= self.most

    @property
    def facts(self) -> dict[str, Any]:
        """The warning in the journal and in `ralphy status`."""
        return {"trigger": self.trigger.value, "number": self.number, "most": self.most, "seen": self.seen}

    @property
    def text(self) -> str:
        state = "OPEN, stopping the run" if self.stops else "HALF_OPEN"
        return f"warning {self.number}/{self.most} ({state}): {self.seen}"


class Watchdog:
    """The watchdog of one run. `look` returns at most one warning; do not call it again after one that `stops`."""

    def __init__(self, thresholds: Thresholds, now: float, boottime: float) -> None:
        self.thresholds = thresholds
        self.warnings = 0
        self._levels = dict.fromkeys(Trigger, 0)
        self._alive_at = self._looked_at = now
        self._asleep_s = boottime - now
        self._idle_s = 0.0
        self._compacted_chars = -1
        self._counted = self._printed = 0
        self._repeats = 0
        self._error = self._error_text = self._error_subject = ""
        self._known: deque[str] = deque(maxlen=REMEMBERED)

    def feed(self, event: Mapping[str, Any], answers: Sequence[tuple[ToolCall, Mapping[str, Any]]], now: float) -> None:
        """Take an event with its answers of tools: mostly a sign of life, and perhaps of progress."""
        if self._is_sign_of_life(event):
            self._alive_at = now
        for call, block in answers:
            self._take_answer(call, block)

    def _is_sign_of_life(self, event: Mapping[str, Any]) -> bool:
        """Is it more than a heartbeat? Newer versions of Claude Code print one every 30 s while a tool or a compaction
        hangs."""
        if event.get("type") == "tool_progress":
            return event.get("heartbeat") is not True
        if event.get("type") != "system" or event.get("status") != "compacting":
            self._compacted_chars = -1
            return True
        before, self._compacted_chars = self._compacted_chars, count_of(event.get("compact_output_chars"))
        return self._compacted_chars > before

    def look(self, now: float, boottime: float, printed: int, transcript: Transcript) -> WatchdogWarning | None:
        """The warning that is due, if any. `printed` is the number of bytes so far."""
        self._pass_time(now, boottime, transcript)
        self._printed = printed
        if transcript.is_finished:
            return None
        for trigger, measured, limit in self._measures(now, transcript):
            level = int(measured / limit)
            if level > self._levels[trigger]:
                self._levels[trigger] += 1
                self.warnings += 1
                number, most = self._levels[trigger], self.thresholds.warnings
                return WatchdogWarning(trigger, number, most, self._seen(trigger, measured))
            if not level:
                self._levels[trigger] = 0
        return None

    def _pass_time(self, now: float, boottime: float, transcript: Transcript) -> None:
        """Count idle time, but not while a tool works or a retry waits. A suspend, however short, may have cut the
        connection: the measures begin again."""
        slept_s, self._asleep_s = boottime - now - self._asleep_s, boottime - now
        passed_s, self._looked_at = now - self._looked_at, now
        if slept_s > SUSPENDED_S or passed_s > ASLEEP_S:
            self._alive_at, self._idle_s = now, 0.0
        elif not _open_work(transcript) and transcript.retry_s is None:
            self._idle_s += passed_s

    def _measures(self, now: float, transcript: Transcript) -> Iterator[tuple[Trigger, float, float]]:
        limits, silent_s = self.thresholds, now - self._alive_at
        if _open_work(transcript):
            yield Trigger.TOOL_SILENCE, silent_s, self._tool_limit_s(transcript)
        elif transcript.started:  # before, its start-up has a time limit of its own
            announced_s = transcript.retry_s or 0.0
            yield Trigger.SILENCE, silent_s, limits.silence_s + announced_s
        yield Trigger.REPEATED_ERROR, self._repeats, limits.repeated_errors
        yield Trigger.NO_PROGRESS, self._idle_s, limits.stagnation_s
        yield Trigger.OUTPUT, self._printed - self._counted, limits.output_bytes

    def _tool_limit_s(self, transcript: Transcript) -> float:
        """The longest limit of the open tools."""
        asked = max(tool.timeout_s for tool in _open_work(transcript)) or self.thresholds.tool_timeout_s
        return max(self.thresholds.tool_silence_s, asked + TOOL_MARGIN_S if asked else 0.0)

    def _seen(self, trigger: Trigger, measured: float) -> str:
        match trigger:
            case Trigger.SILENCE:
                return f"no output for {measured:.0f} s and no tool is running: the provider hangs"
            case Trigger.TOOL_SILENCE:
                return f"a tool ran for {measured:.0f} s without output"
            case Trigger.REPEATED_ERROR:
                return f"the same error occurred {measured:.0f} times in a row: {self._error_text}"
            case Trigger.NO_PROGRESS:
                return f"no progress for {measured:.0f} s: nothing written, no new tool output"
            case Trigger.OUTPUT:
                return f"{measured / 1000:.0f} kB printed without progress"

    def _take_answer(self, call: ToolCall, block: Mapping[str, Any]) -> None:
        output = result_text(block)
        if block.get("is_error") is True:
            self._note_error(call, output)
        elif call.subject == self._error_subject:
            self._repeats = 0
        key = call.written or output_key(output)
        if key not in self._known:
            self._idle_s, self._counted = 0.0, self._printed
        self._known.append(key)

    def _note_error(self, call: ToolCall, output: str) -> None:
        # An error without a message is the same one only for the same command.
        key = error_key(f"{output}\n{call.subject}" if _WORDLESS.fullmatch(output) else output)
        self._repeats = self._repeats + 1 if key == self._error else 1
        self._error, self._error_text, self._error_subject = key, last_line(output), call.subject


def _open_work(transcript: Transcript) -> list[ToolCall]:
    """The open calls of tools; after the result, the background tasks as well."""
    if transcript.working:
        return list(transcript.open_tools.values())
    return [*transcript.open_tools.values(), *transcript.background.open.values()]
