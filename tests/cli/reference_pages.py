"""The reference pages of docs/reference/, written from the code so that they cannot say anything else.

`python -m tests.cli.reference_pages docs/reference` writes them all.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from ralphy.cli.examples import examples_of
from ralphy.errors import EXIT_MEANINGS
from ralphy.resources import example, schema

_CONFIG_INTRO = """\
# Configuration

<!-- Generated from schemas/config.schema.json by `make docs`. -->

Every setting is optional. For each setting, the first place that sets it wins; a list replaces the whole list:

1. flags on the command line
2. environment variables `RALPHY_<SECTION>_<KEY>`, such as `RALPHY_LIMITS_MAX_ATTEMPTS=3`; separate the
   items of a list with commas (`agent.command`: like a shell command). There is none for `checks`.
3. `.ralphy/config.yaml` in the feature's folder
4. `.ralphy/config.yaml` in the repository
5. `$XDG_CONFIG_HOME/ralphy/config.yaml` (or `~/.config/ralphy/config.yaml`)
6. the defaults below

Some settings protect you: `safety`, `gates`, `verify`, `git.hooks`, `git.sign`, `agent.command`, `agent.preset`,
`agent.env`, `setup`. A feature can tighten but not loosen them. The repository cannot loosen your own file (5). If your
file does not set them, looser values count once accepted with `ralphy trust`, or if nothing came from elsewhere
([why](../decisions/008-settings-may-only-tighten.md)). A budget in dollars (`limits.max_cost_*`) can only be lowered
from 5 to 4 to 3. Programs (`agent.*`, `setup`) may differ from your own file if the repository is yours.

`ralphy config show --origin` lists what is in force, and where each value comes from. `ralphy config set KEY VALUE`
changes one setting in 4; `ralphy validate` checks all places.

A duration is a number of seconds, or has units: `90s`, `30m`, `4h`, `1h30m`, `2d`.

A value that does not fit, or an unknown key, is an error (exit code 3). All mistakes of a file are listed, one line
each, with the file, the line and the closest known key. The files are plain YAML 1.2: no aliases, tags or duplicate
keys, at most 256 KB.
"""
_EXIT_INTRO = """\
# Exit codes

<!-- Generated from ralphy/errors.py by `make docs`. -->

Every `ralphy` command returns one of these codes. Scripts and Make can rely on them.
"""
_CLI_INTRO = """\
# Commands

<!-- Generated from the command line by `make docs`. -->

    ralphy COMMAND [FEATURE] [options]

FEATURE is a folder in `docs/features/`, or the path of any folder with a prd.json. You can omit it when only one
feature is open. STORY is a story's id, or feature/id. Data goes to stdout; progress, questions and errors go to
stderr. Without a terminal Ralphy never asks.

With `--json` every command prints one object with a `schema` (`clarify`, `decompose`, `logs`, `loop`, `start` and
`watch`: one object per line). Errors are objects on stdout too:

    {"schema": "ralphy/error@1", "ok": false, "error": {"code": 2, "name": "not_found", "message": "…", "hint": "…"}}

`ralphy` alone shows all features, or how to start. Exit codes: [exit-codes.md](exit-codes.md).
"""
_PRD_INTRO = """\
# prd.json

<!-- Generated from schemas/prd.schema.json by `make docs`. -->

`prd.json` holds the stories of one feature and their status. You can edit it at any time. Ralphy checks it whenever
it reads it, and keeps unknown fields. A duplicate key or id, a wrong type, or a missing or circular dependency is an
error (exit code 3): the message has the file, the line and the field, and Ralphy changes nothing.
"""
_EVENTS_INTRO = """\
# Events

<!-- Generated from schemas/events.schema.json by `make docs`. -->

With `--json`, `ralphy loop`, `start` and `watch` print one event per line on stdout, and an error (`ralphy/error@1`,
see [cli.md](cli.md)) if they cannot go on. The log on stderr says the same in sentences. Why it is built like this:
[decision 014](../decisions/014-events.md).

Each line has all fields of its kind; `null`, `""` or `[]` means that there is nothing. Later versions may add kinds and
fields: read the kinds that you know, and ignore the others.

    ralphy loop login --json | jq -r 'select(.kind == "landed") | "\\(.story) \\(.commit)"'
"""


def render_config_reference(schema: Mapping[str, Any]) -> str:
    """docs/reference/config.md, from the configuration's JSON Schema."""
    parts = [_CONFIG_INTRO, "## Example\n", _example(schema)]
    single = {name: node for name, node in schema["properties"].items() if "properties" not in node}
    parts += ["## Single settings\n", _table("", single)]
    for name, node in schema["properties"].items():
        if "properties" in node:
            parts += [f"## {name}\n", f"{node['description']}\n", _table(f"{name}.", node["properties"])]
        elif "items" in node:
            parts += [f"## {name}[]\n", "Each item of the list:\n", _table(f"{name}[].", node["items"]["properties"])]
    return "\n".join(parts)


def render_exit_codes() -> str:
    """docs/reference/exit-codes.md, from `ralphy.errors.EXIT_MEANINGS`."""
    rows = "".join(f"| {code} | {meaning} |\n" for code, meaning in EXIT_MEANINGS.items())
    return f"{_EXIT_INTRO}\n| code | meaning |\n|---|---|\n{rows}"


def render_cli_reference() -> str:
    """docs/reference/cli.md, from the commands themselves."""
    from ralphy.cli.commands import COMMANDS
    from ralphy.cli.main import cli

    context = click.Context(cli, info_name="ralphy")
    listed = "".join(f"| [`ralphy {name}`](#ralphy-{'story' if name == 'tasks' else name}) | {text} |\n"
                     for name, (_, text) in COMMANDS.items())  # fmt: skip
    parts = [
        _CLI_INTRO,
        f"## All commands\n\n| command | does |\n|---|---|\n{listed}",
        "## On every command\n",
        _options(_command(cli, context, "status"), is_everywhere=True),
    ]
    for name in COMMANDS:
        if name != "tasks":
            parts += _command_page(_command(cli, context, name), f"ralphy {name}", "##")
    return "\n".join(parts)


def _command(group: click.Group, context: click.Context, name: str) -> click.Command:
    found = group.get_command(context, name)
    assert found, f"ralphy has no command {name}"
    return found


def _command_page(command: click.Command, path: str, heading: str) -> Iterator[str]:
    """A command's heading, usage, text and own options; those of its subcommands after it."""
    yield f"{heading} {path}\n"
    yield f"    {_usage(command, path)}\n"
    yield _prose(command)
    if path == "ralphy story":
        yield "`ralphy tasks` is the same.\n"
    if table := _options(command, is_everywhere=False):
        yield table
    if lines := examples_of(path.removeprefix("ralphy ")):
        yield "\n".join(["```sh", *lines, "```\n"])
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from _command_page(inner, f"{path} {name}", f"{heading}#")


def _usage(command: click.Command, path: str) -> str:
    if isinstance(command, click.Group):
        return f"{path} {'|'.join(command.commands)} …"
    return " ".join([path, *(_argument(p) for p in command.params if isinstance(p, click.Argument)), "[options]"])


def _argument(argument: click.Argument) -> str:
    shown = argument.metavar or str(argument.name).upper()
    return shown if argument.required or shown.startswith("[") else f"[{shown}]"


def _prose(command: click.Command) -> str:
    paragraphs = (command.help or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs) + "\n"


def _options(command: click.Command, *, is_everywhere: bool) -> str:
    """The table of the options that stand on every command, or of all the others; "" without rows."""
    from ralphy.cli.group import EVERYWHERE

    options = [p for p in command.params if isinstance(p, click.Option) and not p.hidden]
    chosen = [option for option in options if (option.opts[0] in EVERYWHERE) == is_everywhere]
    rows = "".join(f"| {_option(option)} | {_help_of(option, command)} |\n" for option in chosen)
    return f"| option | meaning |\n|---|---|\n{rows}" if rows else ""


def _help_of(option: click.Option, command: click.Command) -> str:
    """What `--help` says of the option, its default and its range included."""
    record = option.get_help_record(click.Context(command))
    return " ".join(record[1].split()) if record else ""


def _option(option: click.Option) -> str:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    choices = option.type.choices if isinstance(option.type, click.Choice) else ()
    plain = "TEXT" if option.type is click.STRING else "N"
    value = option.metavar or ", ".join(f"`{choice}`" for choice in choices) or plain
    return names if option.is_flag else f"{names} {value}"


def render_prd_reference(described: Mapping[str, Any]) -> str:
    """docs/reference/prd.md, from the JSON Schema of prd.json."""
    parts = [_PRD_INTRO, "## Example\n", f"```json\n{example().decode().strip()}\n```\n"]
    parts += ["## The document\n", _fields(described)]
    for node in described["$defs"].values():
        parts += [f"## {node['title']}\n", f"{node['description']}\n"]
        parts += [_fields(node)] if "properties" in node else []
    return "\n".join(parts)


def render_events_reference(described: Mapping[str, Any]) -> str:
    """docs/reference/events.md, from the JSON Schema of a line of `--json`."""
    kinds = described["oneOf"]
    shared = set.intersection(*(set(kind["properties"]) for kind in kinds))
    first = {name: field for name, field in kinds[0]["properties"].items() if name in shared}
    first["kind"] = {**first["kind"], "enum": [kind["title"] for kind in kinds]}
    parts = [_EVENTS_INTRO, "## On every line\n", _fields({"properties": first})]
    for kind in kinds:
        own = {name: field for name, field in kind["properties"].items() if name not in shared}
        parts += [f"## {kind['title']}\n", f"{kind['description']}\n", _fields({"properties": own})]
    return "\n".join(parts)


def _fields(node: Mapping[str, Any]) -> str:
    return f"| field | takes | meaning |\n|---|---|---|\n{''.join(_field_rows('', node))}"


def _field_rows(prefix: str, node: Mapping[str, Any]) -> Iterator[str]:
    """A row for each field, and behind it those of its own fields."""
    for name, field in node["properties"].items():
        required = " (required)" if name in node.get("required", ()) else ""
        yield f"| `{prefix}{name}`{required} | {_accepts(field)} | {_meaning(field)} |\n"
        if "properties" in field:
            yield from _field_rows(f"{prefix}{name}.", field)


def _accepts(field: Mapping[str, Any]) -> str:
    """The same as `_takes`, with links to the parts that a field is made of."""
    if "$ref" in field:
        title = str(_part(field)["title"]).lower()
        return f"[{title}](#{title.replace(' ', '-')})"
    if field.get("type") == "array":
        return f"a list: {_accepts(field['items'])}"
    return _takes(field)


def _meaning(field: Mapping[str, Any]) -> str:
    """A field's description, and how it looks."""
    described = field.get("description") or _part(field)["description"]
    shown = [json.dumps(one, ensure_ascii=False) for one in field.get("examples", ())]
    brief = next((f" Example: `{text}`" for text in shown if len(text) <= 60 and text != "null"), "")
    return f"{described}{brief}".replace("<", "\\<").replace("|", "\\|")


def _part(field: Mapping[str, Any]) -> Mapping[str, Any]:
    part: Mapping[str, Any] = schema("prd")["$defs"][field["$ref"].rpartition("/")[2]]
    return part


def _table(prefix: str, nodes: Mapping[str, Any]) -> str:
    rows = "".join(
        f"| `{prefix}{name}` | {_value(node)} | {_takes(node)} | {node['description']} |\n"
        for name, node in nodes.items()
    )
    return f"| setting | default | takes | meaning |\n|---|---|---|---|\n{rows}"


def _value(node: Mapping[str, Any]) -> str:
    return f"`{json.dumps(node['default'], ensure_ascii=False)}`" if "default" in node else "required"


def _takes(node: Mapping[str, Any]) -> str:
    """What a setting takes, in words: choices, or types with their bounds."""
    if "anyOf" in node:
        return " or ".join(_takes(option) for option in node["anyOf"])
    if "enum" in node:
        return ", ".join(f"`{choice}`" if choice else '`""`' for choice in node["enum"])
    types = [node["type"]] if isinstance(node["type"], str) else list(node["type"])
    if types[:2] == ["number", "string"]:
        return " or ".join(["a duration above 0", *(_WORDS[one] for one in types[2:])])
    return " or ".join([_WORDS[types[0]] + _bounds(node), *(_WORDS[one] for one in types[1:])])


_WORDS = {
    "string": "text",
    "boolean": "`true`, `false`",
    "integer": "a whole number",
    "number": "a number",
    "array": "a list",
    "object": "a mapping",
    "null": "`null`",
}


def _bounds(node: Mapping[str, Any]) -> str:
    if "exclusiveMinimum" in node:
        return f" above {node['exclusiveMinimum']}"
    if "minimum" in node:
        return f" from {node['minimum']}"
    return " of texts" if node.get("items", {}).get("type") == "string" else ""


def _example(schema: Mapping[str, Any]) -> str:
    lines = "\n".join(_example_lines(schema["properties"]))
    return f"```yaml\n{lines}\n```\n"


def _example_lines(nodes: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """YAML of every setting's first example; JSON inside a line is YAML, too."""
    for name, node in nodes.items():
        if "properties" in node:
            yield f"{indent}{name}:"
            yield from _example_lines(node["properties"], indent + "  ")
        else:
            yield f"{indent}{name}: {json.dumps(node['examples'][0], ensure_ascii=False)}"


def pages() -> dict[str, str]:
    """Every page of docs/reference/, by the name of its file."""
    return {
        "cli.md": render_cli_reference(),
        "config.md": render_config_reference(schema("config")),
        "events.md": render_events_reference(schema("events")),
        "exit-codes.md": render_exit_codes(),
        "prd.md": render_prd_reference(schema("prd")),
    }


def write_pages(folder: Path) -> None:
    """Write all pages into a folder, as `make docs` does."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
