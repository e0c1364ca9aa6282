"""What a command says and where: data on stdout, progress and errors on stderr, JSON when asked for."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TextIO

from ralphy.cli.ci import annotation, is_ci, is_github
from ralphy.cli.footer import Footer, put
from ralphy.cli.terminal import clean, painted, spelled, wants_colour
from ralphy.errors import ExitCode, RalphyError
from ralphy.text.columns import columns_of
from ralphy.text.tone import BAD, tone_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import click

    from ralphy.cli.footer import Row
    from ralphy.secrets.spellings import Values

_NAMES = {
    ExitCode.UNEXPECTED: "unexpected",
    ExitCode.NOT_FOUND: "not_found",
    ExitCode.INVALID: "invalid_input",
    ExitCode.CONFLICT: "conflict",
    ExitCode.ENVIRONMENT: "environment",
}


@dataclass(frozen=True, slots=True)
class Output:
    """The two streams of a command, and how much goes there."""

    as_json: bool = False
    quiet: bool = False
    verbose: bool = False
    progress: bool = True
    color: str = "auto"
    _footer: Footer = field(default_factory=Footer, compare=False)

    @classmethod
    def plain(cls, words: Sequence[str]) -> Output:
        """What holds before the command line is read: for the errors that end it."""
        color = next((after for word, after in pairwise(words) if word == "--color"), "auto")
        color = next((word[8:] for word in words if word.startswith("--color=")), color)
        return cls(as_json="--json" in words, verbose="-v" in words or "--verbose" in words, color=color)

    def data(self, text: str | Sequence[str], value: Any) -> None:
        """The command's result: `value` as one line of JSON, or `text` for people, as lines if they have tones."""
        lines = [text] if isinstance(text, str) else text
        line = _json(value) if self.as_json else "\n".join(self._printed(line, sys.stdout) for line in lines)
        if line:
            sys.stdout.write(line.rstrip("\n") + "\n")
            sys.stdout.flush()

    def answer(self, name: str, text: str | Sequence[str], code: int = ExitCode.DONE, /, **fields: Any) -> int:
        """The result as `data` has it; its JSON is `ralphy/<name>@1` with these fields, `ok` if all is well.

        Gives the exit code.
        """
        self.data(text, {"schema": f"ralphy/{name}@1", "ok": code == ExitCode.DONE, **fields})
        return code

    def verbatim(self, text: str) -> None:
        """A text on stdout whose lines are not to be broken."""
        sys.stdout.write(harmless(text))
        sys.stdout.flush()

    def result(self, text: str) -> None:
        """A sentence on stdout that ends a run; as JSON the run's events have said it."""
        if not self.quiet and not self.as_json:
            put(sys.stdout, f"{self._printed(text, sys.stdout)}\n")

    def event(self, value: Any) -> None:
        """A line of JSON on the way; when nobody reads it any more, the work goes on all the same."""
        put(sys.stdout, _json(value) + "\n")

    def say(self, text: str, tone: str = "") -> None:
        """A line of the log for people: stamped, on stderr."""
        if not self.quiet:
            stamp = f"[{time.strftime('%H:%M:%S')}] "
            self._tell(f"{stamp}{self._printed(text, sys.stderr, len(stamp), tone)}\n")

    def _printed(self, text: str, stream: TextIO, indent: int = 0, tone: str = "") -> str:
        """A text as it goes to a stream: harmless, without secrets, in its colour, broken between words."""
        lines, tone = _wrapped(harmless(text), stream, indent), tone or tone_of(text)
        return painted(lines, tone) if tone and wants_colour(stream, self.color, os.environ) else lines

    def note(self, text: str, tone: str = "") -> None:
        """A line for people without a stamp."""
        if not self.quiet:
            self._tell(f"{self._printed(text, sys.stderr, tone=tone)}\n")

    def insist(self, text: str) -> None:
        """A line of the log that is said however quiet it is to be."""
        self._tell(f"ralphy: {self._printed(text, sys.stderr)}\n") if self.quiet else self.say(text)

    @property
    def is_live(self) -> bool:
        """Is stderr a terminal on which lines may stay below the log?"""
        wanted = self.progress and not self.quiet and not self.as_json and not is_ci(os.environ)
        return wanted and os.environ.get("TERM") != "dumb" and sys.stderr.isatty()

    def stand(self, rows: Sequence[Row]) -> None:
        """Have these rows stay below the log from now on."""
        is_coloured = wants_colour(sys.stderr, self.color, os.environ)
        lines = []
        for row in rows:
            parts = [(spelled(harmless(text), sys.stderr), tone) for text, tone in row]
            width = sum(columns_of(text) for text, _ in parts)
            lines.append(("".join(painted(text, tone) if is_coloured else text for text, tone in parts), width))
        self._footer.show(sys.stderr, lines)

    def typed(self) -> None:
        """A line was typed below them."""
        self._footer.typed()

    def _tell(self, text: str) -> None:
        """Write to stderr, above the lines that stay."""
        self._footer.write(sys.stderr, _without_secrets(text))

    def ring(self) -> None:
        """Ring the terminal's bell."""
        self._tell("\a")

    def error(self, error: RalphyError) -> int:
        """What, where, what to do; gives the exit code."""
        if self.as_json:
            self._json_error(error.exit_code, str(error), error.hint)
        else:
            hint = f"\n  hint: {clean(error.hint)}" if error.hint else ""
            said = _wrapped(f"{clean(str(error))}{hint}", sys.stderr, len("ralphy: "))
            self._tell(f"{self._printed('ralphy:', sys.stderr, tone=BAD)} {said}\n")
        if is_github(os.environ):
            self._tell(f"{annotation('error', clean(error.what), clean(error.where), 'ralphy')}\n")
        return error.exit_code

    def usage_error(self, error: click.ClickException) -> int:
        """Wrong usage is invalid input (3), whatever click would return."""
        if self.as_json:
            self._json_error(ExitCode.INVALID, error.format_message(), "ralphy --help")
        else:
            error.show(sys.stderr)
        return ExitCode.INVALID

    def unexpected(self, error: Exception) -> int:
        """A defect of Ralphy's own; the traceback only with -v."""
        text = f"{type(error).__name__}: {error}"
        if self.as_json:
            self._json_error(ExitCode.UNEXPECTED, text, "run it again with -v and report the output")
            return ExitCode.UNEXPECTED
        sys.stderr.write(f"ralphy: unexpected: {clean(text)}\n  hint: run it again with -v and report the output\n")
        if self.verbose or os.environ.get("RALPHY_LOG") == "debug":
            sys.stderr.write(traceback.format_exc())
        return ExitCode.UNEXPECTED

    def _json_error(self, code: int, message: str, hint: str) -> None:
        self.event({"schema": "ralphy/error@1", "ok": False, "error": error_body(code, message, hint)})


def error_body(code: int, message: str, hint: str) -> dict[str, Any]:
    """An error as scripts read it."""
    return {"code": code, "name": _NAMES.get(code, "error"), "message": message, "hint": hint}


def harmless(text: str) -> str:
    """A text without what a terminal would obey, and without the values of the environment's secrets."""
    return _without_secrets(clean(text))


def without_secrets(line: bytes) -> bytes:
    """A line without the values of the environment's secrets; JSON stays JSON."""
    from ralphy.secrets.known_values import clear_json, without_values

    return clear_json(line, lambda text: without_values(text, _secrets()))


def _wrapped(text: str, stream: TextIO, indent: int = 0) -> str:
    """A text with lines no longer than the terminal that the stream is, broken between words; else as it is.

    `indent` is what stands before it on its first line, and in front of each line that is broken off.
    """
    if not stream.isatty():
        return text
    width = get_terminal_size().columns
    return "\n".join(
        _broken(line, width, 0 if number else indent, indent) for number, line in enumerate(text.split("\n"))
    )


def _broken(line: str, width: int, before: int, indent: int) -> str:
    if before + len(line) <= width:
        return line
    inner = indent or len(line) - len(line.lstrip()) + 2
    rows = wrap(line, width, initial_indent=" " * before, subsequent_indent=" " * inner, break_long_words=False,
                break_on_hyphens=False, drop_whitespace=True)  # fmt: skip
    return "\n".join(rows)[before:]


def _json(value: Any) -> str:
    line = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogateescape")
    return without_secrets(line).decode("utf-8", "replace")  # readers of JSON take nothing else


def _without_secrets(text: str) -> str:
    from ralphy.secrets.known_values import without_values

    data = text.encode("utf-8", "surrogateescape")
    clear = without_values(data, _secrets())
    return text if clear is data else clear.decode("utf-8", "surrogateescape")


@cache
def _secrets() -> Values:
    from ralphy.secrets.known_values import values_of

    return values_of(os.environ)
