"""config: show the settings and where they come from, read or change one."""

from __future__ import annotations

import os
from dataclasses import asdict, is_dataclass
from operator import attrgetter
from typing import Any

import click

from ralphy.agents.presets import preset_of
from ralphy.cli.group import Group
from ralphy.cli.options import Invocation, feature_argument, features_begun, with_options
from ralphy.cli.setup.init import CONFIG
from ralphy.config.edit import with_setting
from ralphy.config.fields import Field, UnfitError, accept, all_fields, flow, named, parse_words, short
from ralphy.config.load import Settings
from ralphy.config.strict_yaml import MAX_BYTES, parse
from ralphy.config.trust import record_trust
from ralphy.config.values import Config
from ralphy.errors import InvalidInput, NotFound
from ralphy.files.atomic import replace_file
from ralphy.files.read import read_input
from ralphy.scaffold.writer import refuse_links
from ralphy.text.nearest import nearest


@click.group("config", cls=Group, otherwise="show")
def config() -> None:
    """KEY is the dotted name of a setting, such as limits.max_attempts."""


def _settings_begun(_: click.Context, __: click.Parameter, word: str) -> list[str]:
    return [name for name in all_fields() if name.startswith(word)]


key_argument = click.argument("key", shell_complete=_settings_begun)


@config.command("show")
@click.argument("word", required=False, metavar="[FEATURE | KEY]", shell_complete=features_begun)
@click.option("--origin", is_flag=True, help="Show where each value comes from.")
@with_options
def show(call: Invocation, word: str | None, origin: bool) -> int:
    """Show every setting that is in force, for the repository or a FEATURE; or one KEY, or a section, such as limits.

    Later places win: default, your own file, .ralphy/config.yaml, the feature's, RALPHY_<SECTION>_<KEY>.
    """
    named_ones = [name for name in all_fields() if f"{name}.".startswith(f"{word}.")]
    feature = word if word and (not named_ones or call.is_feature(word)) else None
    if feature and not call.is_feature(feature) and (near := nearest(feature, _sections_and_settings())):
        raise NotFound(f"{feature!r} is neither a feature nor a setting", hint=f"did you mean {near}?")
    settings = _in_force(call, feature)
    values = _values(settings.config)
    if feature != word:
        values = {name: values[name] for name in named_ones}
    width = max(map(len, values))
    lines = [f"{name:<{width}}  {flow(value)}" for name, value in values.items()]
    if origin:
        wide = min(60, max(map(len, lines)))
        lines = [f"{line:<{wide}}  {settings.sources[name]}" for name, line in zip(values, lines, strict=True)]
    rows = [{"name": name, "value": value, "origin": settings.sources[name]} for name, value in values.items()]
    return call.output.answer("config", "\n".join(lines), feature=feature, settings=_plain(rows))


def _sections_and_settings() -> list[str]:
    return [*dict.fromkeys(name.partition(".")[0] for name in all_fields()), *all_fields()]


def _in_force(call: Invocation, feature: str | None) -> Settings:
    return call.settings(call.feature(feature) if feature else None)


def _values(config: Config) -> dict[str, object]:
    """Dotted name -> value, in the order of the configuration."""
    return {name: attrgetter(name)(config) for name in all_fields()}


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


@config.command("get")
@key_argument
@feature_argument
@with_options
def get(call: Invocation, key: str, feature: str | None) -> int:
    """Print the value of one setting, such as limits.max_attempts."""
    name = named(key).dotted
    settings = _in_force(call, feature)
    value = _values(settings.config)[name]
    text = value if isinstance(value, str) else flow(value)
    return call.output.answer("config-get", text, name=name, value=_plain(value), origin=settings.sources[name])


@config.command("set")
@key_argument
@click.argument("value")
@with_options
def set_(call: Invocation, key: str, value: str) -> int:
    """Change one setting in .ralphy/config.yaml; comments and order stay.

    A list is written with commas (sonnet,opus) or in brackets; null switches a limit off. Nothing is written if the
    value does not fit, or if the file cannot be changed without changing more.
    """
    field = named(key)
    wanted = _typed(field, value)
    repository = call.repository()
    call.require_settings()
    if field.dotted.startswith("models."):
        _require_models(field.dotted, wanted, call.settings().config.agent.preset)
    path = repository.root / CONFIG
    refuse_links(repository.root, CONFIG)
    is_trusted = not call.settings().untrusted
    before = read_input(path, MAX_BYTES, where=CONFIG)
    after = with_setting(before or b"", CONFIG, field, wanted)
    if after != before:
        path.parent.mkdir(exist_ok=True)
        replace_file(path, after)
    if is_trusted:  # what a person types is their own
        record_trust(repository.root, call.settings().loosening, os.environ)
    origin = call.settings().sources[field.dotted]
    message = f"{CONFIG}: {field.dotted}: {flow(wanted)}"
    if not origin.startswith(f"{CONFIG}:"):
        message += f"\nno effect here: {origin} decides" if origin != "default" else ""
    return call.output.answer("config-set", message, name=field.dotted, value=_plain(wanted), file=CONFIG,
                              origin=origin, changed=after != before)  # fmt: skip


def _typed(field: Field, text: str) -> Any:
    """The typed text as a value of the field: words as in an environment variable, or YAML in brackets."""
    is_yaml = field.kind.startswith("tuple") and text.lstrip().startswith(("[", "{"))
    try:
        is_yaml = is_yaml or field.dotted == "checks"
        return accept(field, parse(text.encode(), "").root if is_yaml else parse_words(field, text))
    except UnfitError as error:
        raise error.at("") from None
    except InvalidInput as error:  # of YAML: it has no place in a file
        raise InvalidInput(f"the value of {field.dotted} {error.what}", hint=error.hint) from None


def _require_models(name: str, wanted: Any, preset: str) -> None:
    """Raises InvalidInput for a name that is no model: each run would use the default instead."""
    for model in (wanted,) if isinstance(wanted, str) else wanted:
        if not preset_of(preset).models.fullmatch(model):
            raise InvalidInput(f"{name} is {short(model)}, which is not a model of the agent {preset}",
                               hint="such as sonnet, opus or haiku for claude; for another agent, set agent.preset "
                                    "first")  # fmt: skip
