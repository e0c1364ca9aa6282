"""The command line of the real CLI: every flag it takes, and what it refuses."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from ralphy.errors import InvalidInput
from ralphy.rehearsal import files

# fmt: off
SWITCHES = frozenset({
    "print", "verbose", "dangerously-skip-permissions", "allow-dangerously-skip-permissions",
    "strict-mcp-config", "bare", "safe-mode", "continue", "fork-session", "no-session-persistence",
    "disable-slash-commands", "include-partial-messages", "include-hook-events", "replay-user-messages",
    "exclude-dynamic-system-prompt-sections", "ide", "chrome", "no-chrome", "brief", "version", "help",
    "debug",
})
SINGLE = frozenset({
    "model", "fallback-model", "output-format", "input-format", "session-id", "resume", "setting-sources",
    "settings", "max-turns", "max-budget-usd", "append-system-prompt", "append-system-prompt-file",
    "system-prompt", "system-prompt-file", "permission-mode", "effort", "json-schema", "agent", "agents",
    "name", "plugin-dir", "plugin-url", "debug-file", "permission-prompt-tool",
})
LISTS = frozenset({
    "tools", "allowedTools", "allowed-tools", "disallowedTools", "disallowed-tools", "add-dir",
    "mcp-config", "betas", "file",
})
# fmt: on
SHORT = {
    "-p": "print",
    "-c": "continue",
    "-r": "resume",
    "-n": "name",
    "-v": "version",
    "-h": "help",
    "-d": "debug",
}
CHOICES = {
    "output-format": ("text", "json", "stream-json"),
    "input-format": ("text", "stream-json"),
    "permission-mode": ("acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan"),
    "effort": ("low", "medium", "high", "xhigh", "max"),
}
MODELS = {"opus": "claude-opus-4-8", "sonnet": "claude-sonnet-5", "haiku": "claude-haiku-4-5-20251001"}
UUID = r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
NUMBER = r"\d+(\.\d+)?"


class Flags(NamedTuple):
    """A checked command line: values by the long name of their flag, and the prompt's words."""

    values: dict[str, list[str]]
    prompt: str

    def __contains__(self, name: object) -> bool:
        return name in self.values

    def last(self, name: str, otherwise: str = "") -> str:
        """The value given last, which is the one that counts."""
        return self.values[name][-1] if self.values.get(name) else otherwise

    @property
    def model(self) -> str:
        """The full name of the model, as the real CLI resolves it."""
        name = self.last("model", "claude-opus-4-8[1m]")
        return MODELS.get(name, name)

    @property
    def tools(self) -> list[str]:
        """The tools named with --tools, which takes them with commas or spaces."""
        return [name for text in self.values.get("tools", []) for name in text.replace(",", " ").split()]

    @property
    def permission_mode(self) -> str:
        skips = "dangerously-skip-permissions" in self
        return "bypassPermissions" if skips else self.last("permission-mode", "default")


def read_flags(argv: list[str]) -> Flags:
    """The command line as Flags; InvalidInput with the real CLI's words where it would refuse."""
    values: dict[str, list[str]] = {}
    words: list[str] = []
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--":
            words += rest
            break
        if not word.startswith("-") or word == "-":
            words.append(word)
            continue
        _take(word, rest, values)
    return Flags(values, " ".join(words))


def _take(word: str, rest: list[str], values: dict[str, list[str]]) -> None:
    """Read one flag, and as many of `rest` as are its values."""
    flag, equals, given = word.partition("=")
    name = SHORT.get(flag) or flag.removeprefix("--")
    if not (flag in SHORT or flag.startswith("--")) or name not in SWITCHES | SINGLE | LISTS:
        raise InvalidInput(f"unknown option '{flag}'")
    taken = values.setdefault(name, [])
    if name in SWITCHES:
        return
    if equals:
        taken.append(given)
    elif not rest or (name in LISTS and rest[0].startswith("-")):
        raise InvalidInput(f"option '{flag} <value>' argument missing")
    else:
        taken.append(rest.pop(0))
        while name in LISTS and rest and not rest[0].startswith("-"):
            taken.append(rest.pop(0))


def check_flags(flags: Flags) -> None:
    """InvalidInput for every combination that the real CLI ends with exit 1 and nothing on stdout."""
    for name, choices in CHOICES.items():
        if name in flags and flags.last(name) not in choices:
            allowed = f"Allowed choices are {', '.join(choices)}."
            raise InvalidInput(f"option '--{name}' argument '{flags.last(name)}' is invalid. {allowed}")
    if "print" not in flags:
        raise InvalidInput("The rehearsal agent has no interactive mode", hint="use -p/--print")
    if flags.last("output-format") == "stream-json" and "verbose" not in flags:
        raise InvalidInput("When using --print, --output-format=stream-json requires --verbose")
    if flags.last("input-format") == "stream-json":
        raise InvalidInput("The rehearsal agent takes its prompt as text", where="--input-format")
    if "session-id" in flags and not re.fullmatch(UUID, flags.last("session-id")):
        raise InvalidInput("Invalid session ID. Must be a valid UUID.")
    for name in ("max-turns", "max-budget-usd"):
        if name in flags and not re.fullmatch(NUMBER, flags.last(name)):
            raise InvalidInput(f"option '--{name}' argument '{flags.last(name)}' is invalid.")
    _check_files(flags)


def _check_files(flags: Flags) -> None:
    for name in ("append-system-prompt-file", "system-prompt-file"):
        if name in flags and not files.is_file(flags.last(name)):
            kind = name.removesuffix("-file").replace("-", " ").capitalize()
            raise InvalidInput(f"{kind} file not found: {flags.last(name)}")
    for name in ("settings", "json-schema"):
        text = flags.last(name)
        if text and not _is_object(text) and not (name == "settings" and files.is_file(text)):
            what = f"Settings file not found: {text}" if name == "settings" else "--json-schema is not valid JSON"
            raise InvalidInput(what)
    for text in flags.values.get("mcp-config", ()):
        if not _is_object(text) and not files.is_file(text):
            raise InvalidInput(f"Invalid MCP configuration: MCP config file not found: {text}")


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
