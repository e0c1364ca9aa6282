"""The small read model behind `ralphy status`: what was last worked out, and the files that it was true of.

Working out where a feature stands takes git and the whole of core; reading a file and comparing a few
stats takes a millisecond. The view is a cache in git's common directory: when anything it was made of has
changed, it is not used. Imports stay few on purpose.
"""

from __future__ import annotations

import json
import os

from ralphy.files.git_places import common_of
from ralphy.files.safe_open import read_safely

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_VIEWS = (".ralphy", "TASKS.md", "REPORT.md", "REPORT.html")
_OF_GIT = ("HEAD", "index", "MERGE_HEAD")


class Place:
    """A feature folder and its repository, found by walking up: no git process.

    `feature_path` is relative to `root`; `common_dir` is what all worktrees share.
    """

    def __init__(self, root: str, git_dir: str, feature_path: str) -> None:
        self.root = root
        self.git_dir = git_dir
        self.common_dir = common_of(git_dir)
        self.feature_path = feature_path

    @property
    def name(self) -> str:
        return self.feature_path.rsplit("/", 1)[-1]

    @property
    def view(self) -> str:
        """Where the view of this feature in this checkout lies."""
        checkout = "main" if self.git_dir == self.common_dir else os.path.basename(self.git_dir)
        name = f"{self.feature_path.replace('/', '__')}.json"
        return os.path.join(self.common_dir, "ralphy", "status", checkout, name)

    def seen(self) -> list[list[Any]]:
        """The paths and stats of everything that a view is made of."""
        folder = os.path.join(self.root, self.feature_path)
        paths = [os.path.join(folder, ".ralphy", "config.yaml"), *_files(folder)]
        paths += [os.path.join(self.git_dir, name) for name in _OF_GIT]
        paths += [os.path.join(self.root, ".ralphy", "config.yaml"), self._branch_file()]
        paths.append(os.path.join(self.common_dir, "ralphy", "journal.jsonl"))
        paths.append(os.path.join(self.common_dir, "ralphy", "sealed", f"{os.path.basename(self.feature_path)}.md"))
        return [[path, *stamp(path)] for path in paths]

    def _branch_file(self) -> str:
        try:
            ref = os.fsdecode(read_safely(os.path.join(self.git_dir, "HEAD"))).strip()
        except OSError:
            return self.git_dir
        return os.path.join(self.common_dir, ref[5:]) if ref.startswith("ref: ") else self.git_dir


def _files(folder: str) -> list[str]:
    """All that lies in a feature's folder, and the documents of its stories."""
    found: list[str] = []
    for at in (folder, os.path.join(folder, "stories")):
        try:
            names = sorted(os.listdir(at))
        except OSError:
            continue
        found += [os.path.join(at, name) for name in names if name not in _VIEWS]
    return found


def stamp(path: str) -> list[Any]:
    try:
        found = os.lstat(path)
    except OSError:
        return []
    return [found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def load(place: Place) -> dict[str, Any] | None:
    """The view, if it is still true; else None."""
    try:
        kept = json.loads(read_safely(place.view))
    except (OSError, ValueError):
        return None
    if not isinstance(kept, dict) or kept.get("seen") != place.seen():
        return None
    value = kept.get("value")
    return value if isinstance(value, dict) else None


def save(place: Place, value: dict[str, Any], seen: list[list[Any]]) -> None:
    """Keep a view with what it was made of; a cache that cannot be written is simply not there."""
    temporary = f"{place.view}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(place.view), exist_ok=True)
        with open(temporary, "w") as out:
            json.dump({"seen": seen, "value": value}, out)
        os.replace(temporary, place.view)
    except OSError:
        return
