"""Refs around a run: what an agent moved, made or deleted is put back, and what it made is kept where it is named.

Git's log of a ref tells an agent's doing (GIT_REFLOG_ACTION) from a person's. Tags are logged in the agent's
environment alone. What cannot be told: a new ref stands, a moved or deleted one is put back, its new value kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ralphy.engine.forgery import is_agents, log_of
from ralphy.engine.ref_mend import mend_refs
from ralphy.engine.stashed import bring_back
from ralphy.engine.workspace import Workspace
from ralphy.errors import Conflict, DiskFull, EnvironmentProblem
from ralphy.files.atomic import replace_file
from ralphy.git.ref_files import is_oid

STASH = "refs/stash"
_AMBIGUOUS = "\tbranch: "  # git branch and git switch -c write that, whatever GIT_REFLOG_ACTION says


@dataclass(frozen=True, slots=True)
class Changed:
    """The names of refs that were changed: those that were put `back`, and those that `stand`, being a person's as far
    as Git's log can tell."""

    back: tuple[str, ...] = ()
    stand: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Moved:
    """A ref that is not as it was; "" where there was or is none."""

    ref: str
    before: str
    now: str


def put_refs_back(
    w: Workspace, before: Mapping[str, str], stash: Sequence[str], spared: Collection[str], *, others_at_work: bool
) -> Changed:
    """Undo what a run did to refs and stash. `spared` are branches that others work on, or that are judged with it."""
    mended = mend_refs(w)
    now = w.checkout.all_refs.read() if mended else w.checkout.all_refs.found
    if now == before and log_of(_stash_log(w)) == list(stash):
        return Changed(tuple(mended))
    skipped = {*spared, STASH}
    changed = [
        Moved(ref, before.get(ref, ""), now.get(ref, ""))
        for ref in sorted(before.keys() | now.keys())
        if before.get(ref) != now.get(ref) and ref not in skipped
    ]
    theirs = [moved for moved in changed if _is_agents(w, moved, others_at_work)]
    _put_back(w, theirs)
    back = (*mended, *map(_name, theirs), *_put_stash_back(w, stash, now.get(STASH, "")))
    return Changed(back, tuple(_name(moved) for moved in changed if moved not in theirs))


def _name(moved: Moved) -> str:
    return moved.ref.encode("utf-8", "replace").decode()


def open_branches(w: Workspace) -> frozenset[str]:
    """The refs that the open run works on."""
    return judged_with_the_run(w, (w.history.open_run or {}).get("branch") or w.feature_branch)


def judged_with_the_run(w: Workspace, branch: str) -> frozenset[str]:
    """The refs that are not put back here, since their commits are judged with the run that works on `branch`."""
    return frozenset((f"refs/heads/{w.feature_branch}", f"refs/heads/{branch}"))


def _is_agents(w: Workspace, moved: Moved, others_at_work: bool) -> bool:
    """Is it to be put back?"""
    ref = moved.ref
    if ref.startswith((f"refs/ralphy/{w.feature.name}/", "refs/replace/")):
        return True
    if ref.startswith("refs/ralphy/") and others_at_work:
        return False
    if not moved.now:
        return not (moved.before and ref.startswith("refs/remotes/"))  # a fetch prunes those, another brings them
    rows = log_of(w.repository.common_dir / "logs" / ref)
    start = max((i for i, row in enumerate(rows) if row.split(" ", 2)[1] == moved.before), default=len(rows))
    later = [row for row in (rows[start + 1 :] if moved.before else rows) if _AMBIGUOUS not in row]
    return any(is_agents(row) for row in later) if later else bool(moved.before)


def _put_back(w: Workspace, changed: Sequence[Moved]) -> None:
    """Keep what is there, drop what was made, then put back what was: names may stand in each other's way."""
    zero = w.repository.null_oid
    for moved in changed:
        if not is_oid(moved.now):
            _drop_file(w, moved.ref)
    sound = [moved for moved in changed if is_oid(moved.now)]
    _move(w, [(found_ref(w, moved.ref), moved.now, "") for moved in sound])
    _move(w, [(moved.ref, zero, moved.now) for moved in sound if not is_oid(moved.before)])
    _move(w, [
        (moved.ref, moved.before, moved.now if is_oid(moved.now) else "") for moved in changed if is_oid(moved.before)
    ])  # fmt: skip
    for moved in changed:
        if moved.before.startswith("ref: "):
            replace_file(w.repository.common_dir / moved.ref, f"{moved.before}\n".encode())


def found_ref(w: Workspace, ref: str) -> str:
    """Where what an agent made of a ref is kept."""
    run = (w.history.open_run or {}).get("run") or "unknown"
    return f"refs/ralphy/{w.feature.name}/found/{run}/{ref.removeprefix('refs/')}"


def _drop_file(w: Workspace, ref: str) -> None:
    path = w.repository.common_dir / ref
    if path.is_symlink() or path.is_file():
        path.unlink()


def _move(w: Workspace, moves: Sequence[tuple[str, str, str]]) -> None:
    """All together if that goes, else each by itself: one whose commit is gone must not hold back the others.

    Raises DiskFull, so that it is done when there is room.
    """
    if not moves:
        return
    try:
        w.checkout.refs.move(moves)
    except DiskFull:
        raise
    except (Conflict, EnvironmentProblem):
        for ref, new, old in moves:
            try:
                w.checkout.refs.move([(ref, new, old)])
            except DiskFull:
                raise
            except (Conflict, EnvironmentProblem) as error:
                w.say(f"{ref} cannot be put back to {new[:12]}: {error.what}")


def _put_stash_back(w: Workspace, before: Sequence[str], now: str) -> list[str]:
    """A person's stashes stay, the agent's become refs: those made on the feature's branch, where nobody else is.

    Gives what was put back: the stash, and files that are none of the agent's business.
    """
    log = _stash_log(w)
    rows = log_of(log)
    new = [row for row in rows if row not in before]
    mine = (f"WIP on {w.feature_branch}: ", f"On {w.feature_branch}: ")
    agents = [row for row in new if row.partition("\t")[2].startswith(mine)]
    wanted = [*before, *(row for row in new if row not in agents)]
    if wanted == rows:
        return []
    kept = [(found_ref(w, f"stash-{i}"), _new_of(row), "") for i, row in enumerate(agents, 1)]
    _move(w, kept)
    for ref, _, _ in kept:
        w.say(f"a stash made on {w.feature_branch} is kept as {ref} (git stash apply {ref})")
    zero = w.repository.null_oid
    tip = _new_of(wanted[-1]) if wanted else zero
    if tip != now:
        _move(w, [(STASH, tip, now)])
    _write_log(log, wanted, zero)
    return ["the stash", *(path for ref, stash, _ in kept for path in bring_back(w, stash, ref))]


def _stash_log(w: Workspace) -> Path:
    return w.repository.common_dir / "logs" / STASH


def _new_of(row: str) -> str:
    return row.split(" ", 2)[1]


def _write_log(log: Path, rows: Iterable[str], zero: str) -> None:
    """Git's log of the stash is the list of stashes: each row begins where the one before it ended."""
    lines, at = [], zero
    for row in rows:
        _, new, rest = row.split(" ", 2)
        lines.append(f"{at} {new} {rest}\n")
        at = new
    if lines:
        replace_file(log, "".join(lines).encode("utf-8", "surrogateescape"))
