"""A person's own folders, as the XDG base directory specification defines them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_USUAL = {"XDG_CONFIG_HOME": ".config", "XDG_STATE_HOME": ".local/state", "XDG_CACHE_HOME": ".cache"}


def config_folder(env: Mapping[str, str]) -> Path | None:
    """Where programs keep a person's settings; None without a home."""
    return _folder("XDG_CONFIG_HOME", env)


def state_folder(env: Mapping[str, str]) -> Path | None:
    """Where programs keep their state; None without a home."""
    return _folder("XDG_STATE_HOME", env)


def cache_folder(env: Mapping[str, str]) -> Path | None:
    """Where programs keep what they can recreate; None without a home."""
    return _folder("XDG_CACHE_HOME", env)


def _folder(name: str, env: Mapping[str, str]) -> Path | None:
    set_to, home = env.get(name, ""), env.get("HOME", "")
    if Path(set_to).is_absolute():  # the specification ignores a relative one
        return Path(set_to)
    return Path(home, _USUAL[name]) if home else None
