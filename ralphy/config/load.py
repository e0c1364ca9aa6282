"""The configuration that is in force: defaults, files, environment and flags, merged setting by setting.

Every level is flattened to dotted names first, so that merging is one `update`, and every value keeps the name of the
place it came from. A value that would loosen a setting that guards the person is left out (`ralphy.config.tightening`).
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ralphy.agents.preset import Preset
from ralphy.agents.presets import preset_of
from ralphy.config.fields import UnfitError, accept, all_fields, parse_words, short
from ralphy.config.file import Layer, Value, read_values
from ralphy.config.strict_yaml import MAX_BYTES
from ralphy.config.tightening import AMOUNTS, PROGRAMS, is_looser
from ralphy.config.trust import is_trusted
from ralphy.config.values import Check, Config
from ralphy.errors import InvalidInput, joined
from ralphy.files.read import read_input
from ralphy.files.user_folders import config_folder

_NO_FLAGS: Mapping[str, object] = MappingProxyType({})
_SHELL = re.compile(r"&&|\|\|?|;|&|\d?>>?|<|\d?>&\d|~/\S*|\$\w+\S*|\$\{\S+|\$\(\S*")
_ASSIGNMENT = re.compile(r"\w+=")


@dataclass(frozen=True, slots=True)
class Settings:
    """`sources` says for every dotted name where its value came from: "default", "path:line", a variable …

    `loosening` are the settings of the repository's file that guard less than the defaults. Those in `untrusted`
    (name -> place, name and value) came from elsewhere and have no effect until a person accepts them. `about_checks`
    are those of the warnings that matter only where checks run.
    """

    config: Config
    warnings: tuple[str, ...]
    sources: Mapping[str, str]
    loosening: Mapping[str, object] = field(default_factory=dict)
    untrusted: Mapping[str, str] = field(default_factory=dict)
    about_checks: tuple[str, ...] = ()


def load(
    repo: Path,
    feature_dir: Path | None,
    *,
    env: Mapping[str, str],
    flags: Mapping[str, object] = _NO_FLAGS,
) -> Settings:
    """The settings for a feature (or, with None, for the repository).

    The last one wins: defaults, the user's file, the repository's, the feature's, RALPHY_<SECTION>_<KEY>,
    `flags` (dotted name → value; None is "not given").
    Raises InvalidInput, which names the file and line, the variable or the flag.
    """
    defaults = {name: Value(field.default, "default") for name, field in all_fields().items()}
    user, project, feature = (
        _file_layer(path, _relative(path, repo)) if path else Layer({})
        for path in (user_file(env), repo / ".ralphy" / "config.yaml", _feature_file(repo, feature_dir))
    )
    layers = [user, project, feature, read_environment(env), _flag_layer(flags)]
    warnings = [text for layer in layers for text in layer.warnings]
    merged = {**defaults, **user.values}
    loosening = {name: setting.value for name, setting in project.values.items()
                 if name not in AMOUNTS and is_looser(name, setting.value, defaults[name].value)}  # fmt: skip
    untrusted = {} if is_trusted(repo, loosening, env) else {name: _named(name, project) for name in loosening}
    warnings += _merge_project(merged, project, untrusted)
    warnings += _merge_feature(merged, feature)
    for layer in layers[3:]:
        merged.update(layer.values)
    preset = preset_of(merged["agent.preset"].value)
    warnings += _replace_unknown_models(merged, preset)
    for name, own in (("agent.command", preset.command), ("safety.network", preset.hosts)):
        if merged[name].source == "default":
            merged[name] = Value(own, merged["agent.preset"].source)
    config = _build(merged)
    about_checks = tuple(_warnings_about_checks(config))
    warnings += about_checks
    sources = {name: setting.source for name, setting in merged.items()}
    return Settings(config, tuple(dict.fromkeys(warnings)), MappingProxyType(sources), loosening, untrusted,
                    about_checks)  # fmt: skip


def _merge_project(merged: dict[str, Value], layer: Layer, untrusted: Mapping[str, str]) -> Iterable[str]:
    """Merge the repository's settings, except those that loosen the person's own or came from elsewhere."""
    for name, setting in layer.values.items():
        floor = merged[name]
        if floor.source != "default" and name not in PROGRAMS and is_looser(name, setting.value, floor.value):
            why = f"{floor.source} says {_in_words(floor.value)}, and a repository can only tighten your own settings"
            yield _refused(name, setting, why)
        elif name in untrusted:
            yield f"{untrusted[name]} has no effect until you accept it: ralphy trust"
        else:
            merged[name] = setting


def _merge_feature(merged: dict[str, Value], layer: Layer) -> Iterable[str]:
    """Merge a feature's settings, except those that are looser than what is in force without it."""
    for name, setting in layer.values.items():
        floor = merged[name]
        if (floor.source != "default" or name not in AMOUNTS) and is_looser(name, setting.value, floor.value):
            in_force = f"{_in_words(floor.value)}, {floor.source}"
            yield _refused(name, setting, f"a feature can only tighten ({in_force}); set it in .ralphy/config.yaml")
        else:
            merged[name] = setting


def _refused(name: str, setting: Value, why: str) -> str:
    return f"{setting.source}: {name}: {_in_words(setting.value)} has no effect: {why}"


def _named(name: str, layer: Layer) -> str:
    setting = layer.values[name]
    return f"{setting.source}: {name}: {_in_words(setting.value)}"


def _in_words(value: object) -> str:
    """A value as a message names it, in at most 80 characters."""
    if isinstance(value, tuple):
        return " ".join(map(str, value))[:80] or "nothing"
    return "no limit" if value is None else str(value)[:80] if isinstance(value, str) else short(value)


def with_stack(config: Config, detected: tuple[Check, ...]) -> tuple[Check, ...]:
    """The checks in force: those configured, else the configured test command, else those `detected`."""
    if config.checks is not None:
        return config.checks
    if config.stack.test_command:
        return (Check("test", config.stack.test_command),)
    return detected


def user_file(env: Mapping[str, str]) -> Path | None:
    """The person's own settings, for all repositories; None without a home."""
    settings = config_folder(env)
    return settings / "ralphy" / "config.yaml" if settings else None


def _feature_file(repo: Path, feature_dir: Path | None) -> Path | None:
    return feature_dir / ".ralphy" / "config.yaml" if feature_dir is not None and feature_dir != repo else None


def _relative(path: Path, repo: Path) -> str:
    return str(path.relative_to(repo)) if path.is_relative_to(repo) else str(path)


def _file_layer(path: Path, where: str) -> Layer:
    data = read_input(path, MAX_BYTES, where=where)
    return Layer({}) if data is None else read_values(data, where)


def read_environment(env: Mapping[str, str]) -> Layer:
    """What the variables RALPHY_<SECTION>_<KEY> set; raises InvalidInput with every one that does not fit."""
    variables = {field.variable: field for field in all_fields().values() if field.dotted != "checks"}
    values: dict[str, Value] = {}
    errors: list[InvalidInput] = []
    for name, setting in variables.items():
        if name not in env:
            continue
        try:
            values[setting.dotted] = Value(accept(setting, parse_words(setting, env[name])), name)
        except UnfitError as error:
            errors.append(error.at(name))
    if errors:
        raise joined(errors)
    sections = tuple({f"{name.split('.')[0].upper()}_" for name in all_fields() if "." in name})
    strange = sorted(
        name for name in env if name.startswith("RALPHY_") and name not in variables and name[7:].startswith(sections)
    )
    return Layer(values, tuple(filter(None, (_misspelt(name, variables) for name in strange))))


def _misspelt(name: str, variables: Iterable[str]) -> str:
    """A warning if the name is close to a setting's, else ""."""
    close = difflib.get_close_matches(name, variables, 1, 0.85)
    return f"{name} is not a setting and has no effect; did you mean {close[0]}?" if close else ""


def _flag_layer(flags: Mapping[str, object]) -> Layer:
    source, known = "command line", all_fields()
    try:
        return Layer({name: Value(accept(known[name], value), source)
                      for name, value in flags.items() if value is not None})  # fmt: skip
    except UnfitError as error:
        raise error.at(source) from None


def _replace_unknown_models(merged: dict[str, Value], preset: Preset) -> list[str]:
    """Replace what is not a model's name with the default: the name becomes an argument of a program."""
    warnings: list[str] = []
    for name in (name for name in merged if name.startswith("models.")):
        setting, default = merged[name], all_fields()[name].default
        names = setting.value if isinstance(setting.value, tuple) else (setting.value,)
        wrong = [model for model in names if not preset.models.fullmatch(str(model))]
        if not wrong:
            continue
        first = str(default[0] if isinstance(default, tuple) else default)
        first = first if preset.models.fullmatch(first) else preset.model
        corrected = tuple(first if model in wrong else model for model in names)
        merged[name] = Value(corrected if isinstance(setting.value, tuple) else first, setting.source)
        if setting.source == "default":
            continue
        listed = ", ".join(f'"{str(model)[:40]}"' for model in wrong)
        warnings.append(f"{setting.source}: {name}: {listed} is not a model's name; using {first}")
    return warnings


def _build(merged: Mapping[str, Value]) -> Config:
    defaults = Config()
    return Config(**{outer.name: _part(getattr(defaults, outer.name), outer.name, merged) for outer in fields(Config)})


def _part(default: object, name: str, merged: Mapping[str, Value]) -> Any:
    if not is_dataclass(default):
        return merged[name].value
    section: Callable[..., object] = type(default)
    return section(**{inner.name: merged[f"{name}.{inner.name}"].value for inner in fields(default)})


def _warnings_about_checks(config: Config) -> Iterable[str]:
    """Warnings about values that are allowed but seldom meant."""
    if config.checks == ():
        yield "checks is empty: nothing verifies a story"
    commands = {f"checks.{check.name}": check.run for check in config.checks or ()}
    commands |= {"setup": config.setup, "stack.test_command": config.stack.test_command}
    for name, command in commands.items():
        if word := _only_for_a_shell(command):
            yield f"{name}: {word} does nothing without a shell; use sh -c '…', or two checks"


def _only_for_a_shell(command: str) -> str:
    """The first word of a command that only a shell understands, or ""; words in quotes do not count."""
    try:
        words = shlex.split(command, posix=False)  # the quotes stay on
    except ValueError:
        return ""
    if words and (words[0] == "cd" or _ASSIGNMENT.match(words[0])):
        return words[0]
    return next((word for word in words if _SHELL.fullmatch(word)), "")
