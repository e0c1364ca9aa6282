"""Where a feature's work stands when nobody's checkout counts: its branch, or the commit that it will begin at."""

from __future__ import annotations

from ralphy.engine.feature.live_documents import documents_at
from ralphy.engine.feature.persons_git import operation_on_branch, operation_or_bisect
from ralphy.engine.workspace.workspace import Workspace, base_branch, fixed_base
from ralphy.errors import Conflict, InvalidInput
from ralphy.git import commands as git
from ralphy.pipeline.model import Prd, Tree


def start_of(w: Workspace) -> tuple[str, str]:
    """(branch, commit) that a new feature begins at: what a person stands on, unless that is a feature's branch; else
    the base branch."""
    branch = git.current_branch(w.repository)
    if branch and not branch.startswith(w.config.git.branch_prefix):
        return branch, git.head_of(w.repository)
    base = base_branch(w.repository, w.config)
    return base, git.resolve(w.repository, f"refs/heads/{base}") if base else ""


def beginning(w: Workspace, tree: Tree) -> str:
    """Where a new feature's branch begins, said where that is not the branch that is checked out; else ""."""
    is_here = git.current_branch(w.repository) == tree.branch
    return "" if is_here else f"{_where(w)}: {tree.feature_branch} begins at {tree.branch} ({tree.head[:10]})"


def _where(w: Workspace) -> str:
    branch = git.current_branch(w.repository)
    return f"{branch}, the branch of a feature, is checked out" if branch else "HEAD is detached"


def tip_of(w: Workspace) -> str:
    """The commit that the feature's work goes on from: its branch's, or the one that it will begin at."""
    return git.resolve(w.repository, f"refs/heads/{w.feature_branch}") or start_of(w)[1]


def work_tip(w: Workspace) -> str:
    """The tip of the feature's branch, "" before its work has begun: a branch that holds nothing new, or nothing of the
    feature, counts as none."""
    tip, base = git.resolve(w.repository, f"refs/heads/{w.feature_branch}"), _base_tip(w)
    is_behind = tip != base and _is_in(w, tip, base)
    return "" if is_behind or not tip or w.objects.at(w.objects.tree_of(tip), w.feature.path) is None else tip


def _base_tip(w: Workspace) -> str:
    """Where the base branch stands; a branch of a person's own into which the work was merged does not count."""
    base = fixed_base(w.repository, w.config)
    return git.resolve(w.repository, f"refs/heads/{base}") if base else start_of(w)[1]


def _is_in(w: Workspace, commit: str, of: str) -> bool:
    return bool(commit and of) and w.checkout.has_ancestor(commit, of)


def tree_of(w: Workspace, prd: Prd) -> Tree:
    """The repository as a decision about this feature needs it; the checkout plays no part in it."""
    noted = str(prd.workflow.get("base") or "")
    mine = w.feature_branch
    base = base_branch(w.repository, w.config, noted) or start_of(w)[0]
    if mine == base:
        raise InvalidInput(f"the feature's branch is {mine}, which is the base branch",
                           where=w.feature.in_repository("prd.json"),
                           hint="set branchName to another one, or git.base in .ralphy/config.yaml")  # fmt: skip
    tip = git.resolve(w.repository, f"refs/heads/{mine}")
    begins, start = start_of(w)
    is_begun = bool(work_tip(w))
    is_a_persons = bool(tip) and not _is_in(w, tip, start)  # commits of before the feature is worked on stay
    head = tip if is_begun or is_a_persons else start
    if not (head and (is_begun or begins)) and git.head_of(w.repository):
        raise Conflict(f"{_where(w)}, and no base branch is known at which {w.feature.name} could begin",
                       hint="switch to the branch to begin at, or: ralphy config set git.base NAME")  # fmt: skip
    if not head:
        git.require_commit(w.repository)
    return Tree(
        head=head,
        branch=mine if is_begun else begins,
        base=base,
        feature_branch=mine,
        code=w.code_of(w.objects.tree_of(head)),
        busy=operation_on_branch(w) if is_begun else _begun_here(w),
        obstacle="" if tip else git.branch_in_the_way(w.repository, mine),
        pushed=pushed(w, prd),
        behind="" if is_begun else tip,
        tracked="" if is_begun else _tracked(w, start),
    )


def _tracked(w: Workspace, start: str) -> str:
    """A document that Ralphy writes and that is committed where the branch will begin, or is checked out; else ""."""
    names = documents_at(w, start).keys() | documents_at(w, git.head_of(w.repository)).keys()
    return min(names - {"PRD.md"}, key=lambda name: (name != "prd.json", name), default="")


def _begun_here(w: Workspace) -> str:
    """The operation in this checkout, from which the documents of a new feature are read, that a person has begun."""
    operation = operation_or_bisect(w.repository)
    return f"{operation} in {w.repository.root}" if operation else ""


def pushed(w: Workspace, prd: Prd) -> str:
    """The commit that the remote was last seen to have on the feature's branch; "" if it has none."""
    remote = prd.pr.get("remote")
    return git.resolve(w.repository, f"refs/remotes/{remote}/{w.feature_branch}") if remote else ""
