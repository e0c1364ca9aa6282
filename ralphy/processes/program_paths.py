"""Ralphy's own programs (git, gh, bwrap, the agent): looked up once, and never in the checkout.

An agent can put a `git` into a `.venv/bin` that is on PATH. Agents and checks keep the person's PATH; what Ralphy
starts outside of the sandbox, and what that starts (ssh, a credential helper), is looked up along `own_path`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import cache

OUTSIDE = "install it outside; in a clone of Ralphy: pipx install . (or uv tool install .)"
UNSET = "an agent could put modules there that your next Python runs: unset it for Ralphy"
GIT, GH, BWRAP = "git", "gh", "bwrap"
# Lists of paths from which a program, or its interpreter, loads code at its start.
_LOADED = ("PYTHONPATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "PERL5LIB", "RUBYLIB", "NODE_PATH", "BASH_ENV")


def own_path(path: str, root: str) -> str:
    """PATH without entries that are relative, or lie in the checkout at `root` under any name."""
    entries = (entry for entry in path.split(os.pathsep) if os.path.isabs(entry))
    return os.pathsep.join(entry for entry in entries if not lies_in(entry, root))


def own_environment(env: Mapping[str, str], root: str) -> dict[str, str]:
    """The environment of Ralphy's own programs: with their PATH, and without paths from which they would load code of
    the checkout."""
    outside = {name: own_path(env[name], root) for name in _LOADED if env.get(name)}
    path = own_path(env.get("PATH", os.defpath), root)
    return {name: value for name, value in {**env, **outside, "PATH": path}.items() if value or name not in outside}


def python_path_in(root: str, env: Mapping[str, str]) -> list[str]:
    """The entries of PYTHONPATH that lie in the checkout: every Python that starts can run code from them."""
    entries = env.get("PYTHONPATH", "").split(os.pathsep)
    return [entry for entry in entries if os.path.isabs(entry) and (entry == root or lies_in(entry, root))]


def root_around(start: str) -> str:
    """The checkout that holds a path, found without Git; "" outside of one."""
    at = os.path.abspath(start)
    while not os.path.lexists(os.path.join(at, ".git")):
        if at == os.path.dirname(at):
            return ""
        at = os.path.dirname(at)
    return at


def leave_checkout() -> None:
    """Import nothing from the checkout around the current folder from now on, unless this Ralphy lies in it."""
    try:
        root = root_around(os.curdir)
    except OSError:  # the current folder is gone
        return
    if root and not installed_in(root):
        sys.path[:] = [at for at in sys.path if os.path.isabs(at) and not lies_in(at, root)]


def find(name: str, env: Mapping[str, str], root: str = "") -> str | None:
    """The absolute path of a program outside of the checkout; None if there is none. Looked up once."""
    return _find(name, env.get("PATH", os.defpath), root)


def with_usual_places(env: Mapping[str, str]) -> str:
    """The PATH of an environment, followed by the folders of the system's own tools."""
    return ":".join(filter(None, (env.get("PATH"), os.defpath)))


def installed_in(root: str) -> list[str]:
    """The folders in the checkout that this Ralphy runs from (its environment, its code): agents can write to them."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return [place for place in (sys.prefix, package) if lies_in(place, root)]


@cache
def _find(name: str, path: str, root: str) -> str | None:
    for folder in own_path(path, root).split(os.pathsep):
        place = os.path.join(folder, name)
        is_program = folder and os.path.isfile(place) and os.access(place, os.X_OK)
        if is_program and not lies_in(os.path.realpath(place), root):
            return place
    return None


def lies_in(place: str, root: str) -> bool:
    """Does a path lie in the checkout: literally, through links, or through another mount of it?"""
    if not root:
        return False
    names = (f"{place}/", f"{os.path.normpath(place)}/")
    if any(name.startswith((f"{root}/", f"{os.path.realpath(root)}/")) for name in names):
        return True
    at, top = os.path.realpath(place), _identity(root)
    while top and at != os.path.dirname(at):
        if _identity(at) == top:
            return True
        at = os.path.dirname(at)
    return False


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
