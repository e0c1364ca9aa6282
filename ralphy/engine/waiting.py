"""When to try again after a limit or a passing trouble: the provider's own word, else a back-off."""

from __future__ import annotations

import random

from ralphy.core.agent import AgentResult, Outcome
from ralphy.engine.workspace import Workspace

_AFTER_RESET_S = 2.0
_LIMIT_BACKOFF_S = (300.0, 600.0, 1200.0)
_TROUBLE_BACKOFF_S = (5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0)


def retry_time(w: Workspace, outcome: Outcome, result: AgentResult) -> float:
    """Epoch seconds of the next try. A reset that passed in vain, or is unknown, gives a back-off with jitter."""
    now, before = w.clock(), w.history.waits_in_a_row
    if outcome is Outcome.LIMITED and result.retry_at and result.retry_at > now:
        return result.retry_at + _AFTER_RESET_S
    steps = _LIMIT_BACKOFF_S if outcome is Outcome.LIMITED else _TROUBLE_BACKOFF_S
    wait = steps[min(before, len(steps) - 1)]
    return now + wait * random.uniform(0.9, 1.1)  # noqa: S311  # spreads retries, guards nothing
