"""A night of twelve stories in three lanes: one landed just now, one failed, three are worked on."""

from __future__ import annotations

from functools import reduce
from typing import Any

from ralphy.agents.usage_windows import Window
from ralphy.cli.run.night import Evidence, Night, after
from ralphy.pipeline import events as e

BEGAN = 1_000_000.0
NOW = BEGAN + 4_330


def decided(completed: int, **more: Any) -> e.Decided:
    told = {"decision": "RunAgent", "phase": "IMPLEMENTATION", "reason": "US-009 is next", "rests": False, **more}
    return e.Decided(feature="login", completed=completed, stories=12, **told)


def begun(number: int, lane: str, ago_s: float, attempt: int = 1, model: str = "sonnet") -> e.RunBegan:
    return e.RunBegan(at=NOW - ago_s, feature="login", story=f"US-{number:03}", lane=lane, run=f"r{number}",
                      step="story", attempt=attempt, mode="fresh", model=model)  # fmt: skip


def does(number: int, activity: str, text: str) -> e.AgentActivity:
    return e.AgentActivity(feature="login", story=f"US-{number:03}", run=f"r{number}", activity=activity, text=text)


def ended(number: int, cost_usd: float, **tokens: int) -> e.RunEnded:
    return e.RunEnded(feature="login", story=f"US-{number:03}", run=f"r{number}", step="story", attempt=1,
                      outcome="succeeded", landed=True, cost_usd=cost_usd, tokens=tokens)  # fmt: skip


A_NIGHT = (
    decided(4),
    begun(5, "1", 900),
    ended(5, 0.0, input=1_234, output=45_678, cache_read=2_150_000, cache_creation=301_000),
    e.StoryFailed(feature="login", story="US-005", reason="red", asked_in="QUESTIONS.md"),
    decided(4, cost_usd=3.12),
    begun(6, "1", 762),
    begun(7, "2", 191, attempt=2, model="opus"),
    begun(8, "3", 9),
    *(does(6, "reading", f"src/part_{n}.py") for n in range(40)),
    does(6, "running", "uv run pytest -q tests/test_export.py::test_the_header_has_all_columns_in_their_order"),
    does(7, "writing", "src/日本語/一覧.py"),
    does(7, "warning", "no output for 60 s; the run ends at 180 s"),
    does(8, "thinking", "Where is the session kept?"),
)
KNOWN = Evidence(budget_usd=20.0, calls_left=37, story_s=(540.0, 1260.0), jobs=3,
                 windows=(Window("five_hour", 0.81, NOW + 7200),), breaker="HALF_OPEN")  # fmt: skip


def the_night() -> Night:
    return reduce(lambda night, event: after(event, night), A_NIGHT, Night(began=BEGAN, evidence=KNOWN))
