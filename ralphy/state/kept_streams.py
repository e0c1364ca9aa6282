"""The streams that agent runs left in `.ralphy/runs/`: which there are, and their lines as they grow.

A run's folder is named <run>-<step>[-<story>]; what is in it is written by `ralphy.agents.program`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from ralphy.agents.protocol import Log
from ralphy.documents.feature_folder import Feature
from ralphy.files.read import open_regular
from ralphy.text.json_coerce import text_of
from ralphy.text.line_splitter import LineSplitter

_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Line:
    """A line to show: `text` for people ("" if it says nothing to them), `value` as JSON, `raw` as it came."""

    text: str
    value: dict[str, Any]
    raw: bytes = b""


@dataclass(frozen=True, slots=True)
class RunFolder:
    """An agent run as its folder tells: the newest one is still growing, or was the last."""

    folder: Path
    run: str
    step: str
    story: str

    @classmethod
    def of(cls, folder: Path) -> RunFolder:
        stamp, number, step, story = [*folder.name.split("-", 3), "", "", ""][:4]
        return cls(folder, f"{stamp}-{number}", step, story)

    def line(self, kind: str, text: str, raw: bytes = b"", **facts: Any) -> Line:
        """A line of this run; `facts` are further fields of its JSON, `at` of a line that came is shown before it."""
        value = {"schema": "ralphy/log@1", "run": self.run, "step": self.step, "story": self.story or None,
                 "kind": kind, "text": text, **facts}  # fmt: skip
        clock = time.strftime("%H:%M:%S ", time.localtime(facts["at"])) if raw and "at" in facts else ""
        printed = f"  {clock}{kind:<9} {text}" if kind != "run" else text
        return Line(printed, value, raw)


def runs(feature: Feature) -> list[RunFolder]:
    """The runs whose streams are kept, oldest first: by when their prompt was written, ids are in no order."""
    dated = []
    for folder in (feature.private / "runs").glob("*-*-*"):
        try:
            dated.append(((folder / "prompt.md").stat().st_mtime_ns, RunFolder.of(folder)))
        except OSError:
            continue  # cleared away meanwhile
    dated.sort(key=lambda pair: (pair[0], pair[1].run))
    return [run for _, run in dated]


@dataclass(slots=True)
class StreamReader:
    """One run's stream and its stderr, read on from where they were left; `log` knows what the stream says."""

    run: RunFolder
    log: Log
    events: LineSplitter = field(default_factory=LineSplitter)
    errors: LineSplitter = field(default_factory=LineSplitter)
    _offsets: dict[str, int] = field(default_factory=dict)

    def new(self) -> Iterator[Line]:
        """What came since the last call."""
        for data in self._read("stream.ndjson"):
            for raw in self.events.feed(data):
                yield self._line(raw)
        for data in self._read("stderr.log"):
            for raw in self.errors.feed(data):
                yield self.run.line("stderr", raw.decode("utf-8", "replace"))

    def rest(self) -> Iterator[Line]:
        """All that there is, last lines without an end too."""
        yield from self.new()
        for raw in self.events.close():
            yield self._line(raw)
        for raw in self.errors.close():
            yield self.run.line("stderr", raw.decode("utf-8", "replace"))

    def _read(self, name: str) -> Iterator[bytes]:
        offset = self._offsets.setdefault(name, 0)
        try:
            with open_regular(self.run.folder / name) as source:
                source.seek(offset)
                while data := source.read(_READ_BYTES):
                    self._offsets[name] += len(data)
                    yield data
        except OSError:
            return  # not there yet, or cleared away

    def _line(self, raw: bytes) -> Line:
        event = self.log.read(raw)
        if event is None or not event.text:
            return Line("", {}, raw)
        at = _moment(event.raw.get("timestamp"))
        return self.run.line(event.kind, event.text, raw, **({"at": at} if at else {}))


def _moment(stamp: object) -> float | None:
    """The epoch seconds of a moment as agents write it; None if it cannot be read."""
    try:
        return datetime.fromisoformat(text_of(stamp)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
