"""One config.yaml as flat settings: dotted names, checked values, and the line of each.

A key that nobody knows is an error with a suggestion, because a misspelt limit is a limit that is off.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ralphy.config.fields import CHECK_KINDS, Field, UnfitError, accept
from ralphy.config.strict_yaml import Document, Place, parse, short
from ralphy.config.values import Check
from ralphy.errors import InvalidInput

# The other `ralphy` (an npm package) keeps these in a file of the same name.
_FOREIGN = frozenset(
    (
        *("commands", "rules", "boundaries", "capabilities", "notifications"),
        *("project.language", "project.framework", "project.description"),
    )
)
_ELSEWHERE = {"retry": "limits.max_attempts", "tests": "checks", "model": "models.implementation"}
_MAX_CHECKS = 50


@dataclass(frozen=True, slots=True)
class FileValues:
    """`values` is dotted name → (value, line)."""

    values: Mapping[str, tuple[object, int]]
    warnings: tuple[str, ...]


def read_values(data: bytes, where: str, known: Mapping[str, Field]) -> FileValues:
    """What the file sets; raises InvalidInput with "path:line" for anything that is not a known setting."""
    reading = _Reading(parse(data, where), where, known)
    values = dict(reading.values())
    return FileValues(values, tuple(reading.warnings()))


class _Reading:
    """One document, and where it stands."""

    def __init__(self, document: Document, where: str, known: Mapping[str, Field]) -> None:
        self._root = {} if document.root is None else document.root
        self._lines = document.lines
        self._where = where
        self._known = known
        self._sections = {name.split(".")[0] for name in known if "." in name}
        self._foreign: list[str] = []

    def values(self) -> Iterator[tuple[str, tuple[object, int]]]:
        if not isinstance(self._root, dict):
            raise self._error((), f"is {short(self._root)}, must be a mapping of settings")
        for key, value in self._root.items():
            if key not in self._sections:
                yield from self._setting((key,), value)
            elif isinstance(value, dict):
                for inner, setting in value.items():
                    yield from self._setting((key, inner), setting)
            elif value is not None:  # a section whose settings are all commented out
                raise self._error((key,), f"{key} is {short(value)}, must be a mapping")

    def warnings(self) -> Iterator[str]:
        if self._foreign:
            listed = ", ".join(self._foreign)
            yield (f"{self._where}: this looks like another tool's file; ignored: {listed} (put commands under checks)")

    def _setting(self, path: Place, value: object) -> Iterator[tuple[str, tuple[object, int]]]:
        dotted = ".".join(str(part) for part in path)
        if dotted in self._known:
            taken = self._checks(value) if dotted == "checks" else self._taken(self._known[dotted], path, value)
            yield dotted, (taken, self._lines[path])
        elif dotted in _FOREIGN:
            self._foreign.append(dotted)
        else:
            raise self._unknown(path, dotted)

    def _taken(self, field: Field, path: Place, value: object, name: str = "") -> object:
        try:
            return accept(field, value)
        except UnfitError as error:
            raise self._error(path, f"{name or field.dotted} is {short(value)}, must be {error}") from None

    def _checks(self, value: object) -> tuple[Check, ...] | None:
        if value is None:
            return None
        if not isinstance(value, list) or len(value) > _MAX_CHECKS:
            expected = self._known["checks"].expected
            raise self._error(("checks",), f"checks is {short(value)}, must be {expected}, at most {_MAX_CHECKS}")
        checks = tuple(self._check(number, item) for number, item in enumerate(value))
        names = [check.name for check in checks]
        for number, name in enumerate(names):
            if name in names[:number]:
                raise self._error(("checks", number), f'two checks have the name "{name}"')
        return checks

    def _check(self, number: int, item: object) -> Check:
        path: Place = ("checks", number)
        if not isinstance(item, dict):
            raise self._error(path, f"checks[{number}] is {short(item)}, must be {{name, run, timeout_s}}")
        for key in item:
            if key not in CHECK_KINDS:
                raise self._unknown((*path, key), f"checks[{number}].{key}", tuple(CHECK_KINDS))
        for key in ("name", "run"):
            if key not in item:
                raise self._error(path, f"checks[{number}] has no {key}")
        values: dict[str, Any] = {key: self._check_value(number, key, item[key]) for key in item}
        return Check(**values)

    def _check_value(self, number: int, key: str, value: object) -> object:
        field = Field(f"checks[].{key}", CHECK_KINDS[key], None)
        return self._taken(field, ("checks", number, key), value, f"checks[{number}].{key}")

    def _unknown(self, path: Place, dotted: str, candidates: tuple[str, ...] = ()) -> InvalidInput:
        key = str(path[-1])
        siblings = candidates or self._siblings(path)
        close = difflib.get_close_matches(key, siblings, 1) or self._namesakes(key)
        hint = f'did you mean "{close[0]}"?' if close else f"known here: {', '.join(siblings)}"
        return self._error(path, f"{short(dotted)} is not a setting", hint)

    def _siblings(self, path: Place) -> tuple[str, ...]:
        if len(path) == 1:
            return tuple(dict.fromkeys(name.split(".")[0] for name in self._known))
        return tuple(name.split(".")[1] for name in self._known if name.startswith(f"{path[0]}."))

    def _namesakes(self, key: str) -> list[str]:
        """The same key in another section, or what the word of another version is called here."""
        return [name for name in self._known if name.endswith(f".{key}")] or [
            name for word, name in _ELSEWHERE.items() if word == key
        ]

    def _error(self, path: Place, what: str, hint: str = "") -> InvalidInput:
        return InvalidInput(what, where=f"{self._where}:{self._lines.get(path, 1)}", hint=hint)
