"""The journal's last line of a run: what it came to, what it cost, and what the breaker and the limits go by."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

from ralphy.agents.protocol import AgentResult, Outcome


def end_line(run: str, result: AgentResult, outcome: Outcome, **more: Any) -> dict[str, Any]:
    """The line of a run with this outcome. `changed`, `error` and `test_only` are for the breaker: without
    `changed` nobody has judged the run, and it does not count there. `denied` counts refused calls by tool, `unguarded`
    calls that the guard did not answer."""
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
        "unguarded": result.unguarded or None,
        **more,
    }


def _limit(result: AgentResult) -> dict[str, Any] | None:
    """The provider's last word on its limit; what only newer versions tell is left out where it is not told."""
    found = asdict(result.limit) if result.limit else {}
    return {name: value for name, value in found.items() if name not in ("is_paid_for", "windows") or value} or None
