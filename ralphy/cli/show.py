"""The narrator: decisions, sentences and the agent's activity as a stamped log on stderr."""

from __future__ import annotations

import math
import time
from typing import Any

from ralphy.agents.protocol import Activity
from ralphy.cli.moments import moment
from ralphy.cli.output import Output
from ralphy.cli.plain import clean
from ralphy.engine.reactor import Dialogue, Patience
from ralphy.engine.view.view import phase_of
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import ExitCode
from ralphy.files.atomic import replace_file
from ralphy.lanes.lanes_folder import as_in_the_checkout
from ralphy.pipeline import decision as d
from ralphy.pipeline.forecast import forecast, what_is_left
from ralphy.pipeline.model import Snapshot
from ralphy.pipeline.steering import steering_notice, steering_of
from ralphy.text.durations import span
from ralphy.text.tone import BAD, GOOD, WAITING, Toned, tone_of

_EVERY_S = 0.2
_EVERY_SECOND_S, _EVERY_MINUTE_S, _IN_A_LOG_S = 1.0, 60.0, 600.0
_QUIET = (d.OpenGate, d.SetAside, d.Approve)
_PATIENT = Patience(gates=True)


def _tone(decision: d.Decision) -> str:
    if isinstance(decision, d.Wait):
        return WAITING
    if isinstance(decision, d.Rest):
        return GOOD if decision.exit_code == ExitCode.DONE else BAD
    return ""


class Narrator:
    """Says what happens to one feature; as JSON, a line for each decision on stdout.

    `named` features are some of several, which go on when one of them rests; `patience` is what the driver waits for.
    """

    def __init__(
        self, output: Output, workspace: Workspace, *, named: bool = False, patience: Patience = _PATIENT
    ) -> None:
        self._output = output
        self._workspace = workspace
        self._patience = patience
        self._prefix = f"{workspace.feature.name}: " if named else ""
        self._last_shown = 0.0
        self._last_rest = ""
        self._snapshot: Snapshot | None = None
        self._counted_at = -math.inf
        self._is_counting = self._has_begun = False
        self._asked: d.Wait | None = None

    def attend(self, workspace: Workspace) -> None:
        """Hear from a workspace whatever is to be said."""
        workspace.say, workspace.show, workspace.count_down = self.say, self.show, self.count_down
        workspace.detail = self.detail

    def say(self, text: str) -> None:
        self._erase()
        self._output.say(Toned(f"{self._prefix}{text}", tone_of(text)))

    def detail(self, text: str) -> None:
        self._erase()
        self._output.detail(f"{self._prefix}{text}")

    def decided(self, decision: Any, snapshot: Snapshot) -> None:
        """A decision was made; a rest that was said already is not said again."""
        if not self._has_begun:
            self._has_begun = True
            self._begin(decision, snapshot)
        self._snapshot = None if self._prefix else snapshot
        if isinstance(decision, d.Rest):
            self._counted_at = time.monotonic()
            if decision.reason == self._last_rest:
                return
            self._last_rest = decision.reason
        else:
            self._last_rest = ""
        if self._output.as_json:
            self._json(decision, snapshot)
        if isinstance(decision, d.RunAgent):
            self.say(f"{phase_of(decision, snapshot)}: {decision.reason} ({decision.mode}, {decision.model})")
        elif isinstance(decision, _QUIET):
            self.detail(f"{type(decision).__name__}: {decision.reason}")
        else:
            self.say(Toned(self._sentence(decision), _tone(decision)))
        if self._prefix and isinstance(decision, d.Halt):
            self._insist(decision)

    def _sentence(self, decision: d.Decision) -> str:
        """The reason; of a wait for a time, until when, or that it is not waited for; of a halt, when it is over."""
        now = self._workspace.clock()
        if isinstance(decision, d.Halt) and decision.until is not None:
            return f"{decision.reason}; that is {moment(decision.until, now)}"
        if not isinstance(decision, d.Wait) or decision.until is None:
            return decision.reason
        at = moment(decision.until, now)
        if self._patience.limits:
            return f"waiting until {at}: {decision.reason}"
        limited = f"limited until {at}; " if decision.exit_code == ExitCode.LIMITED else ""
        return f"{limited}not waiting (--no-wait): {decision.reason}"

    def _begin(self, decision: Any, s: Snapshot) -> None:
        """What the work will take, if earlier stories tell."""
        if forecast(s) and not isinstance(decision, d.Rest):
            self.say(what_is_left(s))

    def _json(self, decision: d.Decision, s: Snapshot) -> None:
        value = {"schema": "ralphy/event@1", "feature": s.feature, "at": s.now, "phase": phase_of(decision, s),
                 "decision": type(decision).__name__, "reason": decision.reason}  # fmt: skip
        until = getattr(decision, "until", None)
        self._output.event({**value, "until": until} if until else value)

    def count_down(self, wait: d.Wait, left: float) -> float:
        """Show what is left of a wait: every second on a terminal, every minute as JSON, every ten in a log."""
        output = self._output
        every_s = _EVERY_MINUTE_S if output.as_json else _EVERY_SECOND_S if output.is_live else _IN_A_LOG_S
        due = self._counted_at + every_s - time.monotonic()
        if due > 0:
            return due
        self._counted_at = time.monotonic()
        if output.as_json:
            output.event({"schema": "ralphy/event@1", "feature": self._workspace.feature.name,
                             "at": self._workspace.clock(), "decision": "Wait", "reason": wait.reason,
                             "until": wait.until, "seconds_left": round(left)})  # fmt: skip
        elif output.is_live:
            self._is_counting = True
            output.overwrite(f"  {self._prefix}{span(left)} left" + ("; s stops: " if self._asked else ""))
        else:
            self.say(f"still waiting, {span(left)} left: {wait.reason}")
        return every_s

    def _erase(self) -> None:
        if self._is_counting:
            self._is_counting = False
            self._output.overwrite("")

    def show(self, activity: Activity) -> None:
        """A line of the agent's activity, a few a second at the most."""
        now = time.monotonic()
        if not self._output.progress or not activity.text or activity.kind == "start":
            return
        if now - self._last_shown < _EVERY_S:
            return
        self._last_shown = now
        text = as_in_the_checkout(activity.text, self._workspace.repository)
        text = " ".join(clean(text).split())[:100]
        self._output.note(f"           {self._prefix}{activity.kind}: {text}")

    @property
    def dialogue(self) -> Dialogue:
        return Dialogue(self._ask, self._take)

    def _ask(self, wait: d.Wait) -> None:
        self._asked = wait
        if wait.gate:
            self._output.note(f"\nApprove {wait.gate} of {self._workspace.feature.name}? [y/n] ")
        else:
            self._output.note("Ralphy resumes by itself; to stop, type s and Return.")

    def _take(self, line: str) -> bool:
        """y approves, n leaves the gate open and ends here, n with remarks sends the document back; ending the feature
        takes its name. At a limit, s stops. False ends the waiting.
        """
        answer, _, remarks = line.strip().partition(" ")
        if self._asked and not self._asked.gate:
            return answer.lower() not in ("s", "stop", "q", "n")
        folder = self._workspace.feature
        if answer.lower() in ("y", "yes"):
            replace_file(folder.file("APPROVED"), b"", durable=False)
        elif answer.lower() in ("n", "no") and remarks.strip():
            replace_file(folder.file("REJECTED"), remarks.encode(), durable=False)
        elif answer.lower() in ("n", "no"):
            self._output.note(f"Not now: the gate stays open. ralphy start {folder.name} asks again.")
            return False
        elif (answer.lower(), remarks.strip()) == ("end", folder.name):
            replace_file(folder.file("REJECTED"), b"", durable=False)
        else:
            self._output.note(
                "y approves, n decides later, n with text rejects it with these remarks,\n"
                f"end {folder.name} ends the feature: [y/n] "
            )
        return True

    def finished(self, rest: d.Rest) -> int:
        """The end of a run: where things stand, and what to do next."""
        self._erase()
        if rest.exit_code != ExitCode.DONE:
            self._insist(rest)
        if not self._output.as_json and self._snapshot:
            self._summary(self._snapshot)
        return rest.exit_code

    def interrupted(self, how: str) -> None:
        """Somebody has ended the run."""
        self._erase()
        self._output.insist(f"{how}: nothing is lost; run it again to resume")

    def _insist(self, rest: d.Rest) -> None:
        """An end that is no success is told when all else is quiet; in JSON it stands already."""
        if self._output.quiet and not self._output.as_json:
            name = self._workspace.feature.name
            self._output.insist(f"{name}: {self._sentence(rest)}\n  hint: ralphy status {name}")

    def _summary(self, s: Snapshot) -> None:
        if notice := steering_notice(steering_of(s.prd)):
            self._output.note(f"{s.feature}: {notice}")
        done = sum(1 for story in s.prd.stories if story.is_completed)
        cost = self._workspace.session.cost_usd
        log = f"git log --oneline {s.tree.feature_branch}; " if s.tree.is_on_branch else ""
        runs = "1 agent run" if self._workspace.session.runs == 1 else f"{self._workspace.session.runs} agent runs"
        self._output.result(
            f"{s.feature}: {done} of {len(s.prd.stories)} stories completed, {runs}, ${cost:.2f}. "
            f"Look: {log}ralphy status {s.feature}"
        )
