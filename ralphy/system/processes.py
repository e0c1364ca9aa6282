"""Processes below another one: `processes` is Linux's way or the portable one, chosen when this is imported."""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import Protocol

from ralphy.system import IS_PORTABLE


class Descendants(Protocol):
    """What the supervisor, the process that makes this, has started and all that came of it.

    `look_again_s` is how often to look while something ends that need not be a child; `watch_s` how often to look
    while nothing happens, infinite where the kernel tells everything.
    """

    look_again_s: float
    watch_s: float

    def become_program(self) -> None:
        """In a forked child, before it becomes the program. Ends the child if the supervisor is gone already."""

    def marks(self) -> dict[str, str]:
        """Variables for the environment of the next program, by which what comes of it is known."""

    def began(self, program: int) -> None:
        """The child `program` was started."""

    def look(self) -> None:
        """Take note of who is there, so that they are known later on."""

    def ended(self) -> None:
        """Nothing is left of the program."""

    def alive(self) -> list[tuple[int, bytes]]:
        """Each with its state; b"Z" is a zombie, whose threads may live on."""

    def are_left(self, *, has_children: bool) -> bool:
        """Is any of them left, when those that were children and are dead have been collected?"""

    def inside(self, pid: int) -> int:
        """What is to be signalled for this child: what runs inside, if it is a sandbox."""


class Processes(Protocol):
    """What can be asked about processes on this system."""

    OPEN_FILES: str

    def hold_descendants(self) -> Descendants:
        """Begin to hold what this process starts; at the death of the parent this one gets SIGHUP, where that is
        possible."""

    def descendants(self, root: int) -> list[int]:
        """The pids of all descendants of a process."""

    def private_bytes(self, pid: int) -> int:
        """Memory that a process has, without what it shares; quickly."""

    def exact_bytes(self, pids: Collection[int]) -> int:
        """Memory of processes, shared pages divided among those who share them: slowly, and as true as can be."""

    def shared_of_machine(self) -> int:
        """Bytes of shared memory on the whole machine; 0 where nobody counts it. One cheap look."""

    def threads_of_machine(self) -> int:
        """How many threads there are in all, or processes where threads are not counted. One cheap look."""


def _chosen() -> Processes:
    if sys.platform == "linux" and not IS_PORTABLE:
        from ralphy.system import linux_processes

        return linux_processes
    from ralphy.system import portable_processes

    return portable_processes


processes: Processes = _chosen()
