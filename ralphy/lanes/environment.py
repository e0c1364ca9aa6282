"""The variables of programs in a lane without walls: whatever leads into the checkout leads into the lane."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

# Variables that may name the checkout by another path: through a link.
_LISTS = ("PATH", "VIRTUAL_ENV", "PYTHONPATH", "NODE_PATH", "PWD", "OLDPWD")
# A path begins after nothing that belongs to a longer one; -I, -L and -B are compilers' options.
_BEFORE = r"(?:(?<![\w.~+%@/-])|(?<=(?<!\w)-[ILB])|(?<=:/)|(?<=://)|(?<=:///))"
_AFTER = r"(?![\w.~+%@-])"


def rewritten(env: Mapping[str, str], checkout_root: Path, lane_tree: Path) -> dict[str, str]:
    """The environment for a lane that lies at a path of its own: whatever leads into the checkout leads into the lane.

    What shall go on to name the checkout (an outbox) is set afterwards.
    """
    pattern = re.compile(_BEFORE + re.escape(str(checkout_root)) + _AFTER)
    there = str(lane_tree)
    moved = {name: pattern.sub(lambda _: there, value) for name, value in env.items()}
    named = {name: _moved_list(moved[name], checkout_root, lane_tree) for name in _LISTS if name in moved}
    return {**moved, **named}


def _moved_list(value: str, root: Path, tree: Path) -> str:
    return os.pathsep.join(_moved(part, root, tree) for part in value.split(os.pathsep))


def _moved(part: str, root: Path, tree: Path) -> str:
    """A path that leads into the checkout by another name for it, as the path in the lane."""
    path = Path(part)
    if not path.is_absolute() or path.is_relative_to(tree):
        return part
    for folder in (path, *path.parents):
        try:
            if folder.samefile(root):
                return str(tree / path.relative_to(folder))
        except OSError:
            continue
    return part
