"""Stories that the last commit has and prd.json has no more: a slip of a person, until that person says otherwise."""

from __future__ import annotations

from ralphy.engine.feature.documents import Documents, committed_prd
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import InvalidInput
from ralphy.pipeline.model import Lost, Tree


def lost_stories(w: Workspace, docs: Documents, tree: Tree) -> Lost | None:
    """What a person's prd.json has no more: all stories, or some that are completed; None if nothing is, or if it was
    meant.

    Whoever takes out a story that is not completed has edited the plan, and whoever commits that has said so.
    """
    path, meant = w.feature.in_repository("prd.json"), w.history.started_over
    if docs.taken.lost and tree.head != meant:
        return Lost(path, tree.feature_branch, docs.taken.lost)
    if not docs.tip or committed_prd(w, docs.tip).stories:
        return None
    return _landed(w, path, tree.head, meant)


def with_way_back(w: Workspace, error: InvalidInput, tip: str) -> InvalidInput:
    """An error of a prd.json that cannot be read, with how to get the last commit's, if that one has stories."""
    path = w.feature.in_repository("prd.json")
    if not committed_prd(w, tip).stories:
        return error
    way = f"git show {w.feature_branch}:{path} > {path} brings back the last one that was committed"
    return InvalidInput(error.what, where=error.where, hint=f"{error.hint}; {way}" if error.hint else way)


def _landed(w: Workspace, path: str, head: str, meant: str) -> Lost | None:
    """The last story that landed on the branch, where no commit holds a plan any more."""
    since = [f"^{meant}"] if meant and w.objects.read(meant) is not None else []
    form = "--format=%h %(trailers:key=Ralphy-Story,valueonly)"
    row = w.repository.text("log", "-1", form, f"--grep=^Ralphy-Story: {w.feature.name}/", head, *since, "--").split()
    return Lost(path, row[0], (row[1].rpartition("/")[2],)) if len(row) > 1 else None
