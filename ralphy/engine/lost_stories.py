"""Stories that the last commit has and prd.json has no more: a slip of a person, until that person says otherwise."""

from __future__ import annotations

from ralphy.engine.workspace import Workspace
from ralphy.errors import InvalidInput
from ralphy.git import commands as git
from ralphy.pipeline.model import Lost, Prd, Tree


def lost_stories(w: Workspace, prd: Prd, tree: Tree) -> Lost | None:
    """What is missing in `prd`: all stories, or some that are completed; None if nothing is, or if it was meant.

    Whoever takes out a story that is not completed has edited the plan, and whoever commits that has said so.
    """
    path = w.feature.in_repository("prd.json")
    if prd.stories and path not in tree.edited:
        return None
    head, meant = tree.head or git.head_of(w.repository)[1], w.history.started_over
    before = _stories_at(w, head, path) if head != meant else Prd.of({"userStories": []})
    known = {story.id for story in prd.stories}
    gone = tuple(s.id for s in before.stories if s.id not in known and (s.is_completed or not known))
    if gone:
        return Lost(path, "HEAD", gone)
    return _landed(w, path, head, meant) if not known and not before.stories and tree.is_on_branch else None


def with_way_back(w: Workspace, error: InvalidInput) -> InvalidInput:
    """An error of a prd.json that cannot be read, with how to get the last commit's, if that one has stories."""
    path = w.feature.in_repository("prd.json")
    if not _stories_at(w, git.head_of(w.repository)[1], path).stories:
        return error
    way = f"git checkout HEAD -- {path} brings back the last one that was committed"
    return InvalidInput(error.what, where=error.where, hint=f"{error.hint}; {way}" if error.hint else way)


def _landed(w: Workspace, path: str, head: str, meant: str) -> Lost | None:
    """The last story that landed on the branch, where no commit holds a plan any more."""
    since = [f"^{meant}"] if meant and w.objects.read(meant) is not None else []
    form = "--format=%h %(trailers:key=Ralphy-Story,valueonly)"
    row = w.repository.text("log", "-1", form, f"--grep=^Ralphy-Story: {w.feature.name}/", head, *since, "--").split()
    return Lost(path, row[0], (row[1].rpartition("/")[2],)) if len(row) > 1 else None


def _stories_at(w: Workspace, commit: str, path: str) -> Prd:
    from ralphy.documents.prd_reader import check_prd

    data = w.objects.read(f"{commit}:{path}") if commit else None
    try:
        return Prd.of(check_prd(data, path) if data else {"userStories": []})
    except InvalidInput:  # nothing to bring back
        return Prd.of({"userStories": []})
