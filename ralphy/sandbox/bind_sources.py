"""What a sandbox binds out of a tree that agents can write: looked at before each start, never through a link.

Bubblewrap resolves the sources of its binds outside of the sandbox. A link that an earlier agent or check left in the
place of a source would show whatever it leads to. Between this look and the bind nothing of an agent is alive.

A control path that does not exist is made as an empty folder, and bound: inside, nothing can be put there. Git does not
see empty folders.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ralphy.errors import EnvironmentProblem


@dataclass(frozen=True, slots=True)
class BindSources:
    """What is read-only below `root`, present or not, and other `sources` with the writable folder that they lie in.

    Inside, the root is seen at `shown_at`. When `is_closed`, a link ends it; in the open sandbox it is left out,
    for the machine is visible there anyway.
    """

    root: Path
    shown_at: Path
    kept: tuple[Path, ...]
    sources: tuple[tuple[Path, Path], ...] = ()
    is_closed: bool = False

    def binds(self) -> Iterator[str]:
        """The options, from the state of the tree now. EnvironmentProblem names a link that must not be followed."""
        for folder, path in self.sources:
            _refuse(_link_at(folder, path))
        kept = list[Path]()
        for path in self.kept:
            link = _link_at(self.root, path)
            if self.is_closed:
                _refuse(link)
            if link is None:
                with suppress(FileExistsError):
                    path.mkdir(parents=True)
                kept.append(path)
        for folder in _above(self.root, kept):
            yield from ("--bind", str(folder), self._inside(folder))
        for path in kept:
            yield from ("--ro-bind", str(path), self._inside(path))

    def _inside(self, path: Path) -> str:
        return str(self.shown_at / path.relative_to(self.root))


def _above(root: Path, paths: Sequence[Path]) -> Iterator[Path]:
    """The folders between the root and the paths, the outer before the inner: none can be moved away."""
    above = {root / folder for path in paths for folder in path.relative_to(root).parents[:-1]}
    return iter(sorted(above, key=lambda folder: len(folder.parts)))


def _link_at(root: Path, path: Path) -> Path | None:
    """The first link on the way from the root to a path, the path included."""
    on_the_way = [path, *(folder for folder in path.parents if folder.is_relative_to(root) and folder != root)]
    return next((place for place in reversed(on_the_way) if place.is_symlink()), None)


def _refuse(link: Path | None) -> None:
    if link:
        raise EnvironmentProblem("is a symbolic link: the sandbox would follow it out of the repository",
                                 where=str(link),
                                 hint="check where it leads, then replace it with a folder or delete it")  # fmt: skip
