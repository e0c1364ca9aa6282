"""Where the files lie that Ralphy brings along: schemas, templates and the example.

A wheel carries them inside the package, in `_data`; a checkout and an editable install beside it.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def schema(name: str) -> dict[str, Any]:
    """The published JSON Schema of that name: "prd", "stories", …; every caller gets the same object."""
    loaded: dict[str, Any] = json.loads(_place(f"schemas/{name}.schema.json").read_bytes())
    return loaded


def template_root() -> Path:
    """The folder of the built-in templates."""
    return _place("templates")


def example() -> bytes:
    """prd.json.example, as it is."""
    return _place("prd.json.example").read_bytes()


def _place(name: str) -> Path:
    package = Path(__file__).resolve().parent
    for place in (package / "_data" / name, package.parent / name):
        if place.exists():
            return place
    raise FileNotFoundError(f"Ralphy was installed without its {name}")
