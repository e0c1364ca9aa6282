"""The scenario: finding it, reading it, and choosing the act of this run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ralphy.errors import InvalidInput
from ralphy.rehearsal import files
from ralphy.rehearsal.scene import Scene

NAMES = (".ralphy/rehearsal.yaml", ".ralphy/rehearsal.yml", ".ralphy/rehearsal.json")
Act = dict[str, Any]
DEFAULTS: Act = {"cost_usd": 0.02, "delay_s": 0}


def load_scenario(environ: Mapping[str, str], cwd: str) -> dict[str, Any]:
    """The scenario of this run, checked; empty when there is none, which plays the defaults.

    InvalidInput when the file is missing, unreadable or says something unknown.
    """
    path = find_scenario(environ, cwd)
    if path is None:
        return {}
    from ralphy.rehearsal.keys import check_scenario

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
