"""The command line of the real CLI: the flags that it takes, and the errors that it gives."""

from __future__ import annotations

import uuid
from argparse import ArgumentParser, HelpFormatter, Namespace
from functools import partial
from typing import NoReturn

from ralphy.errors import InvalidInput

VERSION = "2.1.197"
USAGE = """\
Usage: ralphy-rehearsal -p [the flags of claude] < PROMPT

Stands where `claude` stands and plays a scenario: RALPHY_REHEARSAL, else .ralphy/rehearsal.yaml,
else a default that works on any repository. Nothing is sent anywhere and nothing is spent.
"""
MODELS = {"opus": "claude-opus-4-8", "sonnet": "claude-sonnet-5", "haiku": "claude-haiku-4-5-20251001"}
FORMATS = ("text", "stream-json")
MODES = ("acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan")
SKIPS = "--dangerously-skip-permissions"
# Accepted and ignored: they make no difference to a rehearsal.
SWITCHES = (
    "allow-dangerously-skip-permissions", "strict-mcp-config", "bare", "safe-mode", "fork-session",
    "no-session-persistence", "disable-slash-commands", "include-partial-messages", "include-hook-events",
    "debug", "continue", "replay-user-messages", "exclude-dynamic-system-prompt-sections", "ide", "chrome",
    "no-chrome", "brief",
)  # fmt: skip
TEXTS = (
    "fallback-model", "setting-sources", "settings", "append-system-prompt", "append-system-prompt-file",
    "system-prompt", "system-prompt-file", "json-schema", "agent", "agents", "name", "plugin-dir", "plugin-url",
    "debug-file", "effort", "permission-prompt-tool",
)  # fmt: skip
LISTS = (
    "allowedTools", "allowed-tools", "disallowedTools", "disallowed-tools", "add-dir", "mcp-config", "betas", "file",
)  # fmt: skip


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """A usage error of the real CLI is exit 1."""
        raise InvalidInput(message)

    def format_help(self) -> str:
        return USAGE


def read_flags(argv: list[str]) -> Namespace:
    """The command line, with the prompt's `words`; InvalidInput where the real CLI would refuse it."""
    flags = _parser().parse_intermixed_args(argv)
    if not flags.print:
        raise InvalidInput("The rehearsal agent has no interactive mode", hint="use -p/--print")
    if flags.output_format == "stream-json" and not flags.verbose:
        raise InvalidInput("When using --print, --output-format=stream-json requires --verbose")
    flags.session_id = str(flags.session_id or flags.resume or uuid.uuid4())
    flags.model = MODELS.get(flags.model, flags.model)
    flags.tools = " ".join(flags.tools).replace(",", " ").split()
    return flags


def _parser() -> ArgumentParser:
    plain = partial(HelpFormatter, width=80)  # for each argument it would ask the terminal for its width, by shutil
    parser = _Parser(prog="ralphy-rehearsal", allow_abbrev=False, formatter_class=plain)
    add = parser.add_argument
    add("words", nargs="*")
    add("-v", "--version", action="version", version=f"{VERSION} (Claude Code rehearsal)")
    add("-p", "--print", action="store_true")
    add("--verbose", action="store_true")
    add(SKIPS, action="store_const", dest="permission_mode", const="bypassPermissions")
    add("--permission-mode", choices=MODES, default="default")
    add("--output-format", choices=FORMATS, default="text")
    add("--input-format", choices=["text"])
    add("--model", default="claude-opus-4-8[1m]")
    add("--tools", nargs="+", default=[])
    add("-r", "--resume")
    add("--session-id", type=uuid.UUID)
    add("--max-turns", type=int)
    add("--max-budget-usd", type=float)
    for name in SWITCHES:
        add(f"--{name}", action="store_true")
    for name in TEXTS:
        add(f"--{name}")
    for name in LISTS:
        add(f"--{name}", nargs="+")
    return parser
