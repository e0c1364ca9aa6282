"""What an agent did to the branch: HEAD is put back, its commits are kept, forged trailers are found."""

from __future__ import annotations

import re

from ralphy.adapters import git
from ralphy.engine.workspace import Workspace

_TRAILER = re.compile(r"^Ralphy-[A-Za-z-]+:", re.M)


def repair_head(w: Workspace, green: str) -> tuple[str, str]:
    """(where the feature's branch points now, why its new commits are refused or "").

    HEAD is set back on the branch if the agent left it; the branch itself is moved with the landing.
    """
    branch = w.feature_branch
    if git.head_of(w.repository)[0] != branch:
        w.repository.run("symbolic-ref", "HEAD", f"refs/heads/{branch}")
        w.say(f"the agent left the branch; HEAD is back on {branch}")
    tip = git.resolve(w.repository, f"refs/heads/{branch}")
    if not tip or tip == green:
        return tip, ""
    messages = w.repository.text("log", "--format=%B", "--max-count=500", f"{green}..{tip}")
    return tip, "a commit of the agent's carries Ralphy's own trailers" if _TRAILER.search(messages) else ""
