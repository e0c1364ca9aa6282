"""Running features: each is opened with its listeners and driven to a rest, alone or in turn with others."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ralphy.cli.ci import is_github
from ralphy.cli.options import Invocation
from ralphy.cli.report import reporting
from ralphy.cli.run.dialogue import GateDialogue, StoryDialogue
from ralphy.cli.run.in_ci import telling_github, with_answers
from ralphy.cli.run.live import Live
from ralphy.cli.run.narrator import RESUMABLE, Narrator
from ralphy.cli.run.notifying import Messages
from ralphy.cli.run.sentences import sentences
from ralphy.cli.run.signals import Came, Terminated, heeding, signals
from ralphy.cli.status.inbox import at_gate, command_of
from ralphy.cli.status.look import standing
from ralphy.config.values import STRICT
from ralphy.documents.feature_folder import Feature
from ralphy.documents.readiness import faults
from ralphy.engine.every_feature import FeatureTurn, exit_code_of, run_every
from ralphy.engine.lane_use.open_lanes import lanes_of, require_agent_starts
from ralphy.engine.reactor import Dialogue, Patience, held_up, run_feature
from ralphy.engine.workspace.checkout import Checkout
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import ExitCode, RalphyError
from ralphy.files.read import read_text
from ralphy.git.run_lock import Lock, LockBusy, covers, purpose_of
from ralphy.git.signing import require_signer
from ralphy.pipeline.decision import Halt, Rest, Wait
from ralphy.pipeline.events import Decided, Event, HeldUp, Listener
from ralphy.pipeline.model import Session
from ralphy.pipeline.notices import notice_of


def open_features(call: Invocation) -> list[Feature]:
    """The features that are open."""
    return [location.feature for location in call.features() if location.life.is_open]


class Runner:
    """Runs features with one patience and one live view; `named` features have their name in each line of the log.

    `in_ci`: questions get the answers that the settings `ci` prepared.
    """

    def __init__(self, call: Invocation, patience: Patience, *, named: bool = False, in_ci: bool = False) -> None:
        self.live = Live(call.output)
        self._call = call
        self._patience = patience
        self._named = named
        self._in_ci = in_ci
        self._messages = Messages(call.output)
        self._came = Came()

    def attend(self, w: Workspace) -> Narrator:
        """Attach the console, signals and the sandbox to a workspace."""
        narrator = Narrator(self._call.output, w, self.live, named=self._named, patience=self._patience)
        listeners = [heeding(self._came), narrator.hear, reporting(w)]
        listeners += [telling_github(w)] if is_github(os.environ) else []
        listeners += [self._messages.listener_for(w)]
        listeners += [keeping_awake(w)] if w.config.limits.keep_awake else []
        w.listener, w.tick_s = in_turn(listeners), narrator.tick_s
        self._warn_of_prd(w)
        _require_sandbox(w)
        _require_signer(w)
        return narrator

    def run_one(self, w: Workspace, *, by_story: bool) -> int:
        """Run a feature until it rests; with `by_story`, ask after each story."""
        narrator = self.attend(w)
        gate = GateDialogue(self._call.output, w, self.live)
        dialogue = Dialogue(gate.ask, gate.take) if self._patience.gates else None
        stories = StoryDialogue(self._call.output, w, self.live) if by_story else None

        def work() -> int:
            with Lock(w.repository.checkout_dir / "lock", purpose_of(w.feature.name)), self.live:
                if stories:
                    stories.begin()
                rest = self._run(w, dialogue)
                while stories and isinstance(rest, Wait) and rest.story and stories.goes_on(rest.story):
                    rest = self._run(w, dialogue)
            return narrator.finished(rest)

        return self.until_signal(work, narrator.interrupted)

    def run_every(self, checkout: Checkout, session: Session) -> int:
        """Run all open features, one after the other, until each of them waits or is done."""
        opened: dict[str, tuple[Workspace, Narrator]] = {}

        def open_now() -> list[Feature]:
            self._call.look_again()
            return open_features(self._call)

        def turn(feature: Feature, session: Session) -> FeatureTurn:
            """Run one feature until it rests; an error of it does not stop the others."""
            try:
                if feature.name not in opened:
                    workspace = self._call.open(checkout, feature)
                    opened[feature.name] = workspace, self.attend(workspace)
                w, narrator = opened[feature.name]
                w.session, before = session, narrator.acts
                rest = self._run(w)
            except RalphyError as error:
                self.tell(held_up(feature, error))
                return FeatureTurn(Halt(str(error), error.exit_code), session, has_acted=False)
            return FeatureTurn(rest, w.session, has_acted=narrator.acts > before)

        def work() -> int:
            with Lock(checkout.repository.checkout_dir / "lock", "loop"), self.live:
                rests = run_every(open_now, turn, session)
            for name, rest in rests.items():
                self._call.output.result(f"{name}: {rest.reason}")
            return exit_code_of(rests.values())

        return self.until_signal(work, lambda how: self._call.output.insist(f"{how}: {RESUMABLE}"))

    def tell(self, event: Event) -> None:
        """Tell of an event about no feature that could be opened; with --quiet only of what holds a feature up."""
        output = self._call.output
        if output.as_json:
            output.event(event.to_json())
        for text, tone in sentences(event):
            output.insist(text) if isinstance(event, HeldUp) else output.say(text, tone)
        if notice := notice_of(event, ""):
            self._messages.post(notice)

    def _run(self, w: Workspace, dialogue: Dialogue | None = None) -> Rest:
        self._call.lay_out(w)
        prepared = w.config.ci.answers if self._in_ci else ()
        return with_answers(w, prepared, lambda: run_feature(w, self._patience, dialogue))

    def until_signal(self, work: Callable[[], int], interrupted: Callable[[str], None]) -> int:
        """Do the work, and give its exit code; if a signal ends it, report that, and give the signal's code."""
        try:
            with signals(self._came), self._messages.telling_the_end(), self._naming_the_gate():
                return work()
        except KeyboardInterrupt:
            interrupted("interrupted")
            return ExitCode.INTERRUPTED
        except Terminated:
            interrupted("terminated")
            return ExitCode.TERMINATED

    @contextmanager
    def _naming_the_gate(self) -> Iterator[None]:
        """If another Ralphy holds the checkout and waits at a gate, add to the error how to open the gate."""
        try:
            yield
        except LockBusy as busy:
            own = [feature.name for feature in open_features(self._call) if covers(busy.purpose, feature.name)]
            waiting = (value for name in own if at_gate(value := standing(self._call, name)))
            if first := next(waiting, None):
                busy.hint = f"{first['feature']} waits for you: {command_of(first)}; or stop it with: ralphy abort"
            raise

    def _warn_of_prd(self, w: Workspace) -> None:
        """With `verify.prd: flag`, warn of what PRD.md lacks before an agent is paid for a specification."""
        prd = w.feature.file("PRD.md")
        if w.config.verify.prd == "flag" and prd.is_file() and not w.feature.file("SPEC.md").exists():
            for fault in faults(read_text(prd)):
                self._call.output.note(f"warning: {w.feature.in_repository('PRD.md')}:{fault}")


def _require_sandbox(w: Workspace) -> None:
    """Start the sandbox that the settings demand, or fail."""
    if w.config.safety.level == STRICT:
        require_agent_starts(w)
    elif w.config.safety.sandbox == "bwrap":
        lanes_of(w)  # opening them starts it


def _require_signer(w: Workspace) -> None:
    """Fail before an agent is paid if commits cannot be signed unattended; tried once for a checkout."""
    if w.config.git.sign == "auto" and w.checkout.signs_commits and "signer" not in w.checkout.reported:
        require_signer(w.repository, w.checkout.identity)
        w.checkout.reported.add("signer")


def in_turn(listeners: Sequence[Listener]) -> Listener:
    """One listener that lets each of these hear an event, in their order."""

    def hear(event: Event) -> None:
        for listener in listeners:
            listener(event)

    return hear


def keeping_awake(w: Workspace) -> Listener:
    """A listener that keeps the machine awake while there is work, and reports this once."""
    awake, name = w.checkout.awake, w.feature.name

    def hear(event: Event) -> None:
        if not isinstance(event, Decided):
            return
        if event.rests and not (event.decision == "Wait" and event.until):
            awake.release(name)
        elif awake.hold(name) and "awake" not in w.checkout.reported:
            w.checkout.reported.add("awake")
            w.say(f"this machine is kept awake while there is work ({awake.program}; limits.keep_awake)")

    return hear
