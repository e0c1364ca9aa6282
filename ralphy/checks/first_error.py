"""The first error in what a check printed: what it says, its file and line, and the part of the output that shows it.

Runners print the cause first and a summary last, with a stack between them: a digest of few lines needs both ends.
Where the place does not stand in the error's own line, it is looked for near by.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_MOST_OF_A_LINE = 300
_AROUND = 14  # lines in which the place of an error is looked for
_BEFORE, _AFTER = 4, 10  # lines of the output that are shown around it
_SEEN, _MOST_READ = 400_000, 2000  # characters that are looked at: of all, of a line
_FILE = r"[\w@~./\\+-][\w@~./\\ +\[\]-]*\.\w+"


def _p(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


_RAISED = r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit)"
# How tools write an error: what is `said`, and the `place` where it stands in the same line.
_ERRORS = (
    # pytest: what it marks with an E
    _p(rf"^E {{3,}}(?P<said>(?:assert |Failed: |fixture '|{_RAISED}\b).*)"),
    # TypeScript, plain and pretty; Maven; Kotlin
    _p(rf"^(?P<place>{_FILE}(?:\(\d+,\d+\)|:\d+:\d+))(?::| -) (?P<said>error TS\d+: .*)"),
    _p(r"^\[ERROR\] +(?P<place>\S+\.\w+:\[\d+,\d+\]|[\w.$]+:\d+)(?:->\S+)? (?P<said>.*)"),
    _p(r"^e: (?:file://)?(?P<place>\S+\.kts?:\d+:\d+):? (?P<said>.*)"),
    # compilers and linters: file:line:column: words; make's own mistakes; go's tests
    _p(rf"^(?P<place>{_FILE}:\d+(?::\d+)?): (?P<said>(?!.*\b(?:warning|note):)(?!in |\w*(?:Error|Exception)$"
       r"|\w*Warning\b).+)"),
    _p(r"^(?P<place>[\w./-]*[Mm]akefile[\w.]*:\d+): (?P<said>\*\*\* .*)"),
    _p(r"^\s+(?P<place>[\w./-]+_test\.go:\d+): (?P<said>.+)"),
    _p(r"^(?P<said>panic: .*)"),
    # Rust
    _p(r"^(?P<said>error(?:\[E\d+\])?: (?!could not compile|test failed|aborting|\d+ targets? failed).*)"),
    _p(r"^thread '.*' (?:\(\d+\) )?panicked at (?:(?P<said>'.*'), )?(?P<place>[^\s']+:\d+:\d+):?$"),
    # what Python, JavaScript and Java raise; jest's expectations; node's report as TAP
    _p(rf"^\s*(?:Uncaught |Exception in thread \"\S+\" )?(?P<said>{_RAISED}(?: \[\w+\])?: .*)"),
    _p(rf"^(?P<said>{_RAISED})$"),
    _p(r"^\s+(?P<said>expect\(.*\)\.?.*)$"),
    _p(r"^\s+error: (?:\|-$|(?P<said>'(?!test failed).+))"),
    # others that say so
    _p(r"^(?P<said>(?:\S+: )?(?:fatal|fatal error|FATAL|ERROR|Error|error): .+)"),
    _p(r"^(?P<said>.*: (?:No such file or directory|(?:command )?not found|Permission denied))$"),
    _p(r"^(?P<said>make(?:\[\d+\])?: \*\*\* (?!\[).*)"),
)  # fmt: skip
# Places near an error: of pytest, node's heading of an uncaught error, a frame of a Python traceback, TAP; then, below
# an error, of pytest, a frame of JavaScript or Java, of Rust, of Go.
_ABOVE = _p(rf"^({_FILE}:\d+): in |^(?:file://)?(\S+\.[mc]?[jt]sx?:\d+)$"
            r"|^(?:E )?\s*File \"([^\"<>]+\", line \d+)|^\s*location: '([^']+)'")  # fmt: skip
_BELOW = _p(rf"^({_FILE}:\d+): (?!in )|^\s*(?:at .*?\(?|❯ )(?:file://)?((?!node:)[^\s()]+\.[mc]?[jt]sx?:\d+:\d+)\)?$"
            r"|^\s*at .*\((\w+\.(?:java|kt|scala|groovy):\d+)\)$|^\s*--> (\S+:\d+:\d+)|^\s+((?!/usr/)\S+\.go:\d+)"
            )  # fmt: skip
_WEAK = re.compile(r"(?i)\b(?:error|fatal|exception|fail(?:ed|ure)?|cannot|can't|not ok|panic|abort(?:ed)?)\b")
_NO_ERROR = re.compile(r"(?i)\b(?:no|0|without) (?:\w+ )?(?:error|fail|exception)|(?:error|fail\w*)s?[ :=]+0\b")
_NOISE = re.compile(
    r"^\s*(?:at .*\(?node:|at .*node_modules|<frozen |\?\?\?$|\S*(?:site-packages|/lib/python3[\w.]*)/"
    r"|File \"(?:<frozen|[^\"]*(?:site-packages|/lib/python3))|\d+: (?:core|std|__rustc)::)"
)


@dataclass(frozen=True, slots=True)
class FirstError:
    """`said` is the error's own line, `place` where it is ("" if nothing tells), `at` the line of the output."""

    said: str
    place: str
    at: int

    @property
    def line(self) -> str:
        """Both on one line, as compilers write it."""
        text = f"{self.place}: {self.said}" if self.place and self.place not in self.said else self.said
        return text if len(text) <= _MOST_OF_A_LINE else f"{text[: _MOST_OF_A_LINE - 1]}…"


def first_error(output: str) -> FirstError | None:
    """The first error that a tool names in its output; a line that speaks of failure where none does."""
    return _first(_lines(output))


def cause_of(output: str) -> list[str]:
    """The lines that show the first error: from its place to what is said of it, without the stack's inner parts."""
    lines = _lines(output)
    found = _first(lines)
    if found is None:
        return []
    begin = max(found.at - _BEFORE, 0)
    if found.place:
        near = range(max(found.at - _AROUND, 0), found.at)
        begin = min([begin, *(at for at in near if found.place in _place_text(lines[at]))])
    shown = lines[begin : found.at + _AFTER]
    return [line[:_MOST_OF_A_LINE] for line in shown if not _NOISE.match(line)]


def _first(lines: Sequence[str]) -> FirstError | None:
    for at, line in enumerate(lines):
        found = next(filter(None, (pattern.match(line) for pattern in _ERRORS)), None)
        if found:
            groups = found.groupdict()
            said = groups.get("said") or _next(lines, at)
            return FirstError(said.strip(), groups.get("place") or _place(lines, at), at)
    weak = next((at for at, line in enumerate(lines) if _WEAK.search(line) and not _NO_ERROR.search(line)), None)
    return None if weak is None else FirstError(lines[weak].strip(), "", weak)


def _place(lines: Sequence[str], at: int) -> str:
    """The nearest place above an error, or else below it; "" if none is near."""
    above, below = lines[max(at - _AROUND, 0) : at], lines[at + 1 : at + _AROUND]
    for pattern, near in ((_ABOVE, reversed(above)), (_BELOW, below)):
        for line in near:
            found = pattern.match(line)
            if found and not _NOISE.match(line):
                return _place_text("".join(filter(None, found.groups())))
    return ""


def _place_text(text: str) -> str:
    """Python's `a.py", line 3` as others write it."""
    return text.replace('", line ', ":")


def _next(lines: Sequence[str], at: int) -> str:
    return next((line for line in lines[at + 1 : at + 5] if line.strip()), lines[at])


def _lines(output: str) -> list[str]:
    """The lines; of what a TAP reporter passes on, without its mark."""
    lines = [line[:_MOST_READ] for line in output[:_SEEN].splitlines()]
    is_tap = any(line.startswith("TAP version") for line in lines[:5])
    return [line.removeprefix("# ") if is_tap else line for line in lines]
