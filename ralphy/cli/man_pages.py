"""Manual pages of all commands, in roff, from what click knows of them: one for `ralphy`, one for each command."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ralphy import __version__
from ralphy.cli.commands import COMMANDS
from ralphy.cli.examples import examples_of
from ralphy.cli.options import EVERYWHERE
from ralphy.errors import EXIT_MEANINGS

if TYPE_CHECKING:
    from collections.abc import Mapping

_SIGNS = str.maketrans({"\\": r"\e", "-": r"\-", "`": r"\(ga", "'": r"\(aq", '"': r"\(dq", "~": r"\(ti", "^": r"\(ha"})
_FILES = {
    "docs/features/NAME/": "a feature: PRD.md, SPEC.md, prd.json, and the markers APPROVED, REJECTED and STOP",
    ".ralphy/config.yaml": "settings of the repository",
    "~/.config/ralphy/config.yaml": "your own settings, for every repository",
}
_ABOUT = """\
Ralphy takes a feature from a PRD.md to a pull request. It plans the work as user stories, gives each story to a fresh
run of the Claude Code CLI, runs the project's checks itself, and makes one Git commit per story that passes. You
approve twice: the specification and the review.

FEATURE is a folder in docs/features/, or a path to a folder with a prd.json. You can omit it when only one is open."""


def man_pages(root: click.Group, date: str) -> Mapping[str, str]:
    """The text of every page by the name of its file, such as `ralphy-loop.1`; `date` is YYYY-MM-DD."""
    context = click.Context(root, info_name="ralphy")
    found = {"ralphy.1": _joined(_main_page(root, context), "ralphy", date)}
    for name in COMMANDS:
        command = root.get_command(context, name)
        assert command, name
        page = f"ralphy-{name}"
        found[f"{page}.1"] = _joined(_command_page(command, context, name), page, date)
    return found


def _joined(lines: Iterator[str], page: str, date: str) -> str:
    head = f'.TH "{_text(page.upper())}" "1" "{date}" "ralphy {__version__}" "Ralphy"'
    return "\n".join([head, *lines]) + "\n"


def _main_page(root: click.Group, context: click.Context) -> Iterator[str]:
    yield from (".SH NAME", r"ralphy \- from PRD.md to a pull request, one verified commit per user story")
    yield from (".SH SYNOPSIS", r".B ralphy", r"COMMAND [FEATURE] [options]")
    yield ".SH DESCRIPTION"
    yield from _paragraphs(_ABOUT)
    yield ".SH COMMANDS"
    for name, (_, said) in COMMANDS.items():
        yield from (".TP", rf"\fBralphy {_text(name)}\fR", _line(said))
    yield ".SH OPTIONS OF EVERY COMMAND"
    status = root.get_command(context, "status")
    assert status
    yield from _options(status, is_everywhere=True)
    yield ".SH EXIT STATUS"
    for code, meaning in EXIT_MEANINGS.items():
        yield from (".TP", rf"\fB{int(code)}\fR", _line(meaning))
    yield ".SH FILES"
    for path, said in _FILES.items():
        yield from (".TP", rf"\fI{_text(path)}\fR", _line(said))
    yield ".SH SEE ALSO"
    yield ", ".join(rf"\fBralphy\-{_text(name)}\fR(1)" for name in COMMANDS)


def _command_page(command: click.Command, context: click.Context, name: str) -> Iterator[str]:
    yield from (".SH NAME", rf"ralphy\-{_text(name)} \- {_text(_summary(COMMANDS[name][1]))}")
    inner = command.commands if isinstance(command, click.Group) else {}
    yield ".SH SYNOPSIS"
    yield from _usages(command, context, name)
    yield ".SH DESCRIPTION"
    yield from _paragraphs(command.help or "")
    yield from _own_options(command, ".SH OPTIONS")
    for word, one in inner.items():
        yield f".SH RALPHY {_text(name.upper())} {_text(word.upper())}"
        yield from _paragraphs(one.help or "")
        yield from _own_options(one, ".SS Options")
    if lines := [line for words in (name, *(f"{name} {word}" for word in inner)) for line in examples_of(words)]:
        yield from (".SH EXAMPLES", ".nf", *(_line(line) for line in lines), ".fi")
    yield ".SH SEE ALSO"
    yield r"\fBralphy\fR(1): options of every command, exit status, files"


def _usages(command: click.Command, context: click.Context, name: str) -> Iterator[str]:
    inner = command.commands if isinstance(command, click.Group) else {"": command}
    for number, (word, one) in enumerate(inner.items()):
        words = f"ralphy {name} {word}".rstrip()
        pieces = one.collect_usage_pieces(click.Context(one, info_name=word or name, parent=context))
        yield from ([".br"] if number else [])
        yield rf"\fB{_text(words)}\fR {_text(' '.join(pieces))}"


def _own_options(command: click.Command, heading: str) -> Iterator[str]:
    if lines := list(_options(command, is_everywhere=False)):
        yield heading
        yield from lines


def _options(command: click.Command, *, is_everywhere: bool) -> Iterator[str]:
    """The options that stand on every command, or a command's own ones."""
    for option in command.params:
        if not isinstance(option, click.Option) or (option.opts[0] in EVERYWHERE) is not is_everywhere:
            continue
        names = ", ".join(rf"\fB{_text(name)}\fR" for name in option.opts)
        takes = "" if option.is_flag else rf" \fI{_text(_takes(option))}\fR"
        yield from (".TP", f"{names}{takes}", _line(option.help or ""))


def _takes(option: click.Option) -> str:
    if isinstance(option.type, click.Choice):
        return "|".join(map(str, option.type.choices))
    return option.metavar or (option.type.name.upper() if option.type.name else "VALUE")


def _summary(text: str) -> str:
    """A command's line as `apropos` shows it."""
    return f"{text[:1].lower()}{text[1:]}".rstrip(".")


def _paragraphs(text: str) -> Iterator[str]:
    """Text as click has it: paragraphs, and behind `\\b` one whose lines stay as they are."""
    for number, part in enumerate(re.split(r"\n\s*\n", text.strip())):
        lines = [line.strip() for line in part.splitlines()]
        if number:
            yield ".PP"
        if lines[:1] == ["\b"]:
            yield from (".nf", *(_line(line) for line in lines[1:]), ".fi")
        else:
            yield _line(" ".join(lines))


def _line(text: str) -> str:
    """A line of text; what would be a request of roff is none."""
    return rf"\&{_text(text)}" if text[:1] in (".", "'") else _text(text)


def _text(text: str) -> str:
    r"""Characters that roff reads as something else, as themselves."""
    return text.translate(_SIGNS)
