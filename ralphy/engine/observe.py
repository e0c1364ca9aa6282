"""observe(workspace) -> Snapshot: everything a decision needs, read at one moment; nothing is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ralphy.documents.feature_folder import ARTIFACTS, MARKERS, obstructions, read_marker
from ralphy.documents.prd_reader import check_prd
from ralphy.documents.qa_report import parse_qa_report
from ralphy.documents.questions import answers, unanswered_steps
from ralphy.documents.request_queue import queued
from ralphy.engine import lane_tree
from ralphy.engine.baseline import known_baseline
from ralphy.engine.features import base_of, places_of, prd_at
from ralphy.engine.kept_refs import note_kept
from ralphy.engine.land import read_intent
from ralphy.engine.lost_stories import lost_stories, with_way_back
from ralphy.engine.room import places
from ralphy.engine.workspace import Workspace, base_branch
from ralphy.errors import InvalidInput
from ralphy.files.atomic import read_text
from ralphy.files.disk_space import free_mb
from ralphy.git import commands as git
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
    tree = lane_tree.tree_of(w, prd)
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
        return ""
    what = run.get("story") or f"the {run.get('step')} step"
    return f"the last run ({what}) ended without a word: it is cleared first"


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


def _pushed(w: Workspace, prd: Prd, branch: str) -> str:
    remote = (prd.workflow.get("pr") or {}).get("remote")
    return git.resolve(w.repository, f"refs/remotes/{remote}/{branch}") if remote else ""


def committed_prd(w: Workspace) -> Prd:
    """prd.json as the last commit has it, or no stories: the one to trust while a dead run is not cleared."""
    head = lane_tree.tip_of(w) or str((w.history.open_run or {}).get("green") or "")
    data = w.objects.read(f"{head}:{w.feature.in_repository('prd.json')}") if head else None
    if data is None:
        return Prd.of({"userStories": []})
    return canonical(Prd.of(check_prd(data, f"{head[:10]}:{w.feature.in_repository('prd.json')}")))
