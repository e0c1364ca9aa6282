"""reconcile: observe, decide, act once, look again, until there is nothing to do for the moment."""

from __future__ import annotations

from collections.abc import Callable

from ralphy.core.decide import decide
from ralphy.core.decision import AcceptRed, Approve, Decision, OpenGate, Rest, SetAside, TakeBaseline
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
            render_tasks(workspace, snapshot)
            return decision
        try:
            act(decision, snapshot, workspace)
        except BaseException:
            close_stopped(workspace)
            raise
        if not _leaves_code_alone(decision, snapshot):
            workspace.checkout.rows = None


def _leaves_code_alone(decision: Decision, snapshot: Snapshot) -> bool:
    """Was the act one that cannot have changed what git says of the code?"""
    if isinstance(decision, Approve):
        return not snapshot.tree.is_on_branch
    return isinstance(decision, (OpenGate, SetAside, TakeBaseline, AcceptRed))
