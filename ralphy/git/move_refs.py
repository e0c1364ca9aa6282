"""The commit point of everything: one transaction of `git update-ref` moves all refs or none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ralphy.errors import BranchMoved, Conflict, DiskFull, EnvironmentProblem
from ralphy.files.disk_space import disk_problem_in, is_disk_full
from ralphy.files.notes import read_note, write_note
from ralphy.git.commands import DURABLE, Repository, current_branch, resolve

Moves = Sequence[tuple[str, str, str]]

# A lock that another git holds for a moment is waited out.
_PATIENT = ("-c", "core.filesRefLockTimeout=2000", "-c", "core.packedRefsTimeout=2000")
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


class RefMover:
    """Moves refs by compare-and-swap; `moved` is ref -> the commit to which it was last moved."""

    def __init__(self, repository: Repository) -> None:
        self.moved: dict[str, str] = {}
        self._repository = repository
        self._note = repository.checkout_dir / "moving.json"

    def move(self, updates: Iterable[tuple[str, str, str]]) -> None:
        """Move (ref, new, old) all together, each only if it still is `old` ("": must not exist).

        Raises BranchMoved if a ref was moved by somebody else, Conflict if it is locked or has no room beside another's
        name, EnvironmentProblem for all else; nothing has moved then.
        """
        moves = list(updates)
        self.moved |= {ref: new for ref, new, _ in moves}
        try:
            code, stderr = self._update_refs(moves)
            if code < 0 and not self._is_done(moves):  # somebody ended that git: try again
                code, stderr = self._update_refs(moves)
        finally:
            self._note.unlink(missing_ok=True)
        if code and not (code < 0 and self._is_done(moves)):
            raise _refusal(stderr, self._repository)

    def _is_done(self, moves: Moves) -> bool:
        return all(resolve(self._repository, ref) == new for ref, new, _ in moves)

    def _update_refs(self, moves: Moves) -> tuple[int, str]:
        """(exit code, stderr) of a git whose locks are noted, in case it is killed together with Ralphy."""
        zero = self._repository.null_oid
        rows = "".join(f"update {ref} {new} {old or zero}\n" for ref, new, old in moves)
        _remove_dead_locks(self._repository, self._note)
        self._note.parent.mkdir(parents=True, exist_ok=True)
        with self._repository.start(*DURABLE, *_PATIENT, "update-ref", "--stdin", "-m", "ralphy") as process:
            write_note(self._note, {"pid": process.pid, "refs": [ref for ref, _, _ in moves]}, durable=False)
            _, stderr = process.communicate(rows.encode())
        return process.returncode, stderr.decode("utf-8", "replace").strip()


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
    if current_branch(repository) in {str(ref).removeprefix("refs/heads/") for ref in refs}:
        (repository.git_dir / "HEAD.lock").unlink(missing_ok=True)  # Git locks HEAD with the branch it names
    note.unlink(missing_ok=True)


def _refusal(stderr: str, repository: Repository) -> Conflict | EnvironmentProblem:
    problem = disk_problem_in(stderr, "")
    if problem:
        return problem
    if _CUT_SHORT in stderr:
        is_full = is_disk_full([repository.common_dir])
        return (DiskFull if is_full else EnvironmentProblem)(f"{'the disk is full: ' if is_full else ''}{stderr}")
    for part, what, hint in _REFUSALS:
        if part in stderr:
            return BranchMoved(what, hint=hint) if what == _MOVED else Conflict(f"{what}: {stderr}", hint=hint)
    return EnvironmentProblem(f"git cannot move the branch: {stderr or 'it ended without a message'}", hint="git fsck")
