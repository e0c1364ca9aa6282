"""Features that appeared while an untrusted program could have made them: nobody works on them until a person says so.

The note lies with Ralphy's own state, where Git's `clean` does not reach.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ralphy.files.atomic import read_text, replace_file

_NAME = "held-features"


def held(state_dir: Path) -> frozenset[str]:
    """The names of the features that wait for a person's word."""
    return frozenset(read_text(state_dir / _NAME, 1024 * 1024).split())


def hold(state_dir: Path, names: Iterable[str]) -> None:
    _write(state_dir, held(state_dir) | set(names))


def release(state_dir: Path, name: str) -> bool:
    """Let a feature be worked on. Was it held?"""
    names = held(state_dir)
    if name in names:
        _write(state_dir, names - {name})
    return name in names


def _write(state_dir: Path, names: frozenset[str]) -> None:
    replace_file(state_dir / _NAME, "".join(f"{name}\n" for name in sorted(names)).encode())
