"""reconcile: observe, decide, act once, look again, until there is nothing to do for the moment."""

from __future__ import annotations

from collections.abc import Callable

from ralphy.core.decide import decide
from ralphy.core.decision import Rest
from ralphy.core.model import Snapshot
from ralphy.engine.act import act
from ralphy.engine.observe import observe
from ralphy.engine.recover import close_stopped
from ralphy.engine.view import render_tasks
from ralphy.engine.workspace import Workspace

Report = Callable[[object, Snapshot], None]


def reconcile(workspace: Workspace, report: Report) -> Rest:
    """Go on until a rest. Whatever interrupts an act, the control files are back before it is passed on."""
    while True:
        snapshot = observe(workspace)
        decision = decide(snapshot, workspace.config)
        report(decision, snapshot)
        if isinstance(decision, Rest):
            workspace.ignored, workspace.clean_at = None, ""
            render_tasks(workspace, snapshot)
            return decision
        try:
            act(decision, snapshot, workspace)
        except BaseException:
            close_stopped(workspace)
            raise
