"""One config.yaml as flat settings: dotted names, checked values, and the line of each.

An unknown key is an error with a suggestion, because a misspelt limit is a limit that is off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ralphy.config.fields import UnfitError, accept, all_fields, misfits, short, unknown
from ralphy.config.strict_yaml import parse
from ralphy.errors import InvalidInput, joined
from ralphy.text.line_numbers import ValuePath

# The other `ralphy` (an npm package) keeps these in a file of the same name.
_FOREIGN = frozenset(
    (
        *("commands", "rules", "boundaries", "capabilities", "notifications"),
        *("project.language", "project.framework", "project.description"),
    )
)


@dataclass(frozen=True, slots=True)
class Value:
    """A value, and the place it came from: "default", "path:line", a variable, the command line."""

    value: object
    source: str


@dataclass(frozen=True, slots=True)
class Layer:
    """The settings of one place (a file, the environment, the command line) by dotted name."""

    values: Mapping[str, Value]
    warnings: tuple[str, ...] = ()

    def plain(self) -> dict[str, object]:
        """The values alone."""
        return {name: setting.value for name, setting in self.values.items()}


def read_values(data: bytes, where: str) -> Layer:
    """What the file sets; raises InvalidInput with every mistake in it, each with "path:line"."""
    document, known = parse(data, where), all_fields()
    values: dict[str, Value] = {}
    foreign: list[str] = []
    errors: list[InvalidInput] = []
    for path, value in _settings(document.root, where):
        dotted = ".".join(map(str, path))
        if dotted in _FOREIGN:
            foreign.append(dotted)
            continue
        mistakes = list(misfits(known[dotted], value)) if dotted in known else [_unknown(path, value)]
        errors += [one.at(f"{where}:{document.lines[(*path, *one.inner)]}") for one in mistakes]
        if not mistakes:
            values[dotted] = Value(accept(known[dotted], value), f"{where}:{document.lines[path]}")
    if errors:
        raise joined(errors)
    warning = f"{where}: this looks like another tool's file; ignored: {', '.join(foreign)} (put commands under checks)"
    return Layer(values, (warning,) if foreign else ())


def _settings(root: object, where: str) -> Iterator[tuple[ValuePath, object]]:
    """(section and key, value); a section whose settings are all commented out has none."""
    if root is not None and not isinstance(root, dict):
        raise UnfitError(f"the document is {short(root)} but must be a mapping of settings").at(f"{where}:1")
    for key, value in (root or {}).items():
        if key not in _sections():
            yield (key,), value
        elif isinstance(value, dict):
            yield from (((key, inner), one) for inner, one in value.items())
        elif value is not None:
            yield (key,), value


def _sections() -> set[str]:
    return {name.split(".")[0] for name in all_fields() if "." in name}


def _unknown(path: ValuePath, value: object) -> UnfitError:
    """Why there is no setting of this name."""
    if len(path) == 1 and path[0] in _sections():
        return UnfitError(f"{path[0]} is {short(value)} but must be a mapping")
    return unknown(".".join(map(str, path)), _siblings(path))


def _siblings(path: ValuePath) -> list[str]:
    if len(path) == 1:
        return list(dict.fromkeys(name.split(".")[0] for name in all_fields()))
    return [name.split(".")[1] for name in all_fields() if name.startswith(f"{path[0]}.")]
