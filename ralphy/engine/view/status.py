"""Status: where a feature stands, from its folder and the journal."""

from __future__ import annotations

import time
from typing import Any

from ralphy.agents.usage_windows import noted_windows
from ralphy.engine.feature.features import FeatureLocation
from ralphy.engine.view.observe import branch_of, observe, observe_at
from ralphy.engine.view.view import how_to_see, phase_of
from ralphy.engine.workspace.waiting import as_it_rests
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import ExitCode
from ralphy.git.run_lock import holder
from ralphy.pipeline import decision as d
from ralphy.pipeline.decide import decide
from ralphy.pipeline.forecast import forecast
from ralphy.pipeline.model import Snapshot, Story
from ralphy.pipeline.parts import with_parts
from ralphy.pipeline.steering import steering_of
from ralphy.pipeline.stories import shown_status, warnings_of
from ralphy.pipeline.verification import is_unverified, unverified_ids
from ralphy.text.json_coerce import count_of, mapping_of

SCHEMA = "ralphy/status@1"
_STOPPED = (ExitCode.BREAKER_OPEN, ExitCode.BUDGET, ExitCode.LIMITED, ExitCode.INTERRUPTED)


def status_of(w: Workspace, location: FeatureLocation | None = None) -> dict[str, Any]:
    """What `ralphy status --json` prints; nothing is touched."""
    snapshot, decision, reason = decided(w, location)
    value = {**described(snapshot, decision), "next": reason, "stopped_at": None}
    if at := stopped_at(w, snapshot, decision):
        stopped = how_to_resume(at, snapshot)
        value |= {"next": f"{stopped} ({reason})", "brief": stopped, "stopped_at": iso(at)}
    return value


def stopped_at(w: Workspace, s: Snapshot, decision: d.Decision) -> float:
    """When the work on a feature ended that could go on; 0.0 if it goes on, rests, or has not begun."""
    is_over = isinstance(decision, d.Rest | d.Approve | d.Reject) or not s.history.iterations or w.worked_on_in
    return 0.0 if is_over or holder(w.repository.checkout_dir / "lock") else s.history.last_at


def in_progress(w: Workspace) -> str:
    """What the Ralphy that holds this checkout does for the feature now; "" if none does."""
    runs = w.history.open_runs
    if not runs or not holder(w.repository.checkout_dir / "lock"):
        return ""
    names = ", ".join(str(run.get("story") or run.get("step")) for run in runs)
    return f"{names} in progress" + (f", attempt {runs[0].get('attempt')}" if len(runs) == 1 else "")


def how_to_resume(at: float, s: Snapshot) -> str:
    """When it stopped, and the command that goes on."""
    there = time.localtime(at)
    day = "" if there[:3] == time.localtime(s.now)[:3] else "%Y-%m-%d "
    return f"stopped {time.strftime(f'{day}%H:%M', there)}; resume: ralphy loop {s.feature}"


def decided(w: Workspace, location: FeatureLocation | None) -> tuple[Snapshot, d.Decision, str]:
    """What comes next, and why; `location` matters if the feature's newest state is not in the checkout."""
    snapshot = snapshot_at(w, location)
    decision = as_it_rests(w, snapshot.now, decide(snapshot, w.config))
    if location and location.at and not isinstance(decision, d.Done) and (place := w.worked_on_in):
        return snapshot, decision, f"{snapshot.feature} is being worked on in {place}"
    return snapshot, decision, decision.reason


def snapshot_at(w: Workspace, location: FeatureLocation | None, *, review: bool = True) -> Snapshot:
    """The feature at its `location`; one that is merged or has a branch of another name, in a commit alone."""
    w.branch = branch_of(w)
    if location and location.at and not (location.has_branch and location.branch == w.feature_branch):
        return observe_at(w, location.at, location.life)
    return observe(w, review=review)


def described(s: Snapshot, decision: d.Decision) -> dict[str, Any]:
    """A snapshot and what comes next as plain values."""
    history, statuses = s.history, shown_status(s.prd)
    return {
        "schema": SCHEMA,
        "ok": True,
        "feature": s.feature,
        "life": s.life.value,
        "base": s.tree.base,
        "phase": phase_of(decision, s),
        "status": _word(decision),
        "started_at": iso(history.started_at),
        "tasks_completed": len(s.prd.completed_ids),
        "tasks_total": len(s.prd.stories),
        "circuit_breaker": _breaker(s),
        "watchdog": _watchdog(s),
        "next": decision.reason,
        "brief": getattr(decision, "brief", "") or decision.reason,
        "waiting_until": iso(getattr(decision, "until", None) or 0.0),
        "branch": s.tree.feature_branch,
        "runs": history.iterations,
        "cost_usd": round(history.cost_usd, 4),
        "rehearsed": history.is_rehearsed,
        "unknown_cost_runs": history.unknown_cost_runs,
        "forecast": ahead_of(s),
        "usage_windows": _windows(s),
        "tokens": dict(history.tokens),
        "check_runs": _check_runs(s),
        "unverified": len(unverified_ids(s.prd)),
        "warnings": sum(len(warnings_of(story)) for story in s.prd.stories),
        "steering": steering_of(s.prd),
        "pull_request": s.prd.pr.get("url"),
        "current": how_to_see(s, decision),
        "stories": [_row(s, story, statuses[story.id]) for story in with_parts(s.prd).stories],
    }


def _breaker(s: Snapshot) -> dict[str, Any]:
    breaker = s.history.breaker
    state = breaker.state_at(s.now).value
    return {"state": state, "attempts": breaker.attempts, "last_trigger": breaker.trigger or None}


def _watchdog(s: Snapshot) -> dict[str, Any] | None:
    """The last warning to the run that is open; None if it had none."""
    warned = s.history.watchdog
    return {name: warned.get(name) for name in ("trigger", "number", "most", "seen")} if warned else None


def _windows(s: Snapshot) -> list[dict[str, Any]]:
    """What the provider last said of its usage windows, those apart that were reset since."""
    return [
        {"kind": window.kind, "used": window.used, "resets_at": iso(window.resets_at or 0.0)}
        for window in noted_windows(s.history.limit, s.now)
    ]


def _check_runs(s: Snapshot) -> dict[str, int]:
    """How often the checks were run for the stories that landed: as they stand, and on a few files of tests alone."""
    evidence = (mapping_of(story.raw.get("evidence")) for story in s.prd.stories if story.is_completed)
    noted = [runs for one in evidence if (runs := mapping_of(one.get("check_runs")))]
    counts = {kind: sum(count_of(runs.get(kind)) for runs in noted) for kind in ("whole", "narrowed")}
    return {"stories": len(noted), **counts}


def ahead_of(s: Snapshot) -> dict[str, Any] | None:
    """What is to come, if that is known."""
    estimate = forecast(s)
    if estimate is None:
        return None
    return {"stories_left": estimate.stories_left, "seconds": round(estimate.seconds),
            "cost_usd": round(estimate.cost_usd, 4), "ends_at": iso(s.now + estimate.seconds),
            "rehearsed": estimate.is_rehearsed}  # fmt: skip


def _word(decision: d.Decision) -> str:
    if isinstance(decision, d.Wait):
        return "waiting"
    if isinstance(decision, d.Done):
        return "completed"
    if isinstance(decision, d.Halt):
        return "stopped" if decision.exit_code in _STOPPED and not decision.late else "failed"
    return "ready"


def _row(s: Snapshot, story: Story, status: str) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": story.id,
        "title": story.title,
        "status": status,
        "passes": story.is_completed,
        "priority": story.priority,
        "attempts": int(story.execution.get("attempts") or 0),
    }
    if story.depends_on:
        row["depends_on"] = list(story.depends_on)
    if story.execution.get("last_error"):
        row["last_error"] = str(story.execution["last_error"])[:300]
    if is_unverified(story):
        row["verified"] = False
    if warnings := warnings_of(story):
        row["warnings"] = len(warnings)
    if parts := mapping_of(mapping_of(story.raw.get("evidence")).get("parts")):
        row["parts"] = {name: count_of(parts.get(name)) for name in ("proved", "of", "left")}
    known = s.history.stories.get(story.id)
    if known and known.cost_usd:
        row["open_cost_usd"] = round(known.cost_usd, 4)
    return row


def iso(at: float) -> str | None:
    """The moment in ISO 8601, UTC; None for 0.0."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at)) if at else None
