"""What a program to run is, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ralphy.errors import EnvironmentProblem

FILTER_AT = 3  # a descriptor of the program, after stdin, stdout and stderr
# Variables in the environment of all that Ralphy starts: by their values it finds those processes again.
RUN_MARKER = "RALPHY_RUN_ID"  # the run a process belongs to
REPO_MARKER = "RALPHY_REPO"  # the repository whose runs it belongs to


@dataclass(frozen=True, slots=True)
class Command:
    """A program to run. `env` is its whole environment, `stdin` all of its input; a `filter` can be read at the
    descriptor FILTER_AT."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    deadline_s: float
    stdin: bytes = b""
    filter: bytes = b""


@dataclass(frozen=True, slots=True)
class Exit:
    """How a program ended. `returncode` is negative for a signal; `stopped` is why Ralphy ended it ("deadline", or the
    reason from `should_stop`), None if it ended by itself."""

    returncode: int | None
    stopped: str | None
    duration_s: float


class NotStarted(EnvironmentProblem):
    """The program could not be executed: missing, not executable, or its folder is gone."""
