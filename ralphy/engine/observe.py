"""observe(workspace) -> Snapshot: everything a decision needs, read at one moment; nothing is written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from ralphy.documents.feature_folder import ARTIFACTS, MARKERS, NOT_COMMITTED, obstructions, read_marker
from ralphy.documents.prd_reader import check_prd
from ralphy.documents.qa_report import parse_qa_report
from ralphy.documents.questions import answers, unanswered_steps
from ralphy.documents.request_queue import queued
from ralphy.engine import lane_tree, submodules
from ralphy.engine.baseline import known_baseline
from ralphy.engine.checkout import Rows
from ralphy.engine.features import base_of, places_of, prd_at
from ralphy.engine.kept_refs import note_kept
from ralphy.engine.land import read_intent
from ralphy.engine.lost_stories import lost_stories, with_way_back
from ralphy.engine.room import places
from ralphy.engine.workspace import Workspace, base_branch, is_private
from ralphy.errors import Conflict, InvalidInput
from ralphy.files.atomic import read_text
from ralphy.files.disk_space import free_mb
from ralphy.files.tree_walk import children, walk
from ralphy.git import commands as git
from ralphy.git.steering_files import OPEN
from ralphy.pipeline.life import Life, is_done, is_rejected, life_of
from ralphy.pipeline.model import Artifact, Baseline, Prd, QaReport, Snapshot, Tree
from ralphy.pipeline.stories import canonical


def observe(workspace: Workspace, *, review: bool = True) -> Snapshot:
    """The feature as it is now; without the `review`, QA_REPORT.md is not looked into.

    Raises InvalidInput if prd.json or QA_REPORT.md cannot be trusted.
    """
    w = workspace
    w.journal.catch_up(w.history)
    unfinished = _unfinished(w)
    prd = committed_prd(w) if unfinished else _plan(w)
    note_kept(w, prd)
    artifacts = _artifacts(w)
    tree = lane_tree.tree_of(w, prd) if w.lanes else _tree(w, prd, unfinished)
    questions = read_text(w.feature.file("QUESTIONS.md")) if "QUESTIONS.md" in artifacts else ""
    return Snapshot(
        feature=w.feature.name,
        now=w.clock(),
        prd=prd,
        tree=tree,
        history=w.history,
        has_prd_file=w.store.exists,
        artifacts=artifacts,
        markers={m: found for m in MARKERS if (found := read_marker(w.feature.file(m)))},
        answers=answers(questions),
        unanswered_steps=unanswered_steps(questions),
        baseline=_baseline(w, tree),
        qa=_qa(w, artifacts) if review and not unfinished else None,
        unfinished=unfinished,
        lost=None if unfinished else lost_stories(w, prd, tree),
        obstructions=obstructions(w.feature),
        free_mb=free_mb(places(w)),
        session=w.session,
        life=Life.IN_WORK if unfinished else _life(w, prd, tree, artifacts),
        request=next(iter(queued(w.repository.state_dir, w.feature.name)), None),
    )


def _plan(w: Workspace) -> Prd:
    try:
        return w.store.load()
    except InvalidInput as error:
        raise with_way_back(w, error) from error


def _life(w: Workspace, prd: Prd, tree: Tree, artifacts: Mapping[str, Artifact]) -> Life:
    rejected = is_rejected(prd, lambda name: artifacts[name].digest if name in artifacts else "")
    if tree.is_on_branch and not is_done(prd):
        return Life.REJECTED if rejected else Life.IN_WORK
    here = prd if w.store.exists else None
    base = base_of(w.checkout, w.config, str(prd.workflow.get("base") or ""))
    found = places_of(w.checkout, w.config, w.feature.path, tree.feature_branch, here, base)
    return life_of(replace(found, is_rejected=rejected))


def _artifacts(w: Workspace) -> dict[str, Artifact]:
    return {name: found for name in ARTIFACTS if (found := w.digests.artifact(w.feature.file(name)))}


def _qa(w: Workspace, artifacts: Mapping[str, Artifact]) -> QaReport | None:
    if "QA_REPORT.md" not in artifacts:
        return None
    shown = w.feature.in_repository("QA_REPORT.md")
    return parse_qa_report(read_text(w.feature.file("QA_REPORT.md")), shown)


def _baseline(w: Workspace, tree: Tree) -> Baseline | None:
    if not w.checks:
        return Baseline(is_green=True, detail="no checks are configured or detected")
    return known_baseline(w, tree.code)


def _unfinished(w: Workspace) -> str:
    if place := w.worked_on_in:
        return f"{w.feature.name} is being worked on in {place}"
    if read_intent(w):
        return "the last run ended while a commit was being landed"
    run = w.history.open_run
    if run is None:
        if w.lanes:
            return ""
        if (w.repository.checkout_dir / OPEN).exists() and not _is_worked_in(w):
            return "checks ended without a word: what they changed in Git's state is put back first"
        lags = w.lagging_index.exists() and not (w.repository.git_dir / "index.lock").exists()
        return "git's index is older than Ralphy's last commit: it is brought up first" if lags else ""
    what = run.get("story") or f"the {run.get('step')} step"
    return f"the last run ({what}) ended without a word: it is cleared first"


def _is_worked_in(w: Workspace) -> bool:
    """Does another process work in this checkout?"""
    from ralphy.git.run_lock import holder

    return bool(holder(w.repository.checkout_dir / "lock").get("pid", os.getpid()) != os.getpid())


def _tree(w: Workspace, prd: Prd, unfinished: str) -> Tree:
    branch, head = git.head_of(w.repository)
    base = base_branch(w.repository, w.config, str(prd.workflow.get("base") or ""))
    w.branch = str(prd.raw.get("branchName") or "")
    mine = w.feature_branch
    if mine == base and not unfinished:
        raise InvalidInput(f"the feature's branch is {mine}, which is the base branch",
                           where=w.feature.in_repository("prd.json"),
                           hint="set branchName to another one, or git.base in .ralphy/config.yaml")  # fmt: skip
    if not head and unfinished:  # the dead run has deleted its branch: recovery puts it back
        return Tree(head="", branch=branch, base=base, feature_branch=mine, code="")
    if not head:
        raise Conflict("the repository has no commit yet", hint="git commit --allow-empty -m 'Start'")
    dirty, edited = changed_files(w, head, is_on_branch=branch == mine)
    tip = git.resolve(w.repository, f"refs/heads/{mine}") if branch != mine else ""
    is_behind = bool(tip and branch) and not git.has_checked_out(w.repository, mine) and (
        w.checkout.has_ancestor(tip, head)
    )  # fmt: skip
    return Tree(
        head=head,
        branch=branch,
        base=base,
        feature_branch=mine,
        code=w.code_of(w.objects.tree_of(head)),
        dirty=dirty,
        edited=edited,
        busy=git.operation_in_progress(w.repository),
        pushed=_pushed(w, prd, mine),
        has_branch_elsewhere=bool(tip) and not is_behind,
        other_feature=_other_feature(w, branch, head, base) if branch != mine else "",
        behind=tip if is_behind else "",
    )


def observe_at(w: Workspace, commit: str, life: Life) -> Snapshot:
    """The feature as a commit has it: as if its branch were checked out, and nothing edited. Markers lie nowhere."""
    prd = prd_at(w.checkout, commit, w.feature.path) or Prd.of({"userStories": []})
    w.branch = str(prd.raw.get("branchName") or "")
    base = base_branch(w.repository, w.config, str(prd.workflow.get("base") or ""))
    code = w.code_of(w.objects.tree_of(commit))
    mine = w.feature_branch
    tree = Tree(head=commit, branch=mine, base=base, feature_branch=mine, code=code, pushed=_pushed(w, prd, mine))
    found = {name: w.objects.read(f"{commit}:{w.feature.in_repository(name)}") for name in ARTIFACTS}
    questions = (found["QUESTIONS.md"] or b"").decode("utf-8", "replace")
    report = found["QA_REPORT.md"]
    return Snapshot(
        feature=w.feature.name,
        now=w.clock(),
        prd=prd,
        tree=tree,
        history=w.history,
        artifacts={name: Artifact(w.digests.of(data), 0) for name, data in found.items() if data and data.strip()},
        answers=answers(questions),
        unanswered_steps=unanswered_steps(questions),
        baseline=_baseline(w, tree),
        qa=parse_qa_report(report.decode("utf-8", "replace"), w.feature.in_repository("QA_REPORT.md"))
        if report
        else None,
        free_mb=free_mb(places(w)),
        session=w.session,
        life=life,
    )


def _other_feature(w: Workspace, branch: str, head: str, base: str) -> str:
    """The feature whose branch is checked out, unless all of its work is in the base: then it holds up nobody."""
    prefix = w.config.git.branch_prefix
    if not branch.startswith(prefix):
        return ""
    tip = git.resolve(w.repository, f"refs/heads/{base}") if base else ""
    has_begun = prd_at(w.checkout, head, f"{w.config.project.features_dir}/{branch.removeprefix(prefix)}") is not None
    return "" if tip and has_begun and w.checkout.has_ancestor(head, tip) else branch.removeprefix(prefix)


def _pushed(w: Workspace, prd: Prd, branch: str) -> str:
    remote = (prd.workflow.get("pr") or {}).get("remote")
    return git.resolve(w.repository, f"refs/remotes/{remote}/{branch}") if remote else ""


def changed_files(w: Workspace, head: str, *, is_on_branch: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(changed code files, changed files of the feature folder and of `.ralphy/`) against HEAD.

    Straight after Ralphy's own commit nothing can have changed, and git is not asked; neither is it asked
    again after an act that left the code alone. Before there is a branch, nothing depends on the folder's files.
    """
    if w.checkout.clean_at == head:
        return (), ()
    rows = w.checkout.changed(w.config.project.features_dir)
    if is_on_branch or not w.feature.path.startswith(f"{w.config.project.features_dir}/"):
        rows = (*rows, *w.checkout.changed_in(w.feature.path))
    paths = list(dict.fromkeys(path for code, path in rows if code != "!!"))
    own = (f"{w.feature.path}/", ".ralphy/")
    set_up = w.set_up_files()
    code = tuple(p for p in paths if not p.startswith(own) and p not in set_up and not w.is_other_feature(p))
    edited = tuple(p for p in paths if (p.startswith(own) and not is_private(w, p)) or p in set_up)
    return (*code, *submodules.changed(w, w.objects.tree_of(head))), edited


def own_rows(w: Workspace) -> Rows:
    """What git says of the feature folder: asked ahead while a person reads, as long as no file came or went."""
    names = _names(w)
    if w.own_rows_ahead is None or w.own_rows_ahead[0] != names:
        w.own_rows_ahead = (names, w.checkout.changed_in(w.feature.path))
    return w.own_rows_ahead[1]


def _names(w: Workspace) -> int:
    """What changes when a file that could be committed comes or goes; contents are read when they are committed."""
    shut = [f".ralphy/{one.name}" for one in children(w.feature.folder, w.feature.private) if one.name != "prompts"]
    found = (one for one in walk(w.feature.folder, frozenset(shut)) if not one.is_folder)
    return hash(frozenset(one.path for one in found if one.name not in NOT_COMMITTED))


def committed_prd(w: Workspace) -> Prd:
    """prd.json as the last commit has it, or no stories: the one to trust while a dead run is not cleared."""
    head = lane_tree.tip_of(w) if w.lanes else git.head_of(w.repository)[1]
    head = head or str((w.history.open_run or {}).get("green") or "")
    data = w.objects.read(f"{head}:{w.feature.in_repository('prd.json')}") if head else None
    if data is None:
        return Prd.of({"userStories": []})
    return canonical(Prd.of(check_prd(data, f"{head[:10]}:{w.feature.in_repository('prd.json')}")))
