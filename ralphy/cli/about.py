"""help, version and completion."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from ralphy import __version__
from ralphy.cli.group import Group
from ralphy.cli.options import Invocation, with_options
from ralphy.errors import NotFound

_VARIABLE = "_RALPHY_COMPLETE"


@click.command("help")
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@with_options
def help_(call: Invocation, words: tuple[str, ...]) -> int:
    context = click.get_current_context().find_root()
    for word in words:
        group = context.command
        subcommand = group.get_command(context, word) if isinstance(group, click.Group) and word else None
        if subcommand is None:
            hint = group.hint_for(context, word) if isinstance(group, Group) else f"{context.command_path} --help"
            raise NotFound(f"there is no command {' '.join(words)!r}", hint=hint)
        context = click.Context(subcommand, info_name=word, parent=context)
    text = context.get_help()
    return call.output.exact_answer("help", f"{text}\n", text=text)


@click.command("version")
@with_options
def version(call: Invocation) -> int:
    return call.output.answer("version", f"ralphy {__version__}", version=__version__)


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@with_options
def completion(call: Invocation, shell: str) -> int:
    """It completes commands, options and features.

    \b
    bash: eval "$(ralphy completion bash)"     in ~/.bashrc
    zsh:  eval "$(ralphy completion zsh)"      in ~/.zshrc
    fish: ralphy completion fish | source      in ~/.config/fish/config.fish
    """
    root = click.get_current_context().find_root()
    kind = get_completion_class(shell)
    assert kind is not None  # click has all three
    text = kind(root.command, {}, "ralphy", _VARIABLE).source()
    return call.output.exact_answer("completion", f"{text}\n", shell=shell, text=text)
