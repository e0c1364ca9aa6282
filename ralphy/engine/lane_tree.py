"""Where a feature's work stands when nobody's checkout counts: its branch, or the commit that it will begin at."""

from __future__ import annotations

from collections.abc import Iterator

from ralphy.engine.workspace import Workspace, base_branch, is_private
from ralphy.errors import Conflict, InvalidInput
from ralphy.files.atomic import read_regular, replace_file
from ralphy.files.tree_walk import walk
from ralphy.git import commands as git
from ralphy.pipeline.model import Prd, Tree

_SHUT = frozenset((".ralphy",))


def start_of(w: Workspace) -> tuple[str, str]:
    """(branch, commit) that a new feature begins at: what a person stands on, unless that is a feature's branch; else
    the base branch."""
    branch, commit = git.head_of(w.repository)
    if branch and not branch.startswith(w.config.git.branch_prefix):
        return branch, commit
    base = base_branch(w.repository, w.config)
    return base, git.resolve(w.repository, f"refs/heads/{base}") if base else ""


def tip_of(w: Workspace) -> str:
    """The commit that the feature's work goes on from: its branch's, or the one that it will begin at."""
    return git.resolve(w.repository, f"refs/heads/{w.feature_branch}") or start_of(w)[1]


def tree_of(w: Workspace, prd: Prd) -> Tree:
    """The repository as a decision about this feature needs it; the checkout plays no part in it."""
    noted = str(prd.workflow.get("base") or "")
    w.branch = str(prd.raw.get("branchName") or "")
    mine = w.feature_branch
    base = base_branch(w.repository, w.config, noted) or start_of(w)[0]
    if mine == base:
        raise InvalidInput(f"the feature's branch is {mine}, which is the base branch",
                           where=w.feature.in_repository("prd.json"),
                           hint="set branchName to another one, or git.base in .ralphy/config.yaml")  # fmt: skip
    tip = git.resolve(w.repository, f"refs/heads/{mine}")
    begins, start = start_of(w)
    is_behind = bool(tip and start) and tip != start and w.checkout.has_ancestor(tip, start)
    is_begun = bool(tip) and not is_behind
    head = tip if is_begun else start
    if not head:
        raise Conflict("the repository has no commit yet", hint="git commit --allow-empty -m 'Start'")
    return Tree(
        head=head,
        branch=mine if is_begun else begins,
        base=base,
        feature_branch=mine,
        code=w.code_of(w.objects.tree_of(head)),
        edited=edited(w, head) if is_begun else (),
        pushed=_pushed(w, prd, mine),
        behind=tip if is_behind else "",
    )


def _pushed(w: Workspace, prd: Prd, branch: str) -> str:
    remote = (prd.workflow.get("pr") or {}).get("remote")
    return git.resolve(w.repository, f"refs/remotes/{remote}/{branch}") if remote else ""


def documents(w: Workspace) -> Iterator[tuple[str, bytes]]:
    """(path in the repository, bytes) of every document in the feature folder that is committed."""
    found = (one for one in walk(w.feature.folder, _SHUT) if not one.is_folder)
    for one in sorted(found, key=lambda one: str(one.path)):
        path = w.feature.in_repository(str(one.path))
        if not is_private(w, path) and (data := read_regular(w.feature.file(str(one.path)))) is not None:
            yield path, data


def edited(w: Workspace, tip: str) -> tuple[str, ...]:
    """Documents in the checkout's feature folder that differ from the branch's tip: a person has changed them."""
    tree = w.objects.tree_of(tip)
    differing = []
    for path, data in documents(w):
        entry = w.objects.at(tree, path)
        if entry is None or w.objects.read(entry.oid) != data:
            differing.append(path)
    return tuple(differing)


def put_prd_back(w: Workspace, commit: str) -> None:
    """prd.json as a commit has it: no story is in progress any more."""
    data = w.objects.read(f"{commit}:{w.feature.in_repository('prd.json')}")
    if data is not None and read_regular(w.feature.file("prd.json")) != data:
        replace_file(w.feature.file("prd.json"), data, durable=False)
