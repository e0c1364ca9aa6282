"""Whether this is CI, and how GitHub is told of an error in its own words."""

from __future__ import annotations

import re
from collections.abc import Mapping

_WHERE = re.compile(r"([^:\s][^:]*):(\d+)(?::\d+)?")
_IN_TEXT = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_IN_PROPERTY = {**_IN_TEXT, ":": "%3A", ",": "%2C"}


def is_ci(env: Mapping[str, str]) -> bool:
    """Does the environment say that this is CI?"""
    return env.get("CI", "").lower() in ("true", "1", "yes")


def is_github(env: Mapping[str, str]) -> bool:
    return env.get("GITHUB_ACTIONS") == "true"


def annotation(level: str, text: str, where: str = "", title: str = "") -> str:
    """A line that GitHub shows beside the file; `where` is a path, or path:line."""
    match = _WHERE.fullmatch(where)
    named = {"file": match[1] if match else where, "line": match[2] if match else "", "title": title}
    properties = ",".join(f"{name}={_escaped(value, _IN_PROPERTY)}" for name, value in named.items() if value)
    return f"::{level}{' ' if properties else ''}{properties}::{_escaped(text, _IN_TEXT)}"


def _escaped(text: str, signs: Mapping[str, str]) -> str:
    return "".join(signs.get(sign, sign) for sign in text)
