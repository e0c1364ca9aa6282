"""The first error in what a check printed: its message, its file and line, and the part of the output that shows it.

Runners print the cause first and a summary last, with a stack between them: a digest of few lines needs both ends.
Where an error's own line has no place, the nearest line with one tells it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

_MOST_OF_A_LINE = 300
_AROUND = 14  # lines in which the place of an error is looked for
_BEFORE, _AFTER = 4, 10  # lines of the output that show it
_SEEN, _MOST_READ = 400_000, 2000  # characters that are looked at: of all, of a line
_FILE = r"[\w@~./\\+-][\w@~./\\ +\[\]-]*\.\w+"


def _p(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


_RAISED = r"(?:[A-Za-z_]\w*\.)*(?:[A-Z]\w*(?:Error|Exception|Interrupt|Exit)|Error)"
# How tools write an error: its `message`, and the `place` where it stands in the same line.
_ERRORS = (
    # pytest: what it marks with an E
    _p(rf"^E {{3,}}(?P<message>(?:assert |Failed: |fixture '|{_RAISED}\b).*)"),
    # TypeScript, plain and pretty; Maven; Kotlin
    _p(rf"^(?P<place>{_FILE}(?:\(\d+,\d+\)|:\d+:\d+))(?::| -) (?P<message>error TS\d+: .*)"),
    _p(r"^\[ERROR\] +(?P<place>\S+\.\w+:\[\d+,\d+\]|[\w.$]+:\d+)(?:->\S+)? (?P<message>.*)"),
    _p(r"^e: (?:file://)?(?P<place>\S+\.kts?:\d+:\d+):? (?P<message>.*)"),
    # compilers and linters: file:line:column: words; make's own mistakes; go's tests
    _p(rf"^(?P<place>{_FILE}:\d+(?::\d+)?): (?P<message>(?!.*\b(?:warning|note):)(?!in |\w*(?:Error|Exception)$"
       r"|\w*Warning\b).+)"),
    _p(r"^(?P<place>[\w./-]*[Mm]akefile[\w.]*:\d+): (?P<message>\*\*\* .*)"),
    _p(r"^\s+(?P<place>[\w./-]+_test\.go:\d+): (?P<message>.+)"),
    _p(r"^(?P<message>panic: .*)"),
    # Rust
    _p(r"^(?P<message>error(?:\[E\d+\])?: (?!could not compile|test failed|aborting|\d+ targets? failed).*)"),
    _p(r"^thread '.*' (?:\(\d+\) )?panicked at (?:(?P<message>'.*'), )?(?P<place>[^\s']+:\d+:\d+):?$"),
    _p(r"^note: (?P<message>test did not panic as expected) at (?P<place>\S+:\d+:\d+)$"),
    # what Python, JavaScript and Java raise; jest's expectations; node's report as TAP, and of a test in words
    _p(rf"^\s*(?:Uncaught |Exception in thread \"\S+\" )?(?P<message>{_RAISED}(?: \[\w+\])?: .*)"),
    _p(rf"^(?P<message>{_RAISED})$"),
    _p(r"^\s+(?P<message>expect\(.*\)\.?.*)$"),
    _p(r"^\s+error: (?:\|-$|(?P<message>'(?!test failed).+))"),
    _p(r"^(?P<message>)test at (?P<place>\S+:\d+:\d+)$"),
    # others that say so
    _p(r"^(?P<message>(?:\S+: )?(?:fatal|fatal error|FATAL|ERROR|Error|error): .+)"),
    _p(r"^(?P<message>.*: (?:No such file or directory|(?:command )?not found|Permission denied))$"),
    _p(r"^(?P<message>make(?:\[\d+\])?: \*\*\* (?!\[).*)"),
)  # fmt: skip
# What Rust prints behind a panic's message, which may be empty.
_AFTER_A_PANIC = ("note: ", "stack backtrace:")
# A line that tells a place: a frame of a stack, a heading, a compiler's arrow.
_PLACE = _p(
    r"^(?:E )?\s*(?:File \"(?P<file>[^\"<>]+)\", line (?P<line>\d+)|(?:at (?:.*[( ])?|❯ |--> |location: ')?"
    r"(?:file://)?(?P<place>[\w@~./\\+\[\]-]+\.[a-z]\w*:\d+(?::\d+)?)\b)"
)
_WEAK = re.compile(r"(?i)\b(?:error|fatal|exception|fail(?:ed|ure)?|cannot|can't|not ok|panic|abort(?:ed)?)\b")
_NO_ERROR = re.compile(r"(?i)\b(?:no|0|without) (?:\w+ )?(?:error|fail|exception)|(?:error|fail\w*)s?[ :=]+0\b")
# A stack's frames that are not the project's own.
_NOISE = re.compile(
    r"^\s*(?:at .*\(?node:|at .*node_modules|<frozen |\?\?\?$|\S*(?:site-packages|/lib/python3[\w.]*|/usr/\S*/src)/"
    r"|File \"(?:<frozen|[^\"]*(?:site-packages|/lib/python3))|\d+: (?:core|std|__rustc)::)"
)


@dataclass(frozen=True, slots=True)
class FirstError:
    """`message` is the error's own line, `place` its file and line ("" if no line has one), `excerpt` the lines of the
    output around it, without frames of foreign code."""

    message: str
    place: str
    excerpt: Sequence[str]

    @property
    def line(self) -> str:
        """Both on one line, as compilers write it."""
        text = f"{self.place}: {self.message}" if self.place and self.place not in self.message else self.message
        return text if len(text) <= _MOST_OF_A_LINE else f"{text[: _MOST_OF_A_LINE - 1]}…"


def first_error(output: str) -> FirstError | None:
    """The first error that a tool names in its output; a line that speaks of failure where none does."""
    lines = _lines(output)
    for at, line in enumerate(lines):
        if match := next(filter(None, (pattern.match(line) for pattern in _ERRORS)), None):
            groups = match.groupdict()
            place, place_at = (groups["place"], at) if groups.get("place") else _nearest_place(lines, at)
            return FirstError((groups["message"] or _next(lines, at)).strip(), place, _excerpt(lines, place_at, at))
    weak = next((at for at, line in enumerate(lines) if _WEAK.search(line) and not _NO_ERROR.search(line)), None)
    return None if weak is None else FirstError(lines[weak].strip(), "", _excerpt(lines, weak, weak))


def _nearest_place(lines: Sequence[str], at: int) -> tuple[str, int]:
    """The file and line that stand nearest to a line of the output, and where they stand; "" and that line if none do.

    As close above as below, the place below counts: a compiler's warning may end right above an error.
    """
    near = range(max(at - _AROUND, 0), min(at + _AROUND, len(lines)))
    for there in sorted(near, key=lambda other: (abs(other - at), -other)):
        match = _PLACE.match(lines[there])
        if match and not _NOISE.match(lines[there]):
            return match["place"] or f"{match['file']}:{match['line']}", there
    return "", at


def _excerpt(lines: Sequence[str], place_at: int, at: int) -> list[str]:
    around = lines[max(min(at - _BEFORE, place_at), 0) : at + _AFTER]
    return [line[:_MOST_OF_A_LINE] for line in around if not _NOISE.match(line)]


def _next(lines: Sequence[str], at: int) -> str:
    """The message below a line that has only a place; that line itself where none stands there."""
    below = takewhile(lambda line: not line.startswith(_AFTER_A_PANIC), lines[at + 1 : at + 5])
    return next((line for line in below if line.strip()), lines[at])


def _lines(output: str) -> list[str]:
    """The lines; of what a TAP reporter passes on, without its mark."""
    lines = [line[:_MOST_READ] for line in output[:_SEEN].splitlines()]
    is_tap = any(line.startswith("TAP version") for line in lines[:5])
    return [line.removeprefix("# ") if is_tap else line for line in lines]
