"""A group of commands: what stands before its command, what is meant by a misspelt one, and which runs without any."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from ralphy.text.nearest import nearest

# Options that stand on every command -> how many words they take after themselves.
EVERYWHERE = {"-C": 1, "--json": 0, "-q": 0, "--quiet": 0, "-v": 0, "--verbose": 0, "--no-progress": 0, "--color": 1}


class Group(click.Group):
    """Commands below a word: options that stand everywhere may stand before the command too.

    `otherwise` is the command that is run when none is named, `also` are further words for commands; of a misspelt one
    the nearest is suggested.
    """

    def __init__(self, *args: Any, otherwise: str = "", also: Mapping[str, str] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.otherwise = otherwise
        self.also = also or {}

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, self.also.get(cmd_name, cmd_name))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        count = leading(args)
        options, rest = args[:count], args[count:]
        if ctx.resilient_parsing and not rest:  # a shell asks for the commands that there are
            return super().parse_args(ctx, rest)
        if rest and rest[0].startswith("-"):
            return super().parse_args(ctx, rest)
        return super().parse_args(ctx, [*(rest[:1] or [self.otherwise]), *options, *rest[1:]])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        command = self.get_command(ctx, args[0])
        if command is None and ctx.resilient_parsing:
            return None, None, args
        if command is None:
            instead = self.instead_of(args[0])
            near = "" if instead else nearest(args[0], self.list_commands(ctx))
            meant = f" Did you mean {near!r}?" if near else f" Did you mean: {instead}?" if instead else ""
            if not meant and ctx.parent:
                meant = f" There are: {', '.join(self.list_commands(ctx))}."
            ctx.fail(f"No such command {args[0]!r}.{meant}")
        return args[0], command, args[1:]

    def instead_of(self, word: str) -> str:  # noqa: ARG002  # a group may know words of other tools
        """What to type instead of a word that is not a command and is spelt like none; "" where that is not known."""
        return ""


def leading(args: list[str]) -> int:
    """How many words at the beginning are options that stand everywhere."""
    count = 0
    while count < len(args) and (name := args[count].partition("=")[0]) in EVERYWHERE:
        count += 1 + (EVERYWHERE[name] if name == args[count] else 0)
    return min(count, len(args))
