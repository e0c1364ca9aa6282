"""What the agent claims: its RALPH_STATUS block and promise tags, read from its last message alone.

A claim can hold a story back, never pass it. Tool output, quotes and the prompt itself are not
claims: only the final text counts, and of it the last complete block that says anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

_BEGIN, _END = "---RALPH_STATUS---", "---END_RALPH_STATUS---"
_NAMES = ("STATUS", "TASKS_COMPLETED_THIS_LOOP", "FILES_MODIFIED", "TESTS_STATUS", "WORK_TYPE", "EXIT_SIGNAL",
          "RECOMMENDATION")  # fmt: skip
_FIELD = re.compile(r"[-*+ \t]*[`*_]*([A-Za-z_]{6,30}?)[`*_]*[ \t]*:[`*_]*(.*)", re.S)
_PROMISE = re.compile(r"<promise>(STORY_DONE|COMPLETE|FAILED)</promise>")
_MOST_RECOMMENDED = 4000


@dataclass(frozen=True, slots=True)
class Claim:
    """`exit_signal` is None when it was not said; `promise` is "" when there was no tag on a line of its own."""

    has_block: bool = False
    status: str = ""
    exit_signal: bool | None = None
    recommendation: str = ""
    promise: str = ""
    work_type: str = field(default="", compare=False)

    @property
    def holds_back(self) -> str:
        """Why the agent itself says that the work is not done; "" if it does not."""
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
        """A whole report that says so came."""
        return self.has_block and self.exit_signal is True and not self.holds_back

    @property
    def says_satisfied(self) -> bool:
        return "already satisfied" in self.recommendation.lower()

    @property
    def _remark(self) -> str:
        return f": {self.recommendation}" if self.recommendation else ""


def read(text: str) -> Claim:
    """The claim in an agent's last message."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(">")]
    block, rest = _last_block(lines)
    promises = [found.group(1) for line in lines if (found := _PROMISE.fullmatch(line.strip()))]
    status, work_type = (_word(block, name) for name in ("STATUS", "WORK_TYPE"))
    # A signal that stands alone after the block, or where there is none, counts as well; false wins.
    signals = [*map(_signal, block.get("EXIT_SIGNAL", ())), *_signals(rest)]
    return Claim(
        has_block=bool(block),
        status=status,
        exit_signal=False if False in signals else True if True in signals else None,
        recommendation=_recommendation(block),
        promise=promises[-1] if promises else "",
        work_type=work_type,
    )


def _word(block: Mapping[str, Sequence[str]], name: str) -> str:
    found = re.match("[A-Z_]*", " ".join(block.get(name, [])).upper())
    return found.group() if found else ""


def _last_block(lines: Sequence[str]) -> tuple[dict[str, list[str]], Sequence[str]]:
    """(name -> values of the last closed block that says anything, the lines after it or all there are)."""
    found: dict[str, list[str]] = {}
    begin, after = -1, 0
    for number, line in enumerate(lines):
        mark = line.strip(" \t`*#")
        if mark == _BEGIN:
            begin = number
        elif mark == _END and begin >= 0:
            said = _fields(lines[begin + 1 : number])
            if said:
                found, after = said, number + 1
            begin = -1
    return found, lines[after:]


def _fields(lines: Iterable[str]) -> dict[str, list[str]]:
    """What a block says, without the template's own placeholders; RECOMMENDATION may go on for several lines."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in lines:
        field = _FIELD.fullmatch(line)
        if field and field.group(1).upper() in _NAMES:
            name = field.group(1).upper()
            value = field.group(2).strip(" \t`*_")
            if value and not (value.startswith("<") and value.endswith(">")):
                found.setdefault(name, []).append(value)
        elif name == "RECOMMENDATION" and line.strip(" \t`"):
            found.setdefault(name, []).append(line.strip())
    return found


def _recommendation(block: Mapping[str, Sequence[str]]) -> str:
    text = "\n".join(block.get("RECOMMENDATION", ()))[:_MOST_RECOMMENDED]
    return "" if text.lower().rstrip(".") in ("none", "n/a") else text


def _signals(lines: Iterable[str]) -> list[bool | None]:
    """What stands alone on a line outside of code fences."""
    found, is_code = [], False
    for line in lines:
        if line.lstrip().startswith(("```", "~~~")):
            is_code = not is_code
        field = None if is_code else _FIELD.fullmatch(line)
        if field and field.group(1).upper() == "EXIT_SIGNAL":
            found.append(_signal(field.group(2).strip(" \t`*_")))
    return found


def _signal(value: str) -> bool | None:
    """false whatever comes behind it; true only alone."""
    word = re.match("[a-z]*", value.lower())
    if word and word.group() in ("false", "no"):
        return False
    return True if value.lower().rstrip(".! ") in ("true", "yes") else None
