"""The runner's part of a file: what decides which tests run and how, apart from what is installed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

# Files that are the runner's alone.
_WHOLE = re.compile(
    r"(?:^|/)(?:\.?pytest\.ini|tox\.ini|(?:jest|vitest|vite|playwright|karma|cypress|ava)\.config\.\w+|\.mocharc(?:\.\w+)?"
    r"|(?:GNU)?[Mm]akefile|[^/]*\.mk|\.?[Jj]ustfile|Taskfile(?:\.dist)?\.ya?ml|noxfile\.py|Rakefile|\.npmrc"
    r"|\.cargo/config(?:\.toml)?|\.mvn/[^/]*|surefire[^/]*|junit-platform\.properties|\.bazelrc|phpunit\.xml(?:\.dist)?)$"
)
# Manifests that have a part for the runner: its sections, or its keys in JSON.
_SECTIONS = {
    "pyproject.toml": re.compile(r"tool\.(?:pytest|tox|nox|hatch\.envs|pdm\.scripts|poe|taskipy|ward|nose)\b"),
    "setup.cfg": re.compile(r"(?:tool:pytest|aliases|nosetests|unittest)$"),
    "Cargo.toml": re.compile(r"(?:test|lib|profile\.test|bench)$"),
}
_KEYS = ("scripts", "jest", "vitest", "mocha", "ava", "nyc", "c8", "bun", "wireit", "lint-staged")
_HEADER = re.compile(r"^\s*\[+\s*([^\[\]]+?)\s*\]+\s*(?:#.*)?$")
# Manifests whose runner cannot be told from the rest; these parts say what is installed.
_MIXED = re.compile(
    r"(?:^|/)(?:pom\.xml|(?:build|settings)\.gradle(?:\.kts)?|mix\.exs|CMakeLists\.txt|Package\.swift)$"
)
_INSTALLED = re.compile(
    r"<dependency>.*?</dependency>|</?dependencies>|<version>[^<]*</version>|<!--.*?-->"
    r"|^\s*(?:implementation|api|testImplementation|runtimeOnly|compileOnly|testRuntimeOnly)\b[^\n]*$",
    re.S | re.M,
)
_PLACES = re.compile(r"^[ \t]*pythonpath[ \t]*=[^\n]*$", re.M)


def runner_part(path: str, text: str | None) -> str | None:
    """What a file says to the runner; None if it is no such file, or is not there."""
    if text is None:
        return None
    if _WHOLE.search(path):
        return text
    if _MIXED.search(path):
        return " ".join(_INSTALLED.sub("", text).split())
    name = path.rpartition("/")[2]
    if name == "package.json":
        found = _json(text)
        return json.dumps({key: found[key] for key in _KEYS if key in found}) if found is not None else None
    said = _SECTIONS.get(name)
    return None if said is None else "".join(part for header, part in _sections(text) if said.match(header))


def with_runner_part(path: str, old: str | None, new: str | None) -> str | None:
    """The new file with the runner's part of the old one (None: it was not, or is not, there); `new` as it is where
    the two cannot be told apart."""
    if _WHOLE.search(path) or new is None:
        return old
    if old is None or _MIXED.search(path):
        return new
    name = path.rpartition("/")[2]
    if name == "package.json":
        before, after = _json(old), _json(new)
        if before is None or after is None:
            return new
        own = {key: before[key] for key in _KEYS if key in before}
        return json.dumps({**{key: value for key, value in after.items() if key not in _KEYS}, **own}, indent=2)
    said = _SECTIONS.get(name)
    if said is None:
        return new
    kept = [part for header, part in _sections(new) if not said.match(header)]
    return "".join([*kept, "\n", *(part for header, part in _sections(old) if said.match(header))])


def is_mixed(path: str) -> bool:
    """Does a manifest hold the runner's settings in a way that cannot be told from the rest?"""
    return bool(_MIXED.search(path))


def _sections(text: str) -> Iterator[tuple[str, str]]:
    """(header, text with its header) of each section; "" before the first."""
    header, held = "", list[str]()
    for line in text.splitlines(keepends=True):
        found = _HEADER.match(line)
        if found:
            yield header, "".join(held)
            header, held = found[1], []
        held.append(line if line.endswith("\n") else f"{line}\n")
    yield header, "".join(held)


def _json(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def with_new_places(old: str, new: str | None) -> str:
    """Settings of pytest as they were, with where the code is as they say it now (`pythonpath`, on one line)."""
    found = _PLACES.search(new or "")
    return _PLACES.sub(lambda _: found[0], old) if found else old
