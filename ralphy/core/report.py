"""What the agent claims: its RALPH_STATUS block and promise tags, read from its last message alone.

A claim can hold a story back, never pass it. Tool output, quotes and the prompt itself are not
claims: only the final text counts, and of it the last complete block.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_BLOCK = re.compile(r"---RALPH_STATUS---\s*\n(.*?)\n\s*---END_RALPH_STATUS---", re.S)
_FIELD = re.compile(r"^[ \t]*([A-Z_]+)[ \t]*:[ \t]*(.*?)[ \t]*$", re.M)
_PROMISE = re.compile(r"^[ \t]*<promise>(STORY_DONE|COMPLETE|FAILED)</promise>[ \t]*$", re.M)


@dataclass(frozen=True, slots=True)
class Claim:
    """`exit_signal` is None when it was not said; `promise` is "" when there was no tag on a line of its own."""

    has_block: bool = False
    status: str = ""
    exit_signal: bool | None = None
    recommendation: str = ""
    promise: str = ""

    @property
    def holds_back(self) -> str:
        """Why the agent itself says that the work is not done; "" if it does not (ruling 5)."""
        if self.exit_signal is False:
            return f"the agent says EXIT_SIGNAL: false{self._remark}"
        if self.status in ("BLOCKED", "FAILED"):
            return f"the agent says STATUS: {self.status}{self._remark}"
        return "the agent says <promise>FAILED</promise>" if self.promise == "FAILED" else ""

    @property
    def asks(self) -> str:
        """The question a person has to answer, or ""."""
        return self.recommendation if self.status == "BLOCKED" else ""

    @property
    def is_complete(self) -> bool:
        """A whole report that says so came (ruling 6)."""
        return self.has_block and self.exit_signal is True and not self.holds_back

    @property
    def says_satisfied(self) -> bool:
        return "already satisfied" in self.recommendation.lower()

    @property
    def _remark(self) -> str:
        return f": {self.recommendation}" if self.recommendation else ""


def read(text: str) -> Claim:
    """The claim in an agent's last message."""
    unquoted = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith(">"))
    promises = _PROMISE.findall(unquoted)
    blocks = _BLOCK.findall(unquoted)
    if not blocks:
        return Claim(promise=promises[-1] if promises else "")
    fields = dict(_FIELD.findall(blocks[-1]))
    signal = {"true": True, "false": False}.get(fields.get("EXIT_SIGNAL", "").lower())
    recommendation = fields.get("RECOMMENDATION", "")
    return Claim(
        has_block=True,
        status=fields.get("STATUS", "").upper(),
        exit_signal=signal,
        recommendation="" if recommendation.lower() in ("", "none", "n/a") else recommendation,
        promise=promises[-1] if promises else "",
    )
