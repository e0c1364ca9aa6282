"""The table of processes: ending those that carry a marker in their environment.

A pid alone names nobody, since pids are used again: psutil knows a process by its pid together with its start time.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

RUN_MARKER = "RALPHY_RUN_ID"  # the run a process belongs to
REPO_MARKER = "RALPHY_REPO"  # the repository whose runs it belongs to

SWEEPS = 20
DEATH_S = 1.0
ORPHANS_S = 3.0
LOOK_S = 0.005


def sweep(variable: str, value: str) -> int:
    """Kill our user's processes that were started with `variable` set to `value`; how many.

    Never kills this process or an ancestor of it. An empty value matches nothing.
    """
    import psutil

    if not value:
        return 0
    spared = {one.pid for one in _lineage()}
    killed: set[psutil.Process] = set()
    for _ in range(SWEEPS):  # those killed may have forked in between
        table = [one for one in psutil.process_iter() if one.pid not in spared]
        doomed = [one for one in table if _carries(one, variable, value) and _is_ours(one)]
        if not doomed:
            break
        killed |= _kill(doomed)
    return len(killed)


def await_orphans(scripts: Collection[str], within_s: float = ORPHANS_S) -> None:
    """Wait until no script of these ends its work for a Ralphy that is dead: what it notes last is read next.

    Each is a file, called as `python -I -S SCRIPT …`; a supervisor names the pid of its Ralphy behind its link.
    """
    import psutil

    _await_ends([one for one in psutil.process_iter() if _is_orphan(one, scripts)], within_s)


def descends_from(variable: str, value: str) -> bool:
    """Was this process, or one that it descends from, started with `variable` set to `value`?"""
    return any(_carries(one, variable, value) for one in _lineage())


def _is_orphan(one: psutil.Process, scripts: Collection[str]) -> bool:
    import psutil

    try:
        words = one.cmdline()
        if len(words) < 6 or words[3] not in scripts:
            return False
        return not words[5].isdecimal() or not _lives(psutil.Process(int(words[5])))
    except psutil.NoSuchProcess as gone:  # the script, or the Ralphy that it names
        return gone.pid != one.pid
    except (psutil.Error, OSError):
        return False


def _kill(doomed: Sequence[psutil.Process]) -> set[psutil.Process]:
    """Stop all, kill all, wait for their ends for a second at most; those that were there to be killed."""
    import psutil

    there = set()
    for number in (signal.SIGSTOP, signal.SIGKILL):  # none forks while others are killed
        for one in doomed:
            with suppress(psutil.Error):  # gone; psutil signals nobody who was given the pid since
                one.send_signal(number)
                there.add(one)
    _await_ends(doomed, DEATH_S)
    return there


def _await_ends(processes: Sequence[psutil.Process], within_s: float) -> None:
    end = time.monotonic() + within_s
    while (processes := [one for one in processes if _lives(one)]) and time.monotonic() < end:
        time.sleep(LOOK_S)


def _lives(one: psutil.Process) -> bool:
    """A zombie does not."""
    import psutil

    try:
        return bool(one.is_running() and one.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _carries(one: psutil.Process, variable: str, value: str) -> bool:
    import psutil

    try:
        return one.environ().get(variable) == value
    except (psutil.Error, OSError):
        return False


def _is_ours(one: psutil.Process) -> bool:
    import psutil

    try:
        return one.uids().effective == os.geteuid()
    except (psutil.Error, OSError):
        return False


def _lineage() -> list[psutil.Process]:
    """This process and all its ancestors."""
    import psutil

    me = psutil.Process()
    return [me, *me.parents()]
