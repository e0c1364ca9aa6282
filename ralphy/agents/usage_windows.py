"""The provider's usage windows (five hours, seven days): how much of each is used, and which deserve a warning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ralphy.text.json_coerce import mapping_of, moment_of, number_of, text_of
from ralphy.text.plain_text import without_controls

WORTH_A_WARNING = 0.75  # the used share of a window, unless the provider has a threshold of its own
_MOST = 8
_NAME_CHARS = 40


@dataclass(frozen=True, slots=True)
class Window:
    """`used` is 0 to 1, `resets_at` epoch seconds, None if unknown; `is_warned` means that the provider warns."""

    kind: str
    used: float | None
    resets_at: float | None
    is_warned: bool = False

    @property
    def is_worth_a_warning(self) -> bool:
        return self.is_warned or (self.used or 0.0) >= WORTH_A_WARNING


def read_windows(info: Mapping[str, Any]) -> tuple[Window, ...]:
    """The windows in a `rate_limit_info`, without those that have no number."""
    listed = [(str(kind), mapping_of(value)) for kind, value in mapping_of(info.get("unifiedWindows")).items()]
    return tuple(
        Window(
            without_controls(kind)[:_NAME_CHARS],
            used,
            moment_of(window.get("resetsAt")),
            "surpassedThreshold" in window,
        )
        for kind, window in listed[:_MOST]
        if (used := number_of(window.get("utilization"))) is not None
    )


def noted_windows(limit: Mapping[str, Any], now: float) -> Iterator[Window]:
    """The windows of the journal's `limit` that have not been reset since.

    Older versions of Claude Code give only the window that they warn of, no list.
    """
    listed = limit.get("windows")
    rows = [mapping_of(row) for row in listed] if isinstance(listed, list | tuple) else []
    if not rows and limit.get("status") == "allowed_warning":
        rows = [{**limit, "used": limit.get("utilization"), "is_warned": True}]
    for row in rows:
        resets_at = moment_of(row.get("resets_at"))
        if resets_at is None or resets_at > now:
            kind = text_of(row.get("kind")) or "unknown"
            yield Window(kind, number_of(row.get("used")), resets_at, row.get("is_warned") is True)
