"""why and status: what comes next and where things stand; nothing is touched."""

from __future__ import annotations

from typing import Any

import click

from ralphy.cli.options import Invocation, feature_argument, with_options
from ralphy.core.errors import ExitCode


@click.command("why")
@feature_argument
@with_options
def why(call: Invocation, feature: str | None) -> int:
    """Say the next decision and its reason in one sentence; nothing is touched."""
    with call.workspace(feature) as workspace:
        return explain(call, workspace)


def explain(call: Invocation, workspace: Any) -> int:
    """The decision that a run would begin with."""
    from ralphy.core.decide import decide
    from ralphy.engine.observe import observe
    from ralphy.engine.view import phase_of

    snapshot = observe(workspace)
    decision = decide(snapshot, workspace.config)
    kind = type(decision).__name__
    value = {
        "schema": "ralphy/why@1",
        "ok": True,
        "feature": snapshot.feature,
        "phase": phase_of(decision, snapshot),
        "decision": kind,
        "reason": decision.reason,
        "rests": decision.rests,
    }
    call.output.data(f"{kind}: {decision.reason}", value)
    return ExitCode.DONE
