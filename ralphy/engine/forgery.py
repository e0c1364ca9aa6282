"""What was done to the branch besides Ralphy: by an agent it is put back and kept, by a person it stands.

Whatever an agent does with git carries AGENT's word in git's own log of the ref (GIT_REFLOG_ACTION is set in its
environment). It tells the two apart, and guards nothing: an agent that hides it is caught by its run's end.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from ralphy.engine.workspace import Workspace
from ralphy.errors import Conflict
from ralphy.files.atomic import read_regular, signature
from ralphy.files.tree_walk import remove
from ralphy.git import commands as git

AGENT = "ralphy-agent"
_COARSE_S = 0.02  # the clock of file times lags behind the other one
_TRAILER = re.compile(r"^Ralphy-[A-Za-z-]+:", re.M | re.I)


def repair_head(w: Workspace, green: str) -> tuple[str, str]:
    """(where the feature's branch points now, why what was done to it is refused or "").

    HEAD is set back on the branch if the agent left it; the branch itself is moved with the landing.
    """
    branch = w.feature_branch
    if git.head_of(w.repository)[0] != branch:
        w.repository.run("symbolic-ref", "HEAD", f"refs/heads/{branch}")
        w.say(f"the agent left the branch; HEAD is back on {branch}")
    tip = git.resolve(w.repository, f"refs/heads/{branch}")
    if not tip or tip == green:
        return tip, ""
    if w.repository.text("rev-list", "--max-count=1", f"{tip}..{green}"):
        return tip, "the agent rewound the branch behind the commits of earlier stories"
    messages = w.repository.text("log", "--format=%B", "--max-count=500", f"{green}..{tip}")
    return tip, "a commit of the agent's carries Ralphy's own trailers" if _TRAILER.search(messages) else ""


def require_branch(w: Workspace, branch: str, head: str) -> None:
    """Raises Conflict if a person left the branch, or committed on it, while an agent worked: that stands."""
    if person_left(w, branch):
        raise Conflict(f"HEAD was moved away from {branch} while an agent worked", hint=f"git switch {branch}")
    if person_moved(w, branch, head):
        raise Conflict(f"{branch} was moved by somebody else while an agent worked; what the agent did is kept",
                       hint="start again: Ralphy goes on from what is there now")  # fmt: skip


def drop_locks(w: Workspace, branch: str, since: float) -> None:
    """Remove git's locks that a run has left, made since it began (epoch seconds): none of its processes lives."""
    own, shared = w.repository.git_dir, w.repository.common_dir
    locks = [own / "index.lock", own / "HEAD.lock", shared / "packed-refs.lock", shared / "config.lock"]
    locks += [shared / "refs" / "heads" / f"{branch}.lock"] if branch else []
    left = [lock for lock in locks if (made := signature(lock)) and made[3] / 1e9 >= since - _COARSE_S]
    person = _git_at_work(w.repository.root) if left else 0
    for lock in left:
        if person:
            w.say(f"{lock} is left alone: git (pid {person}) is at work in this checkout")
            continue
        remove(lock)  # an agent may have made a folder of it
        w.say(f"{lock.name} was left behind; it is removed")


def _git_at_work(root: Path) -> int:
    """The pid of a git that somebody has started in this checkout and that lives, or 0; Ralphy's own do not count."""
    import psutil

    for process in psutil.process_iter():
        try:
            if process.name() != "git" or _checkout_of(Path(process.cwd())) != root.resolve():
                continue
            if all(parent.pid != os.getpid() for parent in process.parents()):
                return int(process.pid)
        except (psutil.Error, OSError):
            continue
    return 0


def _checkout_of(folder: Path) -> Path | None:
    """The innermost checkout around a folder, its `.git` included."""
    return next((at for at in (folder, *folder.parents) if (at / ".git").exists()), None)


def person_left(w: Workspace, branch: str) -> bool:
    """Is HEAD elsewhere, and was it no agent that moved it?"""
    if not branch or git.head_of(w.repository)[0] == branch:
        return False
    done = log_of(w.repository.git_dir / "logs" / "HEAD")
    return bool(done) and not is_agents(done[-1])


def person_moved(w: Workspace, branch: str, since: str) -> bool:
    """Is the branch elsewhere than at `since`, and was it no agent that moved it? Unknown counts as an agent's."""
    tip = git.resolve(w.repository, f"refs/heads/{branch}") if branch else ""
    if not tip or tip == since:
        return False
    done = log_of(w.repository.common_dir / "logs" / "refs" / "heads" / branch)
    start = max((i for i, row in enumerate(done) if row.split(" ", 2)[1] == since), default=len(done))
    later = done[start + 1 :]
    return bool(later) and not any(is_agents(row) for row in later)


def log_of(path: Path) -> list[str]:
    """Git's log of a ref, oldest first: "<old> <new> <who> <when>\\t<what>"; bytes that are no UTF-8 survive."""
    text = (read_regular(path) or b"").decode("utf-8", "surrogateescape")
    return [row for row in text.split("\n") if row.count(" ") > 2]


def is_agents(row: str) -> bool:
    """Does a line of git's log carry the agent's word, or none? What people type says what it is; plumbing does not."""
    said = row.partition("\t")[2]
    return not said.strip() or said.startswith(AGENT)
