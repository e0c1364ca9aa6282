"""Where the files lie that Ralphy brings along: schemas, templates and the example.

A wheel carries them inside the package, in `_data`; a checkout and an editable install beside it. pathlib is loaded
where it is used: the rehearsal agent starts without it.
"""

from __future__ import annotations

import json
import os
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


@cache
def schema(name: str) -> dict[str, Any]:
    """The published JSON Schema of that name: "prd", "stories", …; every caller gets the same object."""
    with open(_place(f"schemas/{name}.schema.json"), "rb") as file:
        loaded: dict[str, Any] = json.load(file)
    return loaded


def template_root() -> Path:
    """The folder of the built-in templates."""
    from pathlib import Path

    return Path(_place("templates"))


def example() -> bytes:
    """prd.json.example, as it is."""
    with open(_place("prd.json.example"), "rb") as file:
        return file.read()


def _place(name: str) -> str:
    package = os.path.dirname(os.path.realpath(__file__))
    for place in (os.path.join(package, "_data", name), os.path.join(os.path.dirname(package), name)):
        if os.path.exists(place):
            return place
    raise FileNotFoundError(f"Ralphy was installed without its {name}")
