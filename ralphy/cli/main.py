"""The command line: lazy commands, options that stand everywhere, and the one place where errors end."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import click

from ralphy import __version__
from ralphy.cli.options import Group
from ralphy.cli.output import Output
from ralphy.core.errors import ExitCode, RalphyError

# command -> (module below ralphy.cli, help shown without importing it)
COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("setup", "Set a repository up for Ralphy; overwrites nothing."),
    "demo": ("demo", "See the whole pipeline at work on a toy repository."),
    "doctor": ("doctor", "Say what is missing for a night, and how to mend it."),
    "detect": ("setup", "Show the stack and the checks that are found here."),
    "init-prompts": ("setup", "Copy the prompts into the repository, to change them."),
    "validate": ("validity", "Check prd.json, config.yaml or a draft of stories."),
    "start": ("run", "Run one feature in the foreground and ask at gates."),
    "loop": ("run", "Run one feature to a gate, a halt or the end; never asks."),
    "watch": ("run", "Watch all features: wait at gates, go on when files appear."),
    "why": ("look", "Say what comes next, and why."),
    "status": ("look", "Show where a feature stands."),
    "approve": ("gates", "Approve what waits at a gate."),
    "reject": ("gates", "Reject what waits at a gate, with remarks for its agent."),
    "abort": ("gates", "End the run that is going on, at once."),
    "redo": ("gates", "Make a step (spec, qa, pr) or a story again."),
    "reset": ("gates", "Forget failed attempts, so that stories are tried again."),
    "logs": ("records", "Show what the agents did."),
    "attempts": ("records", "Look at the attempts that were kept, or take one up again."),
    "story": ("stories", "List the stories, or add, start, complete, fail and reset one."),
    "tasks": ("stories", "The same as story."),
}


class LazyGroup(Group):
    """A group whose commands are imported when they are called: `--help` and `status` stay fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        if name == self.otherwise:
            from ralphy.cli.look import bare

            return bare
        if name not in COMMANDS:
            return None
        module = import_module(f"ralphy.cli.{COMMANDS[name][0]}")
        found: click.Command = getattr(module, name.replace("-", "_"))
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ralphy")
def cli() -> None:
    """From PRD.md to a pull request, one verified commit per user story.

    FEATURE is a folder of docs/features/ (or a path to a folder with a prd.json); it may be left out when there
    is just one. Exit codes: 0 done, 2 not found, 3 invalid input, 4 conflict, 5 environment, 10 waiting for a
    person, 11 failed or blocked stories, 13 budget reached, 130 interrupted.
    """


def main(argv: list[str] | None = None) -> int:
    """Run the command line and give its exit code; every error ends here."""
    words = sys.argv[1:] if argv is None else argv
    output = Output.plain(as_json="--json" in words, verbose="-v" in words or "--verbose" in words)
    try:
        code = cli.main(words, prog_name="ralphy", standalone_mode=False)
    except click.exceptions.Abort:
        return ExitCode.INTERRUPTED
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        return output.usage_error(error)
    except RalphyError as error:
        return output.error(error)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.DONE
    except Exception as error:  # the boundary: a defect of ours is said as one, with what a report needs
        return output.unexpected(error)
    return _exit_code(code)


def _exit_code(code: Any) -> int:
    return code if isinstance(code, int) else ExitCode.DONE
