"""What the agent claims: its RALPH_STATUS block and promise tags, read from its last message alone.

A claim can hold a story back, never pass it; without an exit signal the text itself must sound done. Tool output,
quotes and the prompt are not claims: only the final text counts, and of it the last complete block with a field.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from ralphy.agents.prose import closing_question, signs_of, unfinished_words
from ralphy.text.json_coerce import mapping_of
from ralphy.text.markdown import outside_fences

_BEGIN, _END = "---RALPH_STATUS---", "---END_RALPH_STATUS---"
_NAMES = ("STATUS", "TASKS_COMPLETED_THIS_LOOP", "FILES_MODIFIED", "TESTS_STATUS", "WORK_TYPE", "EXIT_SIGNAL",
          "RECOMMENDATION")  # fmt: skip
_FIELD = re.compile(r"([^:=\uff1a]{6,60})[:=\uff1a](.*)", re.S)  # bounded: a line of a megabyte is not a field
_NAME = re.compile(r"[^A-Za-z{]*([A-Za-z_]{6,30}?)[^A-Za-z]*")
_PROMISE = re.compile(r"<promise>(STORY_DONE|COMPLETE|FAILED)</promise>")
_FENCED = re.compile(r"\s*(?:```|~~~)\w*\n(.*)\n[ \t]*(?:```|~~~)\s*", re.S)
_MARK = r"^[ \t`*#]*{}[ \t`*#]*$"
_REPORT = re.compile(
    rf"{_MARK.format(_BEGIN)}.*?(?:{_MARK.format(_END)}|\Z)|^[ \t]*{_PROMISE.pattern}[ \t]*$", re.M | re.S
)
_EMPTY_FENCE = re.compile(r"^[ \t]*(?:```|~~~)\w*\s*(?:```|~~~)[ \t]*$", re.M)
_HELD = ("BLOCKED", "FAILED")
_SIGNS = {"STATUS": ("COMPLETE", "done"), "TESTS_STATUS": ("PASSING", "tests pass")}
ENOUGH_SIGNS = 2
FINISH = "finish the work and report"  # feedback to the next run when this one did not
_MOST_RECOMMENDED = 4000
_DECORATION = " \t`*_\"'.,!"  # of a word in Markdown or a sentence


@dataclass(frozen=True, slots=True)
class Claim:
    """`exit_signal` is None when it is missing; `promise` is "" when there was no tag on a line of its own.

    `question` is the one at the end of a message that has no report. `signs` are the kinds of words and fields that say
    that the work is done, `unfinished` the words that say the contrary.
    """

    has_block: bool = False
    status: str = ""
    exit_signal: bool | None = None
    recommendation: str = ""
    promise: str = ""
    question: str = ""
    work_type: str = field(default="", compare=False)
    signs: Collection[str] = field(default=(), compare=False)
    unfinished: Collection[str] = field(default=(), compare=False)

    @property
    def holds_back(self) -> str:
        """Why the agent itself says that the work is not done; "" if it does not."""
        if self.exit_signal is False:
            return f"the agent says EXIT_SIGNAL: false{self._remark}"
        if self.status in _HELD:
            return f"the agent says STATUS: {self.status}{self._remark}"
        if self.question:
            return f"the agent ends with a question: {self.question}"
        return "the agent says <promise>FAILED</promise>" if self.promise == "FAILED" else ""

    @property
    def asks(self) -> str:
        """The question a person has to answer, or ""."""
        return self.recommendation if self.status == "BLOCKED" else self.question

    @property
    def is_complete(self) -> bool:
        """The report is whole and says that the work is done."""
        return self.has_block and self.exit_signal is True and not self.holds_back

    @property
    def leaves_open(self) -> str:
        """Why it is unclear whether the agent is done: no exit signal, and its text does not sound done; else ""."""
        if self.exit_signal is not None or (len(self.signs) >= ENOUGH_SIGNS and not self.unfinished):
            return ""
        words = ", ".join(list(self.unfinished)[:5])
        sounds = f"speaks of unfinished work ({words})" if words else "does not say that the work is done"
        return f"EXIT_SIGNAL is missing, and the agent's text {sounds}"

    @property
    def confidence(self) -> float:
        """How sure it is, 0 to 1, that the agent means to be done: by its exit signal, else by its text."""
        if self.holds_back or self.leaves_open:
            return 0.0
        return 1.0 if self.is_complete else 0.9 if self.exit_signal else min(0.8, 0.5 + len(self.signs) / 10)

    @property
    def says_satisfied(self) -> bool:
        return "already satisfied" in self.recommendation.lower()

    @property
    def _remark(self) -> str:
        return f": {self.recommendation}" if self.recommendation else ""


def read(text: str) -> Claim:
    """The claim in an agent's last message: a JSON object if it is one, else the text."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(">")]
    block, rest = _last_block(lines)
    for name, value in _json_fields(text).items():
        block.setdefault(name, []).append(value)
    promises = [tag[1] for line in lines if (tag := _PROMISE.fullmatch(line.strip()))]
    # A signal that stands alone after the block, or where there is none, counts as well; false wins.
    signals = [*map(_signal, block.get("EXIT_SIGNAL", ())), *_signals(rest)]
    is_silent = not block and not promises and all(signal is None for signal in signals)
    status, recommendation = _status(block), _recommendation(block)
    prose = f"{_prose(text, lines)}\n{recommendation}"
    return Claim(
        has_block=bool(block),
        status=status,
        exit_signal=False if False in signals else True if True in signals else None,
        recommendation=recommendation,
        promise=promises[-1] if promises else "",
        question=closing_question(_outside_code(lines)) if is_silent else "",
        work_type=_word(block.get("WORK_TYPE", ())),
        signs={*signs_of(prose), *_signs(block), *("promise" for promise in promises if promise != "FAILED")},
        unfinished=[*unfinished_words(prose), *_unfinished(block)],
    )


def without_report(text: str) -> str:
    """A message for people, without what is meant for Ralphy."""
    if _BEGIN not in text and "<promise>" not in text:
        return text
    return _EMPTY_FENCE.sub("", _REPORT.sub("", text))


def _prose(text: str, lines: Sequence[str]) -> str:
    """The text beside the report; "" for a message that is data."""
    return "" if text.lstrip().startswith(("{", "[")) else without_report("\n".join(_outside_code(lines)))


def _signs(block: Mapping[str, Sequence[str]]) -> Iterator[str]:
    return (kind for name, (word, kind) in _SIGNS.items() if _word(block.get(name, ())) == word)


def _unfinished(block: Mapping[str, Sequence[str]]) -> Iterator[str]:
    words = ((name, _word(block.get(name, ()))) for name in _SIGNS)
    return (f"{name}: {word}" for name, word in words if word not in ("", _SIGNS[name][0], "NOT_RUN"))


def _json_fields(text: str) -> dict[str, str]:
    """The report's fields in a message that is a JSON object, bare or in a code fence, in any case.

    Malformed JSON is text like any other.
    """
    fenced = _FENCED.fullmatch(text)
    try:
        message = mapping_of(orjson.loads(fenced[1] if fenced else text))
    except ValueError:
        return {}
    fields = {str(name).upper(): value for name, value in (mapping_of(message.get("RALPH_STATUS")) or message).items()}
    return {name: str(fields[name]).strip() for name in _NAMES if isinstance(fields.get(name), (str, bool, int))}


def _status(block: Mapping[str, Sequence[str]]) -> str:
    """Of several words, one that holds back counts."""
    words = [_word([value]) for value in block.get("STATUS", ())]
    return next((word for word in words if word in _HELD), words[-1] if words else "")


def _word(values: Sequence[str]) -> str:
    word = re.search("[A-Z][A-Z_]*", " ".join(values).upper())
    return word.group() if word else ""


def _last_block(lines: Sequence[str]) -> tuple[dict[str, list[str]], Sequence[str]]:
    """(name -> values of the last closed block that has a field, the lines after it or all there are)."""
    block: dict[str, list[str]] = {}
    begin, after = -1, 0
    for number, line in enumerate(lines):
        mark = line.strip(" \t`*#")
        if mark == _BEGIN:
            begin = number
        elif mark == _END and begin >= 0:
            fields = _fields(lines[begin + 1 : number])
            if fields:
                block, after = fields, number + 1
            begin = -1
    return block, lines[after:]


def _fields(lines: Iterable[str]) -> dict[str, list[str]]:
    """Name -> values of a block, without the template's own placeholders; RECOMMENDATION may have several lines."""
    fields: dict[str, list[str]] = {}
    name = ""
    for line in lines:
        field = _field(line)
        if field:
            name, value = field
            if value and not (value.startswith("<") and value.endswith(">")):
                fields.setdefault(name, []).append(value)
        elif name == "RECOMMENDATION" and line.strip(" \t`"):
            fields.setdefault(name, []).append(line.strip())
    return fields


def _field(line: str) -> tuple[str, str] | None:
    """(name, value) of a line that names a field, in any form: of a list, in bold, as JSON, with "="."""
    parts = _FIELD.fullmatch(line)
    name = _NAME.fullmatch(parts[1]) if parts else None
    if not parts or not name or name[1].upper() not in _NAMES:
        return None
    return name[1].upper(), parts[2].strip(" \t`*_")


def _recommendation(block: Mapping[str, Sequence[str]]) -> str:
    values = (one for one in block.get("RECOMMENDATION", ()) if one.lower().rstrip(".") not in ("none", "n/a"))
    return "\n".join(values)[:_MOST_RECOMMENDED]


def _signals(lines: Iterable[str]) -> list[bool | None]:
    """The exit signals on lines of their own, outside of code fences."""
    fields = (_field(line) for line in _outside_code(lines))
    return [_signal(field[1]) for field in fields if field and field[0] == "EXIT_SIGNAL"]


def _outside_code(lines: Iterable[str]) -> list[str]:
    return [line for _, line in outside_fences(lines)]


def _signal(value: str) -> bool | None:
    """False if the first word is false or no, whatever follows; True only if the value is nothing but true or yes."""
    text = value.lower().strip(_DECORATION)
    word = re.search("[a-z]+", text)
    if word and word.group() in ("false", "no"):
        return False
    return True if text in ("true", "yes") else None
