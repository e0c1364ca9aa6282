"""The parts of the dashboard's page as HTML, rendered from a board."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ralphy.cli.dashboard.board import Board
from ralphy.cli.run.panel import short
from ralphy.cli.status.lines import doubts_of
from ralphy.cli.status.moments import seconds_of
from ralphy.documents.report_page import template
from ralphy.text.durations import span
from ralphy.text.tone import OF_STATUS

# The ids of their places in index.html, and the names of their macros.
_PARTS = ("inbox", "head", "needs", "agents", "figures", "stories", "tables")


def parts_of(board: Board) -> dict[str, str]:
    """The HTML of each part, by its id."""
    module = template("dashboard/parts.html.j2").make_module(
        {"money": _money, "span": span, "short": short, "clock": _clock, "flags": _flags, "signs": OF_STATUS}
    )
    empty: Board = {
        "status": {},
        "gate": None,
        "questions": (),
        "waits": (),
        "agents": (),
        "budget": None,
        "report": None,
    }
    return {name: str(getattr(module, name)({**empty, **board})).strip() for name in _PARTS}


def title_of(board: Board) -> str:
    """The title of the page: a mark in front of a feature that needs a person."""
    mark = "(!) " if board.get("gate") or board.get("questions") else ""
    return f"{mark}{board['feature']} · Ralphy" if board["feature"] else "Ralphy"


def _money(usd: float) -> str:
    return f"${usd:.2f}"


def _clock(iso: str) -> str:
    return time.strftime("%H:%M", time.localtime(seconds_of(iso)))


def _flags(row: Mapping[str, Any]) -> list[str]:
    doubts, flagged = doubts_of(row)
    return [*doubts, *([flagged] if flagged else [])]
