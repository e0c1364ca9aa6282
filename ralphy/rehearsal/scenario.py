"""The scenario: finding it, reading it, checking it, and choosing the act of this run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ralphy.errors import InvalidInput
from ralphy.rehearsal import files
from ralphy.rehearsal.scene import Scene

if TYPE_CHECKING:
    from jsonschema import ValidationError

NAMES = (".ralphy/rehearsal.yaml", ".ralphy/rehearsal.yml", ".ralphy/rehearsal.json")
Act = dict[str, Any]
DEFAULTS: Act = {"cost_usd": 0.02, "delay_s": 0}
_EXPECTED = {
    "boolean": "true or false",
    "string": "a text",
    "number": "a number, 0 or more",
    "integer": "a whole number, 0 or more",
    "object": "a mapping",
}


def load_scenario(environ: Mapping[str, str], cwd: str) -> dict[str, Any]:
    """The scenario of this run, checked; empty when there is none, which plays the defaults.

    InvalidInput when the file is missing, unreadable or says something unknown.
    """
    path = find_scenario(environ, cwd)
    if path is None:
        return {}
    try:
        read: Any = _parse(path)
    except (OSError, ValueError) as problem:
        raise InvalidInput(f"cannot be read: {problem}", where=path) from problem
    check_scenario(read, f"{path}: scenario")
    return dict(read)


def find_scenario(environ: Mapping[str, str], cwd: str) -> str | None:
    """RALPHY_REHEARSAL, else the repository's own scenario, else None."""
    if named := environ.get("RALPHY_REHEARSAL"):
        return files.join(cwd, named)
    return next((path for name in NAMES if files.is_file(path := files.join(cwd, name))), None)


def choose_act(scenario: Mapping[str, Any], scene: Scene, number: int) -> Act:
    """The act of the `number`-th run (from 1) of this step or story: the n-th act, or else the last one."""
    acts = _acts(scenario, scene)
    act = acts[min(number, len(acts)) - 1]
    usual: Act = {}
    if act.get("default"):
        from ralphy.rehearsal.default import usual_act

        usual = usual_act(scene)
    return {**DEFAULTS, **scenario.get("defaults", {}), **usual, **act}


def _acts(scenario: Mapping[str, Any], scene: Scene) -> list[Act]:
    if scene.step == "story":
        stories = scenario.get("stories", {})
        found = stories.get(scene.story) or stories.get("*")
    else:
        found = scenario.get(scene.step)
    if found is None:
        return [{"default": True}]
    return [found] if isinstance(found, dict) else list(found)


def _parse(path: str) -> Any:
    """The file's content; ValueError when it is not valid."""
    text = files.read(path)
    if path.endswith(".json"):
        import json

        return json.loads(text)
    import yaml

    try:
        return yaml.safe_load(text) or {}
    except yaml.YAMLError as problem:
        raise ValueError(str(problem)) from problem


def check_scenario(value: Any, where: str) -> None:
    """Raises InvalidInput, with the place in the scenario, for what does not fit its schema."""
    from ralphy.resources import schema
    from ralphy.text.schema_compiler import compile_check

    if not compile_check(schema("rehearsal"))(value):
        raise _refusal(value, where)


def _refusal(value: Any, where: str) -> InvalidInput:
    from jsonschema import Draft202012Validator

    from ralphy.resources import schema

    error = next(iter(Draft202012Validator(schema("rehearsal")).iter_errors(value)))
    while deeper := next(filter(_is_deeper, error.context or ()), None):
        error = deeper
    place = where + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)
    node: Any = error.schema
    if error.validator == "additionalProperties":
        known, there = node["properties"], list(map(str, error.instance))
        key = next(key for key in there if key not in known)
        return InvalidInput(f'unknown key "{key}"', where=place, hint=_nearest(key, known))
    choices = f"one of {', '.join(node['enum'])}" if "enum" in node else ""
    expected = node.get("$comment") or choices or _EXPECTED[node["type"]]
    return InvalidInput(f"must be {expected}, not {error.instance!r:.60}", where=place)


def _is_deeper(error: ValidationError) -> bool:
    """Is this about a part of the value, and not about which of several forms it has?"""
    return bool(error.relative_path) or error.validator == "additionalProperties"


def _nearest(key: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key, list(known), n=1)
    return f'did you mean "{near[0]}"?' if near else f"known: {', '.join(known)}"
