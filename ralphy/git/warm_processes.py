"""A `git update-ref` that is started ahead of its use, so that nobody waits for it between two agents."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from ralphy.errors import BranchMoved, Conflict, DiskFull, EnvironmentProblem
from ralphy.files.disk_space import is_disk_full, problem_said
from ralphy.files.notes import read_note, write_note
from ralphy.git.commands import DURABLE, Repository, resolve

# A lock that another git holds for a moment is waited out.
_PATIENT = ("-c", "core.filesRefLockTimeout=2000", "-c", "core.packedRefsTimeout=2000")


class RefMover:
    """Moves refs by compare-and-swap through one warm `git update-ref`: the commit point of everything.

    `moved` has where it put each ref last.
    """

    def __init__(self, repository: Repository) -> None:
        self.moved: dict[str, str] = {}
        self._repository = repository
        self._process: subprocess.Popen[bytes] | None = None
        self._note = repository.checkout_dir / "moving.json"

    def warm(self) -> None:
        """Start the process ahead of its first use."""
        if self._process is None:
            self._process = self._repository.start(*DURABLE, *_PATIENT, "update-ref", "--stdin", "-m", "ralphy")

    def move(self, updates: Iterable[tuple[str, str, str]]) -> None:
        """Move (ref, new, old) all together, each only if it still is `old` ("": must not exist).

        Raises BranchMoved if a ref was moved by somebody else, Conflict if it is locked or has no room beside another's
        name, EnvironmentProblem for all else; nothing has moved then.
        """
        zero = self._repository.null_oid
        moves = list(updates)
        self.moved |= {ref: new for ref, new, _ in moves}
        rows = "".join(f"update {ref} {new} {old or zero}\n" for ref, new, old in moves)
        try:
            why = self._asked(rows, moves)
            if why == "" and all(resolve(self._repository, ref) == new for ref, new, _ in moves):
                return  # it was done, only the answer is missing
            if why == "":  # the warm process had been ended by somebody: a fresh one is asked
                why = self._asked(rows, moves)
        finally:
            self._note.unlink(missing_ok=True)
        if why is not None:
            raise _refusal(why, self._repository)

    def _asked(self, rows: str, moves: Sequence[tuple[str, str, str]]) -> str | None:
        """Ask a git whose locks are known, should it be killed together with Ralphy."""
        _remove_dead_locks(self._repository, self._note)
        self.warm()
        assert self._process
        self._note.parent.mkdir(parents=True, exist_ok=True)
        write_note(self._note, {"pid": self._process.pid, "refs": [ref for ref, _, _ in moves]}, durable=False)
        return self._why_refused(rows)

    def _why_refused(self, rows: str) -> str | None:
        """What git says against it; None if it is done."""
        self.warm()
        process = self._process
        assert process and process.stdin and process.stdout
        try:
            process.stdin.write(f"start\n{rows}prepare\ncommit\n".encode())
            process.stdin.flush()
            answers = [process.stdout.readline() for _ in ("start", "prepare", "commit")]
        except BrokenPipeError:
            answers = [b""]
        except BaseException:  # what it still says would be taken for the next answer
            self.close()
            raise
        if answers[-1] == b"commit: ok\n":
            return None
        self._process = None
        process.kill()
        _, said = process.communicate()
        return said.decode("utf-8", "replace").strip()

    def close(self) -> None:
        """End the process."""
        if self._process:
            self._process.communicate()
            self._process = None


def _remove_dead_locks(repository: Repository, note: Path) -> None:
    """Remove the locks of refs that a git of Ralphy's held when it was killed; a note says which these are."""
    left = read_note(note)
    refs, pid = left.get("refs"), left.get("pid")
    if not isinstance(refs, list) or not isinstance(pid, int):
        return
    import psutil

    if psutil.pid_exists(pid):
        return
    for ref in refs:
        if isinstance(ref, str) and ref.startswith("refs/") and ".." not in ref:
            (repository.common_dir / f"{ref}.lock").unlink(missing_ok=True)
    note.unlink(missing_ok=True)


_CUT_SHORT = "couldn't write '"  # git does not say why
_MOVED = "a branch moved while Ralphy worked"
_AGAIN = "run it again"
# What git's refusal to move a ref holds -> what it means, and what to do.
_REFUSALS = (
    ("cannot create '", "another branch's name stands in the way", "git branch -m OLD NEW"),
    (".lock'", "another git command holds the branch", "wait for it, or delete the lock file if none is running"),
    ("but expected", _MOVED, _AGAIN),
    ("already exists", _MOVED, _AGAIN),
    ("unable to resolve reference", _MOVED, _AGAIN),
    ("is missing but", _MOVED, _AGAIN),
)


def _refusal(said: str, repository: Repository) -> Conflict | EnvironmentProblem:
    problem = problem_said(said, "")
    if problem:
        return problem
    if _CUT_SHORT in said:
        is_full = is_disk_full([repository.common_dir])
        return (DiskFull if is_full else EnvironmentProblem)(f"{'the disk is full: ' if is_full else ''}{said}")
    for part, what, hint in _REFUSALS:
        if part in said:
            return BranchMoved(what, hint=hint) if what == _MOVED else Conflict(f"{what}: {said}", hint=hint)
    return EnvironmentProblem(f"git cannot move the branch: {said or 'it ended without a message'}", hint="git fsck")
