"""help, version and completion: what Ralphy says of itself, and what a shell may offer."""

from __future__ import annotations

import os
import sys
import time

import click

from ralphy import __version__
from ralphy.cli.options import Invocation, with_options
from ralphy.errors import ExitCode, NotFound

_VARIABLE = "_RALPHY_COMPLETE"


@click.command("help")
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.option("--man", "folder", type=click.Path(), metavar="DIR", help="Write manual pages of all commands to DIR.")
@with_options
def help_(call: Invocation, words: tuple[str, ...], folder: str | None) -> int:
    """Show help for Ralphy or a COMMAND."""
    context = click.get_current_context().find_root()
    if folder is not None:
        return _write_manual(call, context, folder)
    for word in words:
        group = context.command
        found = group.get_command(context, word) if isinstance(group, click.Group) and word else None
        if found is None:
            raise NotFound(f"no command {' '.join(words)!r}", hint=_meant(context, word))
        context = click.Context(found, info_name=word, parent=context)
    text = context.get_help()
    if call.output.as_json:
        return call.output.answer("help", "", text=text)
    sys.stdout.write(f"{text}\n")
    return ExitCode.DONE


def _write_manual(call: Invocation, context: click.Context, folder: str) -> int:
    """Pages for `man`; of a release they have its date, by the variable that builds are given for that."""
    from ralphy.cli.man_pages import man_pages
    from ralphy.files.atomic import replace_file

    assert isinstance(context.command, click.Group)
    at = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH") or time.time()))
    pages, place = man_pages(context.command, time.strftime("%Y-%m-%d", at)), call.directory / folder
    place.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        replace_file(place / name, text.encode())
    return call.output.answer("help", f"{len(pages)} manual pages in {folder}: man {folder}/ralphy.1",
                              folder=str(place), pages=list(pages))  # fmt: skip


def _meant(context: click.Context, word: str) -> str:
    from ralphy.text.nearest import nearest

    names = context.command.list_commands(context) if isinstance(context.command, click.Group) else ()
    near = nearest(word, names)
    return f"did you mean {near!r}?" if near else "ralphy help"


@click.command("version")
@with_options
def version(call: Invocation) -> int:
    """Show the version."""
    return call.output.answer("version", f"ralphy {__version__}", version=__version__)


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@with_options
def completion(call: Invocation, shell: str) -> int:
    """Print the script that completes commands, options and features in a SHELL.

    \b
    bash: eval "$(ralphy completion bash)"     in ~/.bashrc
    zsh:  eval "$(ralphy completion zsh)"      in ~/.zshrc
    fish: ralphy completion fish | source      in ~/.config/fish/config.fish
    """
    from click.shell_completion import get_completion_class

    root = click.get_current_context().find_root()
    kind = get_completion_class(shell)
    assert kind is not None  # click has all three
    text = kind(root.command, {}, "ralphy", _VARIABLE).source()
    if call.output.as_json:
        return call.output.answer("completion", "", shell=shell, text=text)
    sys.stdout.write(f"{text}\n")
    return ExitCode.DONE
