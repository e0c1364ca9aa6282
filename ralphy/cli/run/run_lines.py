"""A run's log: the lines of its stream between a title and an ending, which come from the journal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ralphy.agents.presets import preset_of
from ralphy.cli.run.sentences import ending, title
from ralphy.git.commands import Repository
from ralphy.pipeline.events import RunBegan, RunEnded, of_journal
from ralphy.state.journal import Journal
from ralphy.state.kept_streams import Line, RunFolder, StreamReader
from ralphy.text.json_coerce import text_of


class RunLines:
    """The events of runs in the journal, read incrementally; none for a run that it does not know."""

    def __init__(self, repository: Repository) -> None:
        self._journal = Journal(repository.state_dir / "journal.jsonl", ())
        self._lines: dict[str, Mapping[str, Any]] = {}
        self._begun: dict[str, RunBegan] = {}
        self._ended: dict[str, RunEnded] = {}

    def read_on(self) -> None:
        for entry in self._journal.entries():
            run = text_of(entry.get("run"))
            event = of_journal(entry, self._lines.get(run, {}))
            if isinstance(event, RunBegan):
                self._begun[run], self._lines[run] = event, entry
            elif isinstance(event, RunEnded):
                self._ended[run] = event

    def log(self, run: RunFolder) -> RunLog:
        return RunLog(self.reader(run), self)

    def reader(self, run: RunFolder) -> StreamReader:
        """Reads the run's own lines, as its kind of agent prints them."""
        return StreamReader(run, preset_of(self._lines.get(run.run, {}).get("agent")).log())

    def title(self, run: RunFolder) -> Line:
        """The line above a run's own."""
        begun = self._begun.get(run.run)
        facts: dict[str, Any] = {"attempt": begun.attempt, "at": begun.at, "model": begun.model} if begun else {}
        of = "/".join(filter(None, (begun.feature if begun else "", run.story or run.step)))
        return run.line("run", title(begun, of, run.run), **facts)

    def ending(self, run: RunFolder) -> Line | None:
        """The line below a run's own; None while the run goes on, or if the journal does not know."""
        end = self._ended.get(run.run)
        if end is None:
            return None
        return run.line("ended", ending(end), outcome=end.outcome, at=end.at, seconds=end.seconds, cost=end.cost_usd,
                        checks=list(end.checks))  # fmt: skip


@dataclass(slots=True)
class RunLog:
    """A run's lines, each once: its title first, then those of its stream, and how it ended."""

    reader: StreamReader
    journal: RunLines
    _has_title: bool = False
    _has_ended: bool = False

    def new(self, *, is_over: bool = False) -> Iterator[Line]:
        """The lines since the last call; of a run that `is_over`, also a last line without a newline."""
        if not self._has_title:
            self._has_title = True
            yield self.journal.title(self.reader.run)
        yield from self.reader.rest() if is_over else self.reader.new()
        if not self._has_ended and (ending := self.journal.ending(self.reader.run)):
            self._has_ended = True
            yield ending
