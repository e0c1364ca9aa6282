"""A click group with common options before the command, hints for misspelt commands, and a default command."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import click

from ralphy.errors import InvalidInput
from ralphy.text.nearest import nearest

# Common option -> how many words it takes as its value.
EVERYWHERE = {"-C": 1, "--json": 0, "-q": 0, "--quiet": 0, "-v": 0, "--verbose": 0, "--no-progress": 0, "--color": 1}


class Group(click.Group):
    """A group whose common options may also stand before the command.

    `otherwise` is the command that runs when none is named; with `takes_words`, also for a word that is no command.
    `also` are further words for commands. `other_words` are commands of other tools, each with what to type here. For a
    misspelt command the hint names the nearest.
    """

    other_words: Mapping[str, str] = MappingProxyType({})

    def __init__(
        self, *args: Any, otherwise: str = "", takes_words: bool = False, also: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(*args, **kwargs)
        self.otherwise = otherwise
        self.takes_words = takes_words
        self.also = also or {}

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, self.also.get(cmd_name, cmd_name))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        count = leading(args)
        options, rest = args[:count], args[count:]
        if ctx.resilient_parsing and not rest:  # a shell completes the name of a command
            return super().parse_args(ctx, rest)
        if rest and rest[0].startswith("-"):
            return super().parse_args(ctx, rest)
        if not rest or (self.takes_words and self.get_command(ctx, rest[0]) is None):
            rest = [self.otherwise, *rest]
        return super().parse_args(ctx, [rest[0], *options, *rest[1:]])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.UsageError as error:  # click does not say of each whose usage it is
            if error.ctx is None and (command := self.get_command(ctx, ctx.invoked_subcommand or "")):
                error.ctx = click.Context(command, ctx, ctx.invoked_subcommand)
            raise

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        command = self.get_command(ctx, args[0])
        if command is None and ctx.resilient_parsing:
            return None, None, args
        if command is None:
            words = [*ctx.command_path.split()[1:], args[0]]
            raise InvalidInput(f"there is no command {' '.join(words)!r}", hint=self.hint_for(ctx, args[0]))
        return args[0], command, args[1:]

    def hint_for(self, ctx: click.Context, word: str) -> str:
        """What to type in place of a word that is no command."""
        commands = self.list_commands(ctx)
        near = nearest(word, [*commands, *self.also, *self.other_words])
        near = self.also.get(near, near)
        if near in self.other_words:
            return self.other_words[near]
        if near:
            return f"did you mean {near}?"
        return f"there are: {', '.join(commands)}" if ctx.parent else "ralphy --help"


def leading(args: list[str]) -> int:
    """How many leading words are common options and their values."""
    count = 0
    while count < len(args) and (name := args[count].partition("=")[0]) in EVERYWHERE:
        count += 1 + (EVERYWHERE[name] if name == args[count] else 0)
    return min(count, len(args))
