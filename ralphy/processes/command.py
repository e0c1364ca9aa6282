"""What a program to run is, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ralphy.errors import EnvironmentProblem

FILTER_AT = 3  # the descriptor of a program to run that is behind stdin, stdout and stderr
# Variables in the environment of what Ralphy starts: by their values its processes are found again.
RUN_MARKER = "RALPHY_RUN_ID"  # the run a process belongs to
REPO_MARKER = "RALPHY_REPO"  # the repository whose runs it belongs to


@dataclass(frozen=True, slots=True)
class Command:
    """A program to run. `env` is its whole environment, `stdin` all of its input; one with a `filter` reads that at
    FILTER_AT."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    deadline_s: float
    stdin: bytes = b""
    filter: bytes = b""


@dataclass(frozen=True, slots=True)
class Exit:
    """How it ended. `returncode` is negative for a signal; `stopped` is why we ended it ("deadline", or what
    `should_stop` said), None if it ended by itself."""

    returncode: int | None
    stopped: str | None
    duration_s: float


class NotStarted(EnvironmentProblem):
    """The program could not be executed: missing, not executable, or its folder is gone."""
