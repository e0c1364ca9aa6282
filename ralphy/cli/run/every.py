"""loop without a name: every open feature, one after the other, until each of them waits or is done."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ralphy.cli.run.drivers import attend, open_features, until_of, until_signal
from ralphy.cli.run.in_ci import with_answers
from ralphy.cli.run.live import Live
from ralphy.cli.run.narrator import RESUMABLE, Narrator
from ralphy.cli.run.notifying import tell
from ralphy.cli.run.planned import show_plan
from ralphy.cli.run.signals import Came
from ralphy.engine.every_feature import Turn, exit_code_of, run_every
from ralphy.engine.reactor import Patience, held_up, run_feature
from ralphy.engine.workspace.checkout import Checkout
from ralphy.errors import ExitCode, RalphyError
from ralphy.git.run_lock import Lock
from ralphy.pipeline.decision import Halt

if TYPE_CHECKING:
    from ralphy.cli.options import Invocation
    from ralphy.documents.feature_folder import Feature
    from ralphy.engine.workspace.workspace import Workspace
    from ralphy.pipeline.model import Session


def drive_every(call: Invocation, session: Session, limits: dict[str, Any]) -> int:
    """Work on all open features, one after the other, until each of them waits or is done."""
    checkout = Checkout.of(call.repository())
    try:
        if limits["dry_run"]:
            return _plan_every(call, checkout)
        call.require_settings(checkout.repository)
        call.require_trusted(checkout.repository)
        now = time.time()
        until = until_of(call, call.settings(checkout.repository).config, now)
        return _run_every(call, checkout, replace(session, until=until, began=now), waits=not limits["no_wait"])
    finally:
        checkout.close()


def _plan_every(call: Invocation, checkout: Checkout) -> int:
    features = list(open_features(call))
    for feature in features:
        named = f"{feature.name}: " if features[1:] else ""
        show_plan(call, call.open(checkout, feature), call.found(checkout.repository, feature.name), named)
    return ExitCode.DONE


def _run_every(call: Invocation, checkout: Checkout, session: Session, *, waits: bool) -> int:
    night = _Night(call, checkout, waits=waits)

    def work() -> int:
        with Lock(checkout.repository.checkout_dir / "lock", "loop"), night.live:
            rests = run_every(night.open_now, night.drive, session)
        for name, rest in rests.items():
            call.output.result(f"{name}: {rest.reason}")
        return exit_code_of(rests.values())

    return until_signal(call, night.came, work, lambda how: call.output.insist(f"{how}: {RESUMABLE}"))


class _Night:
    """How each feature of several is opened, driven and told of."""

    def __init__(self, call: Invocation, checkout: Checkout, *, waits: bool) -> None:
        self.came = Came()
        self.live = Live(call.output)
        self._call = call
        self._checkout = checkout
        self._patience = Patience(gates=False, limits=waits)
        self._told: dict[str, tuple[Workspace, Narrator]] = {}

    def open_now(self) -> list[Feature]:
        self._call.look_again()
        return open_features(self._call)

    def drive(self, feature: Feature, session: Session) -> Turn:
        """One feature, until it rests; what is wrong with it holds up no other one."""
        try:
            workspace, narrator = self._opened(feature)
            workspace.session, before = session, narrator.acts
            self._call.lay_out(workspace)
            prepared = workspace.config.ci.answers if self._call.deadline is not None else ()
            rest = with_answers(workspace, prepared, lambda: run_feature(workspace, self._patience))
        except RalphyError as error:
            tell(self._call, held_up(feature, error))
            return Turn(Halt(str(error), error.exit_code), session, has_acted=False)
        return Turn(rest, workspace.session, has_acted=narrator.acts > before)

    def _opened(self, feature: Feature) -> tuple[Workspace, Narrator]:
        if feature.name not in self._told:
            workspace = self._call.open(self._checkout, feature)
            narrator = attend(self._call, workspace, self.came, self.live, named=True, patience=self._patience)
            self._told[feature.name] = workspace, narrator
        return self._told[feature.name]
