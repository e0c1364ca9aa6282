"""A setting or option that has no effect does not exist: each is read somewhere, outside of what reads them in."""

from __future__ import annotations

import ast
import inspect
import textwrap
from functools import cache
from pathlib import Path

import click

from ralphy.agents.presets import PRESETS
from ralphy.config.fields import all_fields, nodes
from ralphy.config.load import load
from ralphy.config.values import Config
from tests.cli.test_reference import commands
from tests.core.test_layers import MODULES, parsed

# What defines, reads in, checks, writes out or documents settings. `tightening` compares them by name.
READERS = {
    "ralphy/config/values.py", "ralphy/config/tightening.py", "ralphy/config/fields.py",
    "ralphy/scaffold/config_template.py",
}  # fmt: skip
# Options that say what happens anyway, with the reason why they exist.
STATEMENTS = {"_continue": "resuming is the default; scripts of the seeds pass it"}


class Module:
    """What of a module that settings may steer is looked at: its nodes that give names, and the attributes it reads."""

    def __init__(self, tree: ast.Module) -> None:
        nodes = list(ast.walk(tree))
        self.naming = [
            node for node in nodes if isinstance(node, ast.ImportFrom | ast.Assign | ast.AnnAssign | ast.arg)
        ]
        self.read: dict[str, set[str]] = {}
        for node in nodes:
            if isinstance(node, ast.Attribute):
                self.read.setdefault(node_name(node.value), set()).add(node.attr)
        self.looked_up = {node_name(node.args[0]) for node in nodes
                          if isinstance(node, ast.Call) and node_name(node.func) == "getattr"}  # fmt: skip
        self.texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}

    def bases(self, section: str, kind: str) -> set[str]:
        """The names by which it calls a section of the settings: its own, variables, and parameters of its type."""
        found, kinds = {section}, {kind}
        for node in self.naming:
            if isinstance(node, ast.ImportFrom):
                kinds |= {alias.asname for alias in node.names if alias.name == kind and alias.asname}
            if isinstance(node, ast.Assign) and node_name(node.value) == section:
                found |= {node_name(target) for target in node.targets}
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
                for target, value in zip(getattr(node.targets[0], "elts", ()), node.value.elts, strict=False):
                    found |= {node_name(target)} if node_name(value) == section else set()
            elif isinstance(node, (ast.arg, ast.AnnAssign)) and node.annotation and node_name(node.annotation) in kinds:
                found.add(node.arg if isinstance(node, ast.arg) else node_name(node.target))
        return found


def node_name(node: ast.AST) -> str:
    """The last word of an expression of names and dots."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


@cache
def modules() -> list[Module]:
    return [Module(parsed(module)) for module in MODULES if module not in READERS]


@cache
def read_of(section: str) -> set[str]:
    """The attributes of what a module calls this section of the settings."""
    kind = type(getattr(Config(), section)).__name__
    return {attribute for module in modules() for name in module.bases(section, kind)
            for attribute in module.read.get(name, ())}  # fmt: skip


def is_read(dotted: str) -> bool:
    section, _, key = dotted.partition(".")
    if not key:
        return any(section in module.read.get(name, ()) for module in modules() for name in ("config", "_config"))
    is_looked_up = any(section in module.looked_up for module in modules())  # `getattr(config.verify, kind)`
    return key in read_of(section) or (is_looked_up and any(key in module.texts for module in modules()))


SETTINGS = [name for name in all_fields() if len(nodes()[name].get("enum", ())) != 1]


def test_every_setting_is_read_by_what_it_steers_and_one_of_no_effect_would_be_noticed() -> None:
    assert [dotted for dotted in SETTINGS if not is_read(dotted)] == []
    assert not is_read("limits.of_no_effect") and not is_read("git.commit")


def test_a_preset_is_the_program_that_is_started_unless_one_is_named(tmp_path: Path) -> None:
    def command(**env: str) -> tuple[str, ...]:
        return load(tmp_path, None, env={**env, "HOME": str(tmp_path)}).config.agent.command

    assert {preset: command(RALPHY_AGENT_PRESET=preset) for preset in nodes()["agent.preset"]["enum"]} == {
        name: preset.command for name, preset in PRESETS.items()
    }
    assert command(RALPHY_AGENT_PRESET="rehearsal", RALPHY_AGENT_COMMAND="my-agent -x") == ("my-agent", "-x")


def test_every_option_is_used_by_its_command() -> None:
    common = {"directory", "as_json", "quiet", "verbose", "no_progress", "color"}
    for name, command in commands().items():
        if isinstance(command, click.Group):
            continue
        callback = inspect.unwrap(command.callback or (lambda: None))
        body = ast.parse(textwrap.dedent(inspect.getsource(callback))).body[0]
        assert isinstance(body, ast.FunctionDef)
        used: set[object] = {node.id for part in body.body for node in ast.walk(part) if isinstance(node, ast.Name)}
        if body.args.kwarg:
            module = ast.parse(inspect.getsource(inspect.getmodule(callback) or click))
            used |= {node.value for node in ast.walk(module) if isinstance(node, ast.Constant)}
        own = {param.name for param in command.params if isinstance(param, click.Option)} - common
        assert (name, own - used - STATEMENTS.keys()) == (name, set())
