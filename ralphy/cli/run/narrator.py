"""The narrator prints the events of a run: as a log on stderr above the live view, with `--json` as lines on stdout."""

from __future__ import annotations

import math
import time
from contextlib import suppress

from ralphy.cli.output import Output
from ralphy.cli.run.live import Live, evidence_of
from ralphy.cli.run.sentences import is_detail, rested, sentences, waited
from ralphy.cli.terminal import clean
from ralphy.engine.reactor import Patience
from ralphy.engine.workspace.workspace import Workspace, base_branch
from ralphy.errors import ExitCode
from ralphy.git.commands import GitError
from ralphy.pipeline import decision as d
from ralphy.pipeline.events import AgentActivity, CheckRan, Decided, Event, RunEnded, Waiting
from ralphy.text.counted import counted
from ralphy.text.rehearsed import marked_words
from ralphy.text.tone import FAINT, WAITING

_EVERY_S = 0.2
_EVERY_SECOND_S, _EVERY_MINUTE_S, _IN_A_LOG_S = 1.0, 60.0, 600.0
PATIENT = Patience(gates=True)
RESUMABLE = "nothing is lost; run it again to resume"


class Narrator:
    """Prints what happens to one feature, as the listener of its workspace.

    A `named` feature is one of several: its name begins each line. `patience` is what the driver waits for.
    """

    def __init__(
        self, output: Output, workspace: Workspace, live: Live, *, named: bool = False, patience: Patience = PATIENT
    ) -> None:
        self._output = output
        self._live = live
        self._workspace = workspace
        self._patience = patience
        self._named = named
        self._prefix = f"{workspace.feature.name}: " if named else ""
        self._last_shown = -math.inf
        self._current = ""
        self._last: Decided | None = None
        self.acts = 0

    @property
    def tick_s(self) -> float:
        """How often a wait is worth a line, in seconds."""
        live_s = _EVERY_SECOND_S if self._output.is_live else _IN_A_LOG_S
        return _EVERY_MINUTE_S if self._output.as_json else live_s

    def hear(self, event: Event) -> None:
        """Print an event, unless it repeats the last one or comes too soon."""
        looks = isinstance(event, Decided | RunEnded)
        self._live.hear(event, evidence_of(self._workspace) if looks else None)
        if isinstance(event, Decided) and self._is_known(event):
            return
        if isinstance(event, AgentActivity) and event.activity != "warning" and not self._is_time():
            return
        if self._output.as_json:
            self._output.event(event.to_json())
        self._show(event)

    def _is_known(self, event: Decided) -> bool:
        """Is this the rest that was printed last?"""
        last, self._last = self._last, event
        if last is None and event.ahead and not event.rests:
            self._say(event.ahead)
        self.acts += not event.rests
        return bool(last and last.rests and event.rests and last.reason == event.reason)

    def _is_time(self) -> bool:
        """May a line of the agent's activity be printed? At most a few a second."""
        now = time.monotonic()
        if not self._output.progress or now - self._last_shown < _EVERY_S:
            return False
        self._last_shown = now
        return True

    def _show(self, event: Event) -> None:
        """Print the event for people."""
        match event:
            case AgentActivity(activity="start"):
                pass  # the decision names the agent that begins
            case AgentActivity() if event.activity != "warning":
                self._show_activity(event)
            case Waiting() if self._output.as_json or self._output.is_live:
                pass  # the live view has it
            case Decided(decision="Wait"):
                self._say(waited(event, waits=self._patience.limits), WAITING)
            case _:
                whose = self._whose(event) if isinstance(event, AgentActivity | CheckRan) else ""
                for text, tone in sentences(event):
                    self._say(f"{whose}{text}", FAINT if is_detail(event) else tone, is_detail=is_detail(event))
        if isinstance(event, Decided):
            if event.current and (event.rests or event.current != self._current):  # new, or once more at a rest
                self._say(event.current)
            self._current = event.current
            if self._named and event.decision == "Halt":
                self._insist(event)

    def _show_activity(self, event: AgentActivity) -> None:
        """Print what an agent does now, where no live view shows it."""
        if not self._output.is_live or self._output.verbose:
            text = " ".join(clean(event.text).split())[:100]
            self._output.note(f"           {self._prefix}{self._whose(event)}{event.activity}: {text}", FAINT)
            self._live.log_grew()

    def _say(self, text: str, tone: str = "", *, is_detail: bool = False) -> None:
        if not is_detail or self._output.verbose:
            self._output.say(f"{self._prefix}{text}", tone)
            self._live.log_grew()

    def _whose(self, event: Event) -> str:
        """The story of the event, where several agents work side by side."""
        return f"{event.story} " if event.story and self._workspace.config.lanes.jobs > 1 else ""

    def finished(self, rest: d.Rest) -> int:
        """Print the end of a run: where things stand, and what to do next. Gives the exit code."""
        if self._last and rest.exit_code != ExitCode.DONE:
            self._insist(self._last)
        if self._last and not self._output.as_json and not self._named and _is_worth_a_summary(self._last):
            self._summary(self._last)
        return rest.exit_code

    def interrupted(self, how: str) -> None:
        """Print that a signal has ended the run."""
        self._output.insist(f"{how}: {RESUMABLE}")

    def _insist(self, rest: Decided) -> None:
        """Print an end that is not a success even with --quiet; JSON output already has it."""
        if self._output.quiet and not self._output.as_json:
            sentence = rested(rest, waits=self._patience.limits)
            self._output.insist(f"{rest.feature}: {sentence}\n  hint: ralphy status {rest.feature}")

    def _summary(self, last: Decided) -> None:
        if last.exit_code == ExitCode.DONE and (more := _ahead(self._workspace)):
            self._output.note(f"{last.feature}: {more}")
        if last.notice:
            self._output.note(f"{last.feature}: {last.notice}")
        log = f"git log --oneline {last.branch}; " if last.branch else ""
        runs = counted(last.runs, "agent run")
        cost = marked_words(f"${last.cost_usd:.2f}", last.rehearsed)
        self._output.result(
            f"{last.feature}: {last.completed} of {last.stories} stories completed, {runs}, {cost}. "
            f"Look: {log}ralphy status {last.feature}"
        )


def _is_worth_a_summary(rest: Decided) -> bool:
    """An error before any agent worked says enough by itself."""
    return rest.runs > 0 or rest.exit_code in (ExitCode.DONE, ExitCode.WAITING)


def _ahead(w: Workspace) -> str:
    """How far the base branch is ahead of the finished feature's branch, and how to merge it; "" if it is not."""
    base = base_branch(w.repository, w.config, str(w.store.load().workflow.get("base") or ""))
    with suppress(GitError):
        count = int(w.repository.text("rev-list", "--count", f"{w.feature_branch}..{base}", "--"))
        commits = counted(count, "commit")
        return f"{base} is {commits} ahead: git switch {w.feature_branch} && git merge {base}" if count else ""
    return ""
