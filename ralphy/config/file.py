"""One config.yaml as flat settings: dotted names, checked values, and the line of each.

A key that nobody knows is an error with a suggestion, because a misspelt limit is a limit that is off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ralphy.config.fields import Field, Place, UnfitError, accept, short, unknown
from ralphy.config.strict_yaml import Document, parse

# The other `ralphy` (an npm package) keeps these in a file of the same name.
_FOREIGN = frozenset(
    (
        *("commands", "rules", "boundaries", "capabilities", "notifications"),
        *("project.language", "project.framework", "project.description"),
    )
)


@dataclass(frozen=True, slots=True)
class FileValues:
    """`values` is dotted name → (value, line)."""

    values: Mapping[str, tuple[object, int]]
    warnings: tuple[str, ...]


def read_values(data: bytes, where: str, known: Mapping[str, Field]) -> FileValues:
    """What the file sets; raises InvalidInput with "path:line" for anything that is not a known setting."""
    document = parse(data, where)
    values: dict[str, tuple[object, int]] = {}
    foreign: list[str] = []
    for path, value in _settings(document, where, known):
        dotted = ".".join(map(str, path))
        if dotted in _FOREIGN:
            foreign.append(dotted)
            continue
        try:
            if dotted not in known:
                raise unknown(dotted, _siblings(path, known))
            values[dotted] = accept(known[dotted], value), document.lines[path]
        except UnfitError as error:
            raise error.at(f"{where}:{document.lines[(*path, *error.inner)]}") from None
    said = f"{where}: this looks like another tool's file; ignored: {', '.join(foreign)} (put commands under checks)"
    return FileValues(values, (said,) if foreign else ())


def _settings(document: Document, where: str, known: Mapping[str, Field]) -> Iterator[tuple[Place, object]]:
    """(section and key, value); a section whose settings are all commented out has none."""
    root = document.root
    sections = {name.split(".")[0] for name in known if "." in name}
    if root is not None and not isinstance(root, dict):
        raise UnfitError(f"is {short(root)}, must be a mapping of settings").at(f"{where}:1")
    for key, value in (root or {}).items():
        if key not in sections:
            yield (key,), value
        elif isinstance(value, dict):
            yield from (((key, inner), one) for inner, one in value.items())
        elif value is not None:
            raise UnfitError(f"{key} is {short(value)}, must be a mapping").at(f"{where}:{document.lines[(key,)]}")


def _siblings(path: Place, known: Mapping[str, Field]) -> list[str]:
    if len(path) == 1:
        return list(dict.fromkeys(name.split(".")[0] for name in known))
    return [name.split(".")[1] for name in known if name.startswith(f"{path[0]}.")]
