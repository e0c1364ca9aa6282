"""The changes that are judged, as they stand in `changes/`: a folder a runner, a file a change."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

CHANGES = Path(__file__).parent / "changes"
_PROJECT = "project.yaml"


@dataclass(frozen=True, slots=True)
class Project:
    """What a runner's changes begin from: `run` is its check, `needs` the program that must be installed."""

    runner: str
    title: str
    needs: str
    run: str
    files: Mapping[str, str]

    @property
    def command(self) -> str:
        return self.run.replace("{python}", sys.executable)


@dataclass(frozen=True, slots=True)
class Change:
    """A story's change: `files` are whole files after it (None: deleted), `story` the fields that the story has.

    `expected` is what the judges say of it by default: rejected, flagged or landed. The `new` ones were written from
    docs/verification.md alone, as somebody would who wants to get past it.
    """

    runner: str
    name: str
    what: str
    honest: bool
    expected: str
    files: Mapping[str, str | None]
    new: bool = False
    story: Mapping[str, Any] = field(default_factory=dict)


def projects() -> list[Project]:
    return [Project(path.parent.name, **_read(path)) for path in sorted(CHANGES.glob(f"*/{_PROJECT}"))]


def changes(runner: str) -> list[Change]:
    paths = (path for path in sorted((CHANGES / runner).glob("*.yaml")) if path.name != _PROJECT)
    return [Change(runner, path.stem, **_read(path)) for path in paths]


def _read(path: Path) -> dict[str, Any]:
    return dict(yaml.safe_load(path.read_text(encoding="utf-8")))
