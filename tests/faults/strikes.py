"""What strikes a running Ralphy from outside: signals to it and its children, a full disk, a person; and when."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.engine.building import Project

MILESTONES = (
    "run_recorded", "laid_out", "agent_ended", "run_redacted", "candidate_written", "judged", "objects_written",
    "intent_recorded", "refs_moved", "files_replaced", "end_recorded", "attempt_kept", "artifact_written",
    "stories_written", "approval_written", "marker_consumed", "branch_made", "pushed", "pull_request_made", "code_kept",
    "documents_noted", "documents_laid_out", "index_recorded", "checkout_followed",
)  # fmt: skip
A_PERSON = "a person"
LOOK_S = 0.003


@dataclass(frozen=True, slots=True)
class Strike:
    """What happens, and when: after some seconds, or so long after the journal's next so many lines.

    `at` names a milestone instead: then Ralphy is driven by a program that ends itself there.
    """

    kind: str
    after_s: float
    lines: int = 0
    at: str = ""
    nth: int = 1


def draw(chance: random.Random, kinds: dict[str, int]) -> Strike:
    """A strike of one of the kinds (with their weights) at some moment."""
    (kind,) = chance.choices(list(kinds), weights=list(kinds.values()))
    if kind == "milestone":
        return Strike(kind, 0.0, 0, chance.choice(MILESTONES), chance.randint(1, 3))
    if chance.random() < 0.6:
        return Strike(kind, chance.uniform(0.0, 0.12), chance.randint(1, 9))
    return Strike(kind, chance.uniform(0.0, 2.2))


def await_moment(strike: Strike, project: Project, process: subprocess.Popen[str]) -> bool:
    """Wait for the strike's moment; False if Ralphy has ended before."""
    journal = project.repo / ".git" / "ralphy" / "journal.jsonl"
    before = _lines(journal)
    while strike.lines and _lines(journal) < before + strike.lines:
        if process.poll() is not None:
            return False
        time.sleep(LOOK_S)
    end = time.monotonic() + strike.after_s
    while (left := end - time.monotonic()) > 0:
        if process.poll() is not None:
            return False
        time.sleep(min(left, LOOK_S))
    return process.poll() is None


def _lines(path: Path) -> int:
    try:
        return path.read_bytes().count(b"\n")
    except OSError:
        return 0


def hit(strike: Strike, project: Project, process: subprocess.Popen[str]) -> bool:
    """Do it; False if nothing was there to be hit."""
    return HITS[strike.kind](project, process)


def to_ralphy(*numbers: signal.Signals) -> Callable[[Project, subprocess.Popen[str]], bool]:
    """Signals to Ralphy's process alone."""

    def strike(project: Project, process: subprocess.Popen[str]) -> bool:
        for number in numbers:
            process.send_signal(number)
            time.sleep(0.05 if len(numbers) > 1 else 0)
        return True

    return strike


def to_group(number: signal.Signals) -> Callable[[Project, subprocess.Popen[str]], bool]:
    """A signal as the terminal sends it, to everybody in the foreground."""

    def strike(project: Project, process: subprocess.Popen[str]) -> bool:
        os.killpg(process.pid, number)
        return True

    return strike


def to_child(word: str, number: signal.Signals = signal.SIGKILL) -> Callable[[Project, subprocess.Popen[str]], bool]:
    """A signal to a descendant whose command line holds a word; it is waited for a little."""

    def strike(project: Project, process: subprocess.Popen[str]) -> bool:
        end = time.monotonic() + 0.5
        while time.monotonic() < end and process.poll() is None:
            for child in _descendants(process.pid):
                with contextlib.suppress(psutil.Error, ProcessLookupError):
                    if word in " ".join(child.cmdline()[:8]):
                        child.send_signal(number)
                        return True
            time.sleep(LOOK_S)
        return False

    return strike


def _descendants(pid: int) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        return list(psutil.Process(pid).children(recursive=True))
    return []


def fill_disk(project: Project, process: subprocess.Popen[str]) -> bool:
    """Leave no byte on the small disk that the repository or its lanes lie on, until `make_room`."""
    fill(ballast(project))
    return True


def fill(path: Path) -> None:
    """Take all the room that there is."""
    for size in (65536, 1):
        with contextlib.suppress(OSError), path.open("ab", buffering=0) as file:
            while True:
                file.write(b"\0" * size)


def make_room(project: Project) -> None:
    ballast(project).unlink(missing_ok=True)


def ballast(project: Project) -> Path:
    return Path(project.env["SMALL_DISK"]) / "ballast"


HITS: dict[str, Callable[[Project, subprocess.Popen[str]], bool]] = {
    "kill ralphy": to_ralphy(signal.SIGKILL),
    "kill the group": to_group(signal.SIGKILL),
    "kill the supervisor": to_child("supervisor.py"),
    "kill the agent": to_child("rehearsal"),
    "kill a git": to_child("git"),
    "kill the Git of a lane": to_child("update-index"),
    "kill a check": to_child("check.py"),
    "interrupt": to_group(signal.SIGINT),
    "interrupt ralphy alone": to_ralphy(signal.SIGINT),
    "interrupt twice": to_ralphy(signal.SIGINT, signal.SIGINT),
    "terminate": to_ralphy(signal.SIGTERM),
    "hang up": to_ralphy(signal.SIGHUP),
    "terminate, then kill": to_ralphy(signal.SIGTERM, signal.SIGKILL),
    "fill the disk": fill_disk,
}
ORDINARY = {
    "kill ralphy": 10, "kill the group": 2, "kill the supervisor": 3, "kill the agent": 4, "kill a git": 4,
    "kill the Git of a lane": 3, "kill a check": 2, "interrupt": 3, "interrupt ralphy alone": 2, "interrupt twice": 2,
    "terminate": 3, "hang up": 2, "terminate, then kill": 3, "milestone": 8, A_PERSON: 14,
}  # fmt: skip
ON_A_SMALL_DISK = {"fill the disk": 3, "kill ralphy": 1}
