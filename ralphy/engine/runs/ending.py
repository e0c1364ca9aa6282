"""The journal's last line of a run: its outcome, its cost, and the input of the breaker and the limits."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ralphy.agents.presets import preset_of
from ralphy.agents.protocol import AgentResult, Outcome
from ralphy.engine.workspace.workspace import Workspace
from ralphy.files.read import read_regular
from ralphy.pipeline.history import Entry
from ralphy.text.json_coerce import text_of


def end_line(run: str, result: AgentResult, outcome: Outcome, **more: Any) -> dict[str, Any]:
    """The line of a run with this outcome. `changed`, `error` and `test_only` are for the breaker: without
    `changed` nobody has judged the run, and it does not count there. `denied` counts refused calls by tool."""
    return {
        "run": run,
        "outcome": outcome.value,
        "cost": result.cost_usd,
        "cost_unknown": None if result.cost_known else True,
        "tokens": asdict(result.tokens),
        "seconds": round(result.duration_s, 3),
        "limit": _limit(result),
        "trigger": result.trigger or None,
        "warnings": result.warnings or None,
        "denied": dict(Counter(result.denials)) or None,
        **more,
    }


def _limit(result: AgentResult) -> dict[str, Any] | None:
    """The provider's last report on its limit, without the fields that only newer versions have and that are empty."""
    fields = asdict(result.limit) if result.limit else {}
    return {name: value for name, value in fields.items() if name not in ("is_paid_for", "windows") or value} or None


_MOST = 80 << 20


def with_known_cost(w: Workspace, run: Entry, result: AgentResult) -> AgentResult:
    """The result with the cost and tokens that the stream tells of; unknown if the agent had worked already."""
    log = preset_of(run.get("agent")).log()
    for line in _stream(w.feature.private / "runs", text_of(run.get("run"))).splitlines():
        log.read(line)
    return replace(result, cost_usd=log.cost_usd, tokens=log.tokens, cost_known=log.knows_its_cost)


def _stream(runs: Path, run: str) -> bytes:
    folder = next(runs.glob(f"{run}*"), None) if run else None
    return (read_regular(folder / "stream.ndjson", _MOST) or b"") if folder else b""
