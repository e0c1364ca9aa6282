"""The folders of a person's own, as the XDG base directory specification names them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_USUAL = {"XDG_CONFIG_HOME": ".config", "XDG_STATE_HOME": ".local/state", "XDG_CACHE_HOME": ".cache"}


def config_folder(env: Mapping[str, str]) -> Path | None:
    """Where programs keep a person's settings; None without a home."""
    return _folder("XDG_CONFIG_HOME", env)


def state_folder(env: Mapping[str, str]) -> Path | None:
    """Where programs keep what they note; None without a home."""
    return _folder("XDG_STATE_HOME", env)


def cache_folder(env: Mapping[str, str]) -> Path | None:
    """Where programs keep what they can make again; None without a home."""
    return _folder("XDG_CACHE_HOME", env)


def _folder(name: str, env: Mapping[str, str]) -> Path | None:
    set_to, home = env.get(name, ""), env.get("HOME", "")
    if Path(set_to).is_absolute():  # a relative one is void, says the specification
        return Path(set_to)
    return Path(home, _USUAL[name]) if home else None
