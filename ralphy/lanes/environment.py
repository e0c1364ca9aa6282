"""The variables of programs in a lane without walls: whatever leads into the checkout leads into the lane."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

# Variables that may name the checkout by another path: through a link.
_LISTS = ("PATH", "VIRTUAL_ENV", "PYTHONPATH", "NODE_PATH", "PWD", "OLDPWD")
# A path begins after nothing that belongs to a longer one; -I, -L and -B are compilers' options.
_BEFORE = r"(?:(?<![\w.~+%@/-])|(?<=(?<!\w)-[ILB])|(?<=:/)|(?<=://)|(?<=:///))"
_AFTER = r"(?![\w.~+%@-])"


def rewritten(env: Mapping[str, str], checkout_root: Path, lane_tree: Path) -> dict[str, str]:
    """The environment for a lane without walls: each path in the checkout becomes the path in the lane.

    Variables that must still name the checkout (an outbox) are set afterwards.
    """
    names = "|".join(re.escape(name) for name in {str(checkout_root), *_other_names(env, checkout_root)})
    pattern, lane = re.compile(f"{_BEFORE}(?:{names}){_AFTER}"), str(lane_tree)
    return {name: pattern.sub(lambda _: lane, value) for name, value in env.items()}


def _other_names(env: Mapping[str, str], root: Path) -> Iterator[str]:
    """The paths through links by which variables name the checkout."""
    paths = {Path(part) for name in _LISTS for part in env.get(name, "").split(os.pathsep)}
    for folder in {folder for path in paths if path.is_absolute() for folder in (path, *path.parents)}:
        try:
            if folder.samefile(root):
                yield str(folder)
        except OSError:
            continue
