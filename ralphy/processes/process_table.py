"""The table of processes: who descends from whom, and ending those that carry a marker in their environment.

A pid alone names nobody, since pids are used again: psutil knows a process by its pid together with its start time.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

import psutil

_SWEEPS = 20
_DEATH_S = 1.0
_ORPHANS_S = 3.0
_LOOK_S = 0.005


def descendants(root: int) -> list[psutil.Process]:
    """All that descend from a process; none where it is gone."""
    try:
        return list(psutil.Process(root).children(recursive=True))
    except psutil.Error:
        return []


def signal_all(processes: Iterable[psutil.Process], *numbers: int) -> None:
    """Send each signal to all of them, one after the other."""
    family = [*processes]
    for number in numbers:
        for one in family:
            with suppress(psutil.Error):  # it is gone, or another user's
                one.send_signal(number)


def sweep(marks: Mapping[str, str]) -> int:
    """Kill our user's processes whose environment has all of these variables; how many. No variables match nothing.

    Never kills this process or an ancestor of it.
    """
    me = psutil.Process()
    spared = {one.pid for one in (me, *me.parents())}
    killed: set[psutil.Process] = set()
    for _ in range(_SWEEPS if marks else 0):  # those killed may have forked in between
        doomed = [one for one in psutil.process_iter() if one.pid not in spared and _is_marked(one, marks)]
        if not doomed:
            break
        signal_all(doomed, signal.SIGSTOP, signal.SIGKILL)  # none forks while others are killed
        _await_ends(doomed, _DEATH_S)
        killed.update(doomed)
    return len(killed)


def await_orphans(script: str) -> None:
    """Wait until no supervisor, `python -I -S SCRIPT LINK RALPHY …`, ends its work for a Ralphy that is dead."""
    _await_ends([one for one in psutil.process_iter() if _is_orphan(one, script)], _ORPHANS_S)


def _is_orphan(one: psutil.Process, script: str) -> bool:
    """Is it a supervisor whose parent is not the Ralphy that it names?"""
    try:
        words = one.cmdline()
        return words[3:4] == [script] and one.ppid() != int(words[5])
    except (psutil.Error, OSError):
        return False


def _await_ends(processes: Sequence[psutil.Process], within_s: float) -> None:
    end = time.monotonic() + within_s
    while (processes := [one for one in processes if _lives(one)]) and time.monotonic() < end:
        time.sleep(_LOOK_S)


def _lives(one: psutil.Process) -> bool:
    """A zombie does not."""
    try:
        return bool(one.is_running() and one.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _is_marked(one: psutil.Process, marks: Mapping[str, str]) -> bool:
    """Is it a process of our user with these variables in its environment?"""
    try:
        return one.uids().effective == os.geteuid() and marks.items() <= one.environ().items()
    except (psutil.Error, OSError):
        return False
