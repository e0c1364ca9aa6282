"""The command line: commands that are imported when called, and the one place that reports errors."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from inspect import cleandoc

import click

from ralphy import __version__
from ralphy.cli.commands import COMMANDS, OTHER_WORDS, help_text
from ralphy.cli.examples import same_as, with_examples
from ralphy.cli.group import Group
from ralphy.cli.output import Output
from ralphy.errors import ExitCode, InvalidInput, NotFound
from ralphy.text.nearest import nearest


class LazyGroup(Group):
    """A group whose commands are imported when they are called: `--help` and `status` stay fast."""

    other_words = OTHER_WORDS

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        if name == self.otherwise:
            from ralphy.cli.status.look import bare

            return bare
        if name not in COMMANDS:
            return None
        module = import_module(f"ralphy.cli.{COMMANDS[name][0]}")
        attribute = name.replace("-", "_")
        command: click.Command = getattr(module, attribute, None) or getattr(module, f"{attribute}_")
        if not command.short_help:
            command.short_help = COMMANDS[same_as(name)][1]
            command.help = "\n\n".join(filter(None, (command.short_help, cleandoc(command.help or ""))))
        return with_examples(command, name)

    def get_help(self, ctx: click.Context) -> str:  # noqa: ARG002
        return help_text()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ralphy")
def cli() -> None:
    """From PRD.md to a pull request, one verified commit per user story."""


def main(argv: list[str] | None = None) -> int:
    """Run the command line and give its exit code; every error is reported here."""
    words = sys.argv[1:] if argv is None else argv
    output = Output.plain(words)
    try:
        code = cli.main(words, prog_name="ralphy", standalone_mode=False)
    except click.exceptions.Abort:
        return ExitCode.INTERRUPTED
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        return output.error(misused(error))
    except OSError as error:
        if _is_folder_gone():
            return output.error(NotFound("the current folder no longer exists", hint="change to an existing folder"))
        from ralphy.files.disk_space import as_problem

        return output.error(as_problem(error) or error)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except SystemExit:  # click ends so when the reader of stdout is gone (| head): no error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.DONE
    except Exception as error:  # Ralphy's own, or a defect, which is reported with what a bug report needs
        return output.error(error)
    return code if isinstance(code, int) else ExitCode.DONE


def misused(error: click.ClickException) -> InvalidInput:
    """Wrong usage as an error of Ralphy's own: invalid input (3), whatever click would return, and what to type."""
    if isinstance(error, click.MissingParameter) and error.param and isinstance(error.param.type, click.Choice):
        is_option = isinstance(error.param, click.Option)
        name = error.param.opts[0] if is_option else error.param.human_readable_name
        typed = [error.ctx.command_path if error.ctx else "ralphy", *([name] if is_option else [])]
        return InvalidInput(f"{name} is missing", hint=f"{' '.join(typed)} {'|'.join(error.param.type.choices)}")
    context = getattr(error, "ctx", None)
    # the bare word has an empty name below it
    hint = f"{context.command_path.rstrip() if context else 'ralphy'} --help"
    message = error.format_message()
    if isinstance(error, click.NoSuchOption):
        near = nearest(error.option_name.lstrip("-"), (one.lstrip("-") for one in error.possibilities or ()))
        message, hint = error.message, f"did you mean --{near}?" if near else hint
    return InvalidInput(f"{message[:1].lower()}{message[1:]}".rstrip("."), hint=hint)


def _is_folder_gone() -> bool:
    try:
        os.getcwd()  # noqa: PTH109 - pathlib is not loaded for `--help`
    except FileNotFoundError:
        return True
    return False
