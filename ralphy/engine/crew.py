"""The crew: agents that work side by side, each in a lane of its own.

One thread is in the engine: the one that decides. For each run a thread waits for the agent; what it hears comes by way
of the inbox. So nothing in the engine needs a lock, and stories are judged and landed one by one.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from queue import Empty
from types import TracebackType
from typing import Self

from ralphy.agents.protocol import Activity, AgentResult, Outcome
from ralphy.engine.lane_use.lane_layout import lay_out_lane
from ralphy.engine.lane_use.open_lanes import agent_lane
from ralphy.engine.runs import attempt, authoring
from ralphy.engine.runs.onto_tip import finish_story
from ralphy.engine.runs.running import Inbox, Run, begin_run, hear, let_go, take_end
from ralphy.engine.wakeups import signature_of
from ralphy.engine.workspace.subject import Subject, working_on
from ralphy.engine.workspace.waiting import seconds_left
from ralphy.engine.workspace.workspace import Workspace
from ralphy.pipeline.decision import Rest, RunAgent
from ralphy.pipeline.model import Snapshot
from ralphy.pipeline.steps import names

_LOOK_S = 1.0  # how often the feature's folder is looked at
_FAREWELL_S = 20.0  # more than what the ladder of signals takes


@dataclass(slots=True)
class _AtWork:
    """A run, the thread that waits for its agent, and then the result."""

    run: Run
    thread: threading.Thread
    result: AgentResult | None = None

    @property
    def can_wait(self) -> bool:
        """Is only its work left to be judged? What an agent tells of a limit or a trouble is heard at once."""
        if self.result is None or self.result.outcome is not Outcome.SUCCEEDED:
            return False
        limit = self.result.limit
        return limit is None or not (limit.status != "allowed" or any(w.is_worth_a_warning for w in limit.windows))


class Crew:
    """The runs of one workspace. `begin` starts one, `wait` is where their ends are heard, and leaving ends all."""

    def __init__(self, w: Workspace) -> None:
        self._w = w
        self._inbox = Inbox()
        self._at_work: dict[str, _AtWork] = {}
        self._to_judge: list[_AtWork] = []
        self._cancelled = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.end()

    def __len__(self) -> int:
        return len(self._at_work)

    def begin(self, decision: RunAgent, snapshot: Snapshot) -> None:
        """Lay a lane out, note the run, and start its agent."""
        w, lane = self._w, agent_lane(self._w)
        with working_on(Subject(decision.story, lane.name)):
            step = attempt if decision.step == names.STORY else authoring
            tree, feedback = step.begins_with(w, decision, snapshot)
            lay_out_lane(w, lane, tree, snapshot.tree.head)
            run, go = begin_run(w, decision, snapshot, lane, tree, feedback, self._inbox, self._cancelled)
        thread = threading.Thread(target=_wait_for_agent, args=(run.id, go, self._inbox), daemon=True)
        thread.start()
        self._at_work[run.id] = _AtWork(run, thread)

    def finish_alone(self) -> None:
        """Wait for the only run, and finish it; nothing else is done meanwhile. STOP is reported, and judged later."""
        stop, is_reported = self._w.feature.file("STOP"), os.path.lexists(self._w.feature.file("STOP"))
        while self._at_work:
            if ended := self._heard(_LOOK_S):
                self._finish(ended)
            elif not is_reported and os.path.lexists(stop):
                is_reported = True
                self._w.say("STOP found: finishing this run, then stopping. To stop now, run `ralphy abort`")

    def wait(self, rest: Rest, before: int) -> None:
        """Wait until there is something to decide on: an agent has ended, the folder is not as it was `before`, or the
        time of the rest has come. Work that can wait is judged at the next call: another agent may begin before."""
        if self._to_judge:
            self._finish(self._to_judge.pop())
            return
        until, look_at = getattr(rest, "until", None), time.monotonic()
        while self._at_work:
            left_s = math.inf if until is None else seconds_left(self._w, until)
            if left_s <= 0:
                self._w.session = replace(self._w.session, waited=until or 0.0)  # whatever the clock says of it
                return
            if ended := self._heard(max(0.0, min(left_s, look_at - time.monotonic()))):
                if ended.can_wait:
                    self._note_ended(ended)
                else:
                    self._finish(ended)
                return
            if time.monotonic() >= look_at:
                look_at = time.monotonic() + _LOOK_S
                if signature_of(self._w.feature) != before:
                    return

    def _heard(self, wait_s: float) -> _AtWork | None:
        """Take the next thing out of the inbox, awaited for so many seconds; gives the run if its agent has ended."""
        try:
            name, what = self._inbox.get(timeout=wait_s)
        except Empty:
            return None
        at_work = self._at_work[name]
        if isinstance(what, Activity):
            hear(self._w, at_work.run, what)
            return None
        at_work.thread.join()
        if isinstance(what, BaseException):
            del self._at_work[name]
            raise what
        at_work.result = what
        return at_work

    def end(self) -> None:
        """End all agents, and wait for that; after another interrupt they end with Ralphy, without a farewell."""
        self._cancelled.set()
        with suppress(BaseException):  # the first one is passed on
            for at_work in self._at_work.values():
                at_work.thread.join(_FAREWELL_S)
        self._at_work.clear()
        self._to_judge.clear()
        self._inbox, self._cancelled = Inbox(), threading.Event()

    def _note_ended(self, ended: _AtWork) -> None:
        """The agent is at work no more, and what it cost is known."""
        assert ended.result
        in_work, cost = self._w.session.in_work, ended.result.cost_usd
        self._w.session = replace(self._w.session, in_work=tuple(
            replace(work, is_over=True, promised_usd=cost) if work.run == ended.run.id else work for work in in_work
        ))  # fmt: skip
        self._to_judge.append(ended)

    def _finish(self, ended: _AtWork) -> None:
        """Judge and land what the run left, or note why not."""
        assert ended.result
        w, run = self._w, ended.run
        del self._at_work[run.id]
        with working_on(run.about):
            left = take_end(w, run, ended.result)
            (finish_story if run.decision.step == names.STORY else authoring.finish_step)(w, run, left)
            let_go(w, run)


def _wait_for_agent(run: str, go: Callable[[], AgentResult], inbox: Inbox) -> None:
    """In a thread of its own: run the agent to its end. Nothing of the engine is touched here."""
    try:
        result: AgentResult | BaseException = go()
    except BaseException as error:
        result = error
    inbox.put((run, result))
