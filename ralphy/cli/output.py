"""What a command prints and where: data on stdout, progress and errors on stderr, JSON when asked for."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TextIO

from ralphy.cli.ci import annotation, is_ci, is_github
from ralphy.cli.terminal import clean, wants_colour
from ralphy.errors import ExitCode, RalphyError
from ralphy.text.tone import BAD, tone_of

if TYPE_CHECKING:
    from ralphy.cli.drawing import Terminal
    from ralphy.secrets.known_values import Values

_NAMES = {
    ExitCode.UNEXPECTED: "unexpected",
    ExitCode.NOT_FOUND: "not_found",
    ExitCode.INVALID: "invalid_input",
    ExitCode.CONFLICT: "conflict",
    ExitCode.ENVIRONMENT: "environment",
}


@dataclass(frozen=True, slots=True)
class Output:
    """Prints on the two streams of a command, as its options ask."""

    as_json: bool = False
    quiet: bool = False
    verbose: bool = False
    progress: bool = True
    color: str = "auto"
    _terminals: dict[TextIO, Terminal] = field(default_factory=dict, compare=False)

    @classmethod
    def plain(cls, words: Sequence[str]) -> Output:
        """The output before the command line is parsed, for errors of parsing it."""
        color = next((after for word, after in pairwise(words) if word == "--color"), "auto")
        color = next((word[8:] for word in words if word.startswith("--color=")), color)
        return cls(as_json="--json" in words, verbose="-v" in words or "--verbose" in words, color=color)

    def data(self, text: str | Sequence[str], value: Any) -> None:
        """Print the result: `value` as one line of JSON, or `text` for people, as lines if they have tones."""
        if self.as_json:
            sys.stdout.write(f"{_json(value)}\n")
            sys.stdout.flush()
            return
        lines = [text] if isinstance(text, str) else [*text]
        while lines and not lines[-1]:
            lines.pop()
        for line in lines:
            self._write(sys.stdout, line.rstrip("\n"), tone_of(line))

    def answer(self, name: str, text: str | Sequence[str], code: int = ExitCode.DONE, /, **fields: Any) -> int:
        """Print the result as `data` does; its JSON is `ralphy/<name>@1` with `ok` and these fields.

        Gives the exit code.
        """
        self.data(text, {"schema": f"ralphy/{name}@1", "ok": code == ExitCode.DONE, **fields})
        return code

    def exact_answer(self, name: str, text: str, /, **fields: Any) -> int:
        """Print a text without wrapping its lines, or with --json the fields as `answer` does. Gives the exit code."""
        if self.as_json:
            return self.answer(name, "", **fields)
        self.verbatim(text)
        return ExitCode.DONE

    def verbatim(self, text: str) -> None:
        """Print a text on stdout without wrapping its lines."""
        sys.stdout.write(harmless(text))
        sys.stdout.flush()

    def document(self, text: str) -> None:
        """Print Markdown on stdout: drawn on a terminal, else as it is."""
        if not sys.stdout.isatty():
            self.verbatim(text)
            return
        from rich.markdown import Markdown  # a parser that nothing else needs

        self.terminal(sys.stdout).print(Markdown(harmless(text), hyperlinks=False), soft_wrap=False)

    def result(self, text: str) -> None:
        """Print the last sentence of a run on stdout; with --json its events have it."""
        if not self.quiet and not self.as_json:
            with working_on(sys.stdout):
                self._write(sys.stdout, text, tone_of(text))

    def event(self, value: Any) -> None:
        """Print a line of JSON while the command runs."""
        put(sys.stdout, _json(value) + "\n")

    def say(self, text: str, tone: str = "") -> None:
        """Print a line of the log on stderr, with the time."""
        if not self.quiet:
            self._tell(text, tone, time.strftime("[%H:%M:%S] "))

    def note(self, text: str, tone: str = "") -> None:
        """Print a line on stderr, without the time."""
        if not self.quiet:
            self._tell(text, tone)

    def insist(self, text: str) -> None:
        """Print even with --quiet."""
        self._tell(text, label="ralphy: ") if self.quiet else self.say(text)

    @property
    def is_live(self) -> bool:
        """Is stderr a terminal on which lines may stay below the log?"""
        wanted = self.progress and not self.quiet and not self.as_json and not is_ci(os.environ)
        return wanted and os.environ.get("TERM") != "dumb" and sys.stderr.isatty()

    def ring(self) -> None:
        """Ring the terminal's bell."""
        with working_on(sys.stderr):
            self.terminal(sys.stderr).bell()

    def terminal(self, stream: TextIO) -> Terminal:
        """The one console that draws on a stream: the log and the live view below it share it."""
        from ralphy.cli.drawing import Terminal  # rich takes longer to load than `status` takes

        if stream not in self._terminals:
            is_coloured = wants_colour(stream, self.color, os.environ)
            self._terminals[stream] = Terminal(stream, is_coloured=is_coloured)
        return self._terminals[stream]

    def _tell(self, text: str, tone: str = "", label: str = "", label_tone: str = "") -> None:
        with working_on(sys.stderr):
            self._write(sys.stderr, text, tone or tone_of(text), label, label_tone)

    def _write(self, stream: TextIO, text: str, tone: str, label: str = "", label_tone: str = "") -> None:
        """Write a text without secrets and control characters; drawn on a terminal, else as it is."""
        if stream.isatty() or wants_colour(stream, self.color, os.environ):
            self.terminal(stream).write(harmless(text), tone, label, label_tone)
        else:
            stream.write(f"{label}{harmless(text)}\n")
            stream.flush()

    def error(self, error: Exception) -> int:
        """Print what is wrong, where, and what to do; of a defect of Ralphy's own the traceback with -v.

        Gives the exit code.
        """
        body, is_defect = error_body(error), not isinstance(error, RalphyError)
        if self.as_json:
            self.event({"schema": "ralphy/error@1", "ok": False, "error": body})
        else:
            hint = f"\n  hint: {body['hint']}" if body["hint"] else ""
            what = f"unexpected: {body['message']}" if is_defect else body["message"]
            self._tell(f"{what}{hint}", label="ralphy: ", label_tone=BAD)
        if isinstance(error, RalphyError) and is_github(os.environ):
            put(sys.stderr, f"{annotation('error', harmless(error.what), harmless(error.where), 'ralphy')}\n")
        if is_defect and not self.as_json and (self.verbose or os.environ.get("RALPHY_LOG") == "debug"):
            put(sys.stderr, traceback.format_exc())
        return int(body["code"])


def error_body(error: Exception) -> dict[str, Any]:
    """An error as scripts read it; one that is not Ralphy's own is unexpected."""
    if isinstance(error, RalphyError):
        code, message, hint = error.exit_code, str(error), error.hint
    else:
        code, message = ExitCode.UNEXPECTED, f"{type(error).__name__}: {error}"
        hint = "run it again with -v and report the output"
    return {"code": code, "name": _NAMES.get(code, "error"), "message": message, "hint": hint}


def harmless(text: str) -> str:
    """A text with its control characters escaped, without the values of the environment's secrets."""
    return redacted(clean(text))


def without_secrets(line: bytes) -> bytes:
    """A line without the values of the environment's secrets; JSON stays JSON."""
    from ralphy.secrets.known_values import clear_json, without_values

    return clear_json(line, lambda text: without_values(text, _secrets()))


@contextmanager
def working_on(stream: TextIO) -> Iterator[None]:
    """Write to the stream; once its reader is gone (the terminal is closed), drop the rest and go on."""
    try:
        yield
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def put(stream: TextIO, text: str) -> None:
    """Write a text as it is."""
    with working_on(stream):
        stream.write(text)
        stream.flush()


def _json(value: Any) -> str:
    line = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogateescape")
    return without_secrets(line).decode("utf-8", "replace")  # readers of JSON take nothing else


def redacted(text: str) -> str:
    """A text without the values of the environment's secrets."""
    from ralphy.secrets.known_values import without_values

    data = text.encode("utf-8", "surrogateescape")
    clear = without_values(data, _secrets())
    return text if clear is data else clear.decode("utf-8", "surrogateescape")


@cache
def _secrets() -> Values:
    from ralphy.secrets.known_values import values_of

    return values_of(os.environ)
