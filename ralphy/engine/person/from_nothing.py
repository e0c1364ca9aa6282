"""Starting a feature from nothing: only PRD.md stays. The branch and the documents are kept under a ref first.

The branch goes last: until then Ralphy lays the documents out again, so a kill on the way leaves the feature as it was.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection

from ralphy.documents.feature_folder import MARKERS, VIEWS, artifact_names
from ralphy.engine.feature.branch_tip import start_of, work_tip
from ralphy.engine.feature.checkout_sync import forget_branch_tip
from ralphy.engine.feature.documents import all_of_the_folder, look_at, place_of
from ralphy.engine.feature.land import chore, written_commit
from ralphy.engine.feature.live_documents import documents_at, forget_documents
from ralphy.engine.feature.persons_git import checkouts_on_branch
from ralphy.engine.workspace.set_aside import set_aside
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import Conflict
from ralphy.git import commands as git
from ralphy.pipeline.life import Life
from ralphy.pipeline.model import Snapshot

_PRD, _REMOTE = "PRD.md", "origin"


def what_goes(w: Workspace) -> list[str]:
    """The documents of the feature that do not stay, as far as they are there."""
    names = [name for name in artifact_names() if name != _PRD]
    names += ["prd.json", "progress.txt", "stories", *VIEWS, *MARKERS]
    return [name for name in names if place_of(w, name).exists()]


def is_begun(w: Workspace) -> bool:
    """Is there anything but PRD.md?"""
    return bool(work_tip(w) or what_goes(w))


def next_ref(w: Workspace) -> str:
    """The ref that keeps the branch as it was; `ralphy gc` never deletes it."""
    before = f"refs/ralphy/{w.feature.name}/before-"
    there = git.refs_of(w.repository, (f"refs/ralphy/{w.feature.name}",))
    return next(ref for n in range(1, len(there) + 2) if (ref := f"{before}{n}") not in there)


def require_possible(w: Workspace, s: Snapshot) -> None:
    """Raises Conflict where starting from nothing would leave nothing, or something that contradicts it."""
    name, branch = s.feature, w.feature_branch
    if s.life is Life.MERGED:
        raise Conflict(f"{name} is merged into {s.tree.base} and closed",
                       hint="begin another feature, or reopen one of its stories (ralphy redo --help)")  # fmt: skip
    if not w.feature.file(_PRD).exists():
        raise Conflict(
            f"{name} has no {_PRD} to plan it from", hint=f"to try failed stories again: ralphy reset {name}"
        )
    if there := checkouts_on_branch(w):
        raise Conflict(f"{branch} is checked out in {there[0].root}", hint=f"git switch {s.tree.base}")
    remote = s.prd.pr.get("remote") or _REMOTE
    if git.resolve(w.repository, f"refs/remotes/{remote}/{branch}"):
        raise Conflict(f"{branch} is on {remote}, where the new one could not be pushed",
                       hint=f"git push {remote} --delete {branch}")  # fmt: skip
    if committed := _committed(w, {git.head_of(w.repository), start_of(w)[1]}):
        raise Conflict(f"these documents are committed outside of {branch}: {', '.join(committed)}",
                       hint=f"git rm {shlex.join(committed)}, and commit that")  # fmt: skip


def _committed(w: Workspace, commits: Collection[str]) -> list[str]:
    documents = {name for commit in commits for name in documents_at(w, commit)}
    return sorted(w.feature.in_repository(name) for name in documents & {*artifact_names(), "prd.json"} - {_PRD})


def start_from_nothing(w: Workspace, s: Snapshot) -> str:
    """Keep what there is, and leave PRD.md alone; gives the ref that keeps it."""
    tip, ref = work_tip(w), next_ref(w)
    files = look_at(w).merged.adoption if tip else all_of_the_folder(w)
    before = chore(w, f"kept {s.feature}", "as it was before it started from nothing", s.tree.head, files)
    saved_commit = written_commit(w, before) if files or not tip else tip
    w.repository.run("update-ref", "--stdin", stdin=f"create {ref} {saved_commit}\n".encode())
    w.milestone("past_kept")
    w.record("reset")
    for name in what_goes(w):
        set_aside(w, place_of(w, name))
    forget_documents(w)
    forget_branch_tip(w)
    w.milestone("documents_gone")
    if tip:
        w.repository.run("update-ref", "--stdin", stdin=f"delete refs/heads/{w.feature_branch} {tip}\n".encode())
    w.milestone("branch_gone")
    return ref
