"""The reference pages of docs/reference/, written from the code so that they cannot say anything else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ralphy.core.errors import EXIT_MEANINGS

_CONFIG_INTRO = """\
# Configuration

<!-- Generated from schemas/config.schema.json by `make docs`. -->

Every setting is optional. The first place that sets one wins, setting by setting; a list is replaced whole:

1. flags on the command line
2. environment variables `RALPHY_<SECTION>_<KEY>`, such as `RALPHY_LIMITS_MAX_ATTEMPTS=3`; a list is written
   with commas (`agent.command`: as words of a shell). There is none for `checks`.
3. `.ralphy/config.yaml` in the feature's folder
4. `.ralphy/config.yaml` in the repository
5. `$XDG_CONFIG_HOME/ralphy/config.yaml` (or `~/.config/ralphy/config.yaml`)
6. the defaults below

A key that is not listed here is an error (exit code 3) that names the file and the line, and suggests the
nearest one. The files are plain YAML 1.2: no anchors, aliases or tags, no key twice, at most 256 KB.
"""
_EXIT_INTRO = """\
# Exit codes

<!-- Generated from ralphy/core/errors.py by `make docs`. -->

What every `ralphy` command returns; they are a contract, for scripts and for Make.
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
            parts += [
                f"## {name}[]\n",
                "Each item of the list:\n",
                _table(f"{name}[].", node["items"]["properties"]),
            ]
    return "\n".join(parts)


def render_exit_codes() -> str:
    """docs/reference/exit-codes.md, from `ralphy.core.errors.EXIT_MEANINGS`."""
    rows = "".join(f"| {code} | {meaning} |\n" for code, meaning in EXIT_MEANINGS.items())
    return f"{_EXIT_INTRO}\n| code | meaning |\n|---|---|\n{rows}"


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
        return ", ".join(f"`{choice}`" for choice in node["enum"])
    types = [node["type"]] if isinstance(node["type"], str) else list(node["type"])
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
