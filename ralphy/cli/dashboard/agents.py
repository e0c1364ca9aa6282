"""What the agents of a feature do now, read from the streams of their runs."""

from __future__ import annotations

from collections import deque
from dataclasses import asdict
from typing import Any

from ralphy.cli.options import Invocation
from ralphy.cli.output import harmless
from ralphy.cli.run.night import Night, after
from ralphy.cli.run.run_lines import RunLines
from ralphy.engine.workspace.workspace import Workspace
from ralphy.git.run_lock import holder
from ralphy.lanes.lanes_folder import as_in_the_checkout
from ralphy.pipeline.events import AgentActivity, RunBegan, of_journal
from ralphy.state.kept_streams import StreamReader, runs

_MOST_LINES = 400


class Agents:
    """The current runs of one feature: `look` finds them, `read` reads on in their streams."""

    def __init__(self, call: Invocation, name: str) -> None:
        self.name = name
        self._repository = call.repository()
        self._feature = call.feature(name)
        self._journal = RunLines(self._repository)
        self._readers: dict[str, StreamReader] = {}
        self._night = Night(began=0.0)

    def look(self, w: Workspace) -> None:
        """Add the runs that have begun, and drop those that have ended."""
        w.journal.catch_up(w.history)
        entries = w.history.open_runs if holder(w.repository.checkout_dir / "lock") else ()
        began = {event.run: event for entry in entries if isinstance(event := of_journal(entry, {}), RunBegan)}
        self._night = Night(0.0, agents={run: one for run, one in self._night.agents.items() if run in began})
        self._readers = {run: reader for run, reader in self._readers.items() if run in began}
        for run in began.keys() - self._night.agents.keys():
            self._night = after(began[run], self._night)
        if new := began.keys() - self._readers.keys():
            self._journal.read_on()
            self._readers |= {run.run: self._journal.reader(run) for run in runs(self._feature) if run.run in new}

    def read(self) -> list[dict[str, Any]]:
        """What each agent does now, by lane; reads only the new part of each stream."""
        for run, reader in self._readers.items():
            for line in reader.new():
                if line.text:
                    text = harmless(as_in_the_checkout(str(line.value["text"]), self._repository))
                    event = AgentActivity(run=run, activity=str(line.value["kind"]), text=text)
                    self._night = after(event, self._night)
        rows = [{"run": run, **asdict(one)} for run, one in self._night.agents.items()]
        return sorted(rows, key=lambda row: (row["lane"], row["began"]))


def log_of(call: Invocation, name: str, story: str) -> list[str]:
    """The last lines of a story's runs, or of the feature's newest run."""
    repository = call.repository()
    feature, journal = call.feature(name), RunLines(repository)
    journal.read_on()
    all_runs = runs(feature)
    chosen = [run for run in all_runs if story in (run.story, run.step)] if story else all_runs[-1:]
    lines = (line for run in chosen for line in journal.log(run).new(is_over=True))
    last = deque((line.text for line in lines if line.text), maxlen=_MOST_LINES)
    return [harmless(as_in_the_checkout(text, repository)) for text in last]
