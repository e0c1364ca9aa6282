"""What the journal says of a run, around the lines of its stream: when, which attempt, how it ended, which checks."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ralphy.text.durations import span
from ralphy.text.json_coerce import mapping_of, number_of, text_of

if TYPE_CHECKING:
    from ralphy.git.commands import Repository
    from ralphy.state.kept_streams import Line, Run

Entry = Mapping[str, Any]


class RunLines:
    """The journal's lines of runs, read on from where they were left; a run that it does not know has none."""

    def __init__(self, repository: Repository) -> None:
        from ralphy.state.journal import Journal

        self._journal = Journal(repository.state_dir / "journal.jsonl", ())
        self._begun: dict[str, Entry] = {}
        self._ended: dict[str, Entry] = {}

    def read_on(self) -> None:
        for entry in self._journal.entries():
            table = {"run": self._begun, "end": self._ended}.get(text_of(entry.get("ev")))
            if table is not None:
                table[text_of(entry.get("run"))] = entry

    def title(self, run: Run) -> Line:
        """The line above a run's own."""
        begun = self._begun.get(run.run, {})
        said = [run.story or run.step]
        if begun:
            said += [f"attempt {begun.get('attempt')}", _clock(begun.get("at")), text_of(begun.get("model"))]
        facts: dict[str, Any] = {name: begun.get(name) for name in ("attempt", "at", "model")} if begun else {}
        return run.line("run", f"==> {', '.join(filter(None, said))}, run {run.run} <==", **facts)

    def ending(self, run: Run) -> Line | None:
        """The line below a run's own; None while it is going on, or if the journal does not know."""
        end = self._ended.get(run.run)
        if end is None:
            return None
        checks = [mapping_of(check) for check in end.get("checks") or ()]
        said = [f"{end.get('outcome')} at {_clock(end.get('at'))} after {span(number_of(end.get('seconds')) or 0.0)}",
                f"${number_of(end.get('cost')) or 0.0:.2f}", *(_check(check) for check in checks)]  # fmt: skip
        why = " ".join(text_of(end.get("detail")).split())[:200]
        facts: dict[str, Any] = {name: end.get(name) for name in ("outcome", "at", "seconds", "cost")}
        return run.line("ended", ", ".join(said) + (f": {why}" if why else ""), **facts, checks=checks)


def _check(check: Entry) -> str:
    passed = check.get("exit") == 0
    return f"{check.get('name')} {'passed' if passed else 'failed'} ({span(number_of(check.get('seconds')) or 0.0)})"


def _clock(at: object) -> str:
    seconds = number_of(at)
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds)) if seconds else ""
