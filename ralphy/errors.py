"""Trouble with Ralphy's ground: exceptions that are caught once, at the command line.

Trouble with the *work* (red checks, a limit, a crashed agent) is an outcome, never an exception.
A message says what is wrong; `where` says which file, line and field; `hint` says what to do.
"""

from __future__ import annotations

from collections.abc import Sequence


class ExitCode:
    """What a `ralphy` process returns; docs/reference/exit-codes.md is generated from here."""

    DONE = 0
    UNEXPECTED = 1
    NOT_FOUND = 2
    INVALID = 3
    CONFLICT = 4
    ENVIRONMENT = 5
    WAITING = 10
    STORIES_OPEN = 11
    BREAKER_OPEN = 12
    BUDGET = 13
    LIMITED = 14
    INTERRUPTED = 130
    TERMINATED = 143


EXIT_MEANINGS = {
    ExitCode.DONE: "done",
    ExitCode.UNEXPECTED: "unexpected: a defect of Ralphy's own",
    ExitCode.NOT_FOUND: "not found: no such feature, story or file",
    ExitCode.INVALID: "invalid input or usage: prd.json, config.yaml or the command line",
    ExitCode.CONFLICT: "conflict: another Ralphy, a dirty tree, a red baseline, a merge in progress",
    ExitCode.ENVIRONMENT: "environment: claude, git, gh, the sandbox or the disk",
    ExitCode.WAITING: "waiting for a person: at a gate, or for an answer in QUESTIONS.md",
    ExitCode.STORIES_OPEN: "ended with failed or blocked stories",
    ExitCode.BREAKER_OPEN: "the circuit breaker is open: repeated runs made no progress",
    ExitCode.BUDGET: "budget, iterations or time reached",
    ExitCode.LIMITED: "the provider's limit, when it is not waited for",
    ExitCode.INTERRUPTED: "interrupted (Ctrl-C)",
    ExitCode.TERMINATED: "terminated (SIGTERM)",
}


class RalphyError(Exception):
    """Base of every error with a message for a person: what, where, and what to do."""

    exit_code = ExitCode.UNEXPECTED

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what


class NotFound(RalphyError):
    """Something that was named does not exist."""

    exit_code = ExitCode.NOT_FOUND


class InvalidInput(RalphyError):
    """A file or an argument does not say what it must; nothing has been touched."""

    exit_code = ExitCode.INVALID


def joined(errors: Sequence[InvalidInput], most: int = 100) -> InvalidInput:
    """One error for one or more: a line each for the first `most`, with its place and its hint.

    A hint that all of them share stands once, as the hint of the whole.
    """
    first, common = errors[0], {error.hint for error in errors}
    lines = []
    for error in errors[:most]:
        hint = f" ({error.hint})" if error.hint and len(common) > 1 else ""
        lines.append(f"{error.what if error is first else error}{hint}")
    if len(errors) > most:
        lines.append(f"… and {len(errors) - most} more")
    return InvalidInput("\n".join(lines), where=first.where, hint=first.hint if len(common) == 1 else "")


class Conflict(RalphyError):
    """The state of the repository or another process stands in the way."""

    exit_code = ExitCode.CONFLICT


class BranchMoved(Conflict):
    """A ref is not where it was: somebody has moved it meanwhile."""


class EnvironmentProblem(RalphyError):
    """A program, a credential or the disk is missing or refuses."""

    exit_code = ExitCode.ENVIRONMENT


class DiskFull(EnvironmentProblem):
    """Nothing can be written for want of room: what was there is intact, and waiting may help."""
