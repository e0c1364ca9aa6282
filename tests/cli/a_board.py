"""The board of a night of twelve stories in three lanes, and of the gate at its end, as a dashboard gets it."""

from __future__ import annotations

import json
import time
from typing import Any

from ralphy.cli.dashboard.board import Board
from ralphy.cli.status.inbox import SECTIONS
from ralphy.documents.report_text import tables_of
from tests.cli.a_night import the_morning

BEGAN = 1_795_390_200.0
NOW = BEGAN + 4_330
_TITLES = ("Store accounts", "Create an account", "Sign in with a password", "Lock an account", "Unlock by e-mail",
           "Sign out", "Show when an account was used", "Remember a device", "Change the password", "Delete an account",
           "Export what is stored", "Write the manual")  # fmt: skip
_AFTER = {2: (1,), 3: (2,), 4: (3,), 5: (4,), 6: (3,), 7: (3,), 8: (6,), 9: (3,), 10: (2,), 11: (7, 10), 12: (8, 9, 11)}
_STATES = {1: "completed", 2: "completed", 3: "completed", 4: "completed", 5: "failed", 6: "in_progress",
           7: "in_progress", 10: "in_progress", 9: "pending"}  # fmt: skip


def _id(number: int) -> str:
    return f"US-{number:03}"


def _story(number: int, state: str) -> dict[str, Any]:
    row: dict[str, Any] = {"id": _id(number), "title": _TITLES[number - 1], "status": state, "attempts": 0,
                           "passes": state == "completed", "priority": number}  # fmt: skip
    if number in _AFTER:
        row["depends_on"] = [_id(one) for one in _AFTER[number]]
    if state not in ("pending", "blocked"):
        row["attempts"] = {5: 5, 2: 2, 7: 2}.get(number, 1)
    if number == 4 and state == "completed":
        row["warnings"] = 1
    if number == 5:
        row["last_error"] = "the check test fails: tests/test_unlock.py::test_the_link_expires"
    return row


def _feature(name: str, section: str, done: int, of: int, said: str) -> dict[str, Any]:
    phase = {"needs_you": "AWAITING_SPEC_VALIDATION", "done": "COMPLETED"}.get(section, "IMPLEMENTATION")
    return {"feature": name, "section": section, "phase": phase, "tasks_completed": done, "tasks_total": of,
            "next": said, "title": SECTIONS[section][0], "waiting_until": None, "cost_usd": 0.0,
            "command": f"ralphy status {name}"}  # fmt: skip


def _agent(number: int, lane: str, began: float, calls: int, doing: str, **more: Any) -> dict[str, Any]:
    return {"run": f"r{number}", "subject": _id(number), "attempt": 1, "model": "sonnet", "lane": lane,
            "began": BEGAN + began, "doing": doing, "calls": calls, "warned": "", **more}  # fmt: skip


def a_board() -> Board:
    """The night at work."""
    rows = [_story(number, _STATES.get(number, "blocked")) for number in range(1, 13)]
    features = [
        _feature("csv-export", "needs_you", 0, 5, "SPEC.md is ready for review"),
        _feature("login", "working", 4, 12, "US-006, US-007, US-010 in progress"),
        _feature("farewell", "ready", 0, 0, "PRD.md exists, SPEC.md is missing"),
        _feature("search", "done", 9, 9, "the pull request is open"),
    ]
    status = {
        "feature": "login", "phase": "IMPLEMENTATION", "status": "running", "tasks_completed": 4, "tasks_total": 12,
        "next": "US-006, US-007, US-010 in progress", "running": {"pid": 4711, "purpose": "feature login"},
        "circuit_breaker": {"state": "HALF_OPEN", "attempts": 2, "last_trigger": "same error"}, "stories": rows,
        "forecast": {"stories_left": 7, "seconds": 2400, "cost_usd": 4.9}, "watchdog": None, "rehearsed": False,
        "tokens": {"input": 1_234, "output": 45_678, "cache_read": 2_150_000, "cache_creation": 301_000},
        "usage_windows": [{"kind": "five_hour", "used": 0.81, "resets_at": "2026-11-23T05:00:00Z"}],
    }  # fmt: skip
    return {
        "schema": "ralphy/dashboard@1", "ok": True, "at": NOW, "feature": "login", "features": features,
        "status": status, "agents": [
            _agent(6, "1", 3568, 41, "running: uv run pytest -q tests/test_sign_out.py::test_the_session_ends"),
            _agent(7, "2", 4139, 17, "writing: src/日本語/一覧.py", attempt=2, model="opus",
                   warned="no output for 60 s; the run ends at 180 s"),
            _agent(10, "3", 4321, 2, "thinking: Where is the session kept?"),
        ],
        "waits": [], "gate": None,
        "questions": [{"key": "US-005", "title": _TITLES[4], "question": "Which address sends the link? There is none "
                       "in the settings, and SPEC.md names none."}],
        "budget": {"cost_usd": 3.12, "max_cost_usd": 20.0, "calls_left": 37, "runs": 14, "max_runs": 50},
        "report": json.loads(json.dumps(tables_of(the_morning(), lambda at: time.strftime("%H:%M", time.gmtime(at))))),
        "jobs": 3, "next_command": "ralphy loop login",
    }  # fmt: skip


def at_the_gate() -> Board:
    """The same feature the next morning: the review waits."""
    board = a_board()
    gate = {"gate": "qa", "document": "QA_REPORT.md", "documents": ["QA_REPORT.md", "TASKS.md"], "has_changes": True,
            "seen": "1", "notes": ["1 of 12 stories failed: US-005"]}  # fmt: skip
    rows = [_story(number, "failed" if number == 5 else "completed") for number in range(1, 13)]
    status = {**board["status"], "phase": "AWAITING_QA_VALIDATION", "tasks_completed": 11, "stories": rows,
              "running": None, "status": "waiting", "next": "QA_REPORT.md is ready for review", "forecast": None,
              "circuit_breaker": {"state": "CLOSED", "attempts": 0, "last_trigger": None}}  # fmt: skip
    return {**board, "status": status, "agents": [], "gate": gate, "questions": [], "waits": []}
