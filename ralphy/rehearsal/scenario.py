"""Find the scenario file, read it, and check it by its schema."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from ralphy.errors import InvalidInput
from ralphy.resources import schema

NAMES = (".ralphy/rehearsal.yaml", ".ralphy/rehearsal.yml", ".ralphy/rehearsal.json")


def load_scenario(cwd: Path) -> dict[str, Any]:
    """The checked scenario; {} when there is none, which plays the defaults.

    InvalidInput when the file is missing, unreadable or does not fit the schema.
    """
    path = _find(cwd)
    if path is None:
        return {}
    try:
        text = path.read_text(encoding="utf-8")
        scenario = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text) or {}
    except (OSError, ValueError, yaml.YAMLError) as problem:
        raise InvalidInput(f"cannot be read: {problem}", where=str(path)) from problem
    check_scenario(scenario, str(path))
    return dict(scenario)


def _find(cwd: Path) -> Path | None:
    """The file that RALPHY_REHEARSAL names, else the repository's own, else None."""
    if named := os.environ.get("RALPHY_REHEARSAL"):
        return cwd / named
    return next((path for name in NAMES if (path := cwd / name).is_file()), None)


def check_scenario(scenario: Any, where: str) -> None:
    """Raises InvalidInput, with the place in the scenario, if it does not fit the schema."""
    error = best_match(Draft202012Validator(schema("rehearsal")).iter_errors(scenario))
    if error is not None:
        raise InvalidInput(error.message, where=f"{where}: {error.json_path.removeprefix('$.')}")
