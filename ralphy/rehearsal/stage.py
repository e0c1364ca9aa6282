"""What an act has at hand while it is played: the scene, the stream, and a tally of what was done."""

from __future__ import annotations

from ralphy.rehearsal import files
from ralphy.rehearsal.scene import Scene
from ralphy.rehearsal.stream import Stream


class Stage:
    """`touched` are the files changed so far; `is_red` says that the last command failed.

    `group` is the process group of the command that runs now, else 0.
    """

    def __init__(self, scene: Scene, stream: Stream) -> None:
        self.scene = scene
        self.stream = stream
        self.touched: set[str] = set()
        self.is_red = False
        self.group = 0

    def path(self, name: str) -> str:
        """The absolute path of `name`, which is relative to the working folder; placeholders are filled."""
        return files.join(self.scene.cwd, self.scene.fill(name))
