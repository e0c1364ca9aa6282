"""observe(workspace) -> Snapshot: everything a decision needs, read at one moment; only `w.branch` is written."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

import orjson

from ralphy.documents.feature_folder import (
    MARKERS,
    artifact_digest,
    artifact_names,
    misspelt_markers,
    obstructions,
    read_marker,
)
from ralphy.documents.qa_report import parse_qa_report
from ralphy.documents.questions import answers, unanswered_steps
from ralphy.documents.readiness import faults
from ralphy.engine.feature import branch_tip, documents
from ralphy.engine.feature.checkout_sync import recorded_branch
from ralphy.engine.feature.documents import lost_stories, with_way_back
from ralphy.engine.feature.features import base_of, places_of, prd_at
from ralphy.engine.feature.kept_attempts import read_attempts_in_refs
from ralphy.engine.feature.land import read_intent
from ralphy.engine.feature.live_documents import left_to_git
from ralphy.engine.verify.baseline_records import known_baseline
from ralphy.engine.workspace.full_disk import places
from ralphy.engine.workspace.workspace import Workspace, base_branch
from ralphy.errors import InvalidInput
from ralphy.files.disk_space import free_mb
from ralphy.files.read import read_regular
from ralphy.pipeline.acceptance import DOCUMENT, OFF, Acceptance, read_acceptance
from ralphy.pipeline.clarifications import open_questions
from ralphy.pipeline.life import Life, is_done, is_rejected, life_of
from ralphy.pipeline.model import Artifact, Baseline, Marker, Prd, QaReport, Snapshot, Tree
from ralphy.pipeline.steps import names
from ralphy.pipeline.steps.clarify import CLARIFY
from ralphy.pipeline.steps.qa import QA
from ralphy.pipeline.steps.table import document_at
from ralphy.pipeline.stories import all_ready, likely_paths
from ralphy.prompts.spec_section import pick_spec_section


def observe(w: Workspace, *, review: bool = True) -> Snapshot:
    """The feature as it is now; without the `review`, QA_REPORT.md is not looked into.
    InvalidInput if prd.json, QA_REPORT.md or ACCEPTANCE.md cannot be trusted."""
    w.journal.catch_up(w.history)
    unfinished, w.branch = _unfinished(w), branch_of(w)
    docs = documents.look_at(w)
    prd = _plan(w, docs) if not unfinished else documents.committed_prd(w, docs.tip)
    read_attempts_in_refs(w, prd)
    artifacts, questions = documents.artifacts(w, docs.tip), documents.text(w, "QUESTIONS.md", docs.tip)
    is_told = not w.unsandboxed_agent_running()
    edited = tuple(map(w.feature.in_repository, docs.edited)) if is_told else ()
    tree = replace(branch_tip.tree_of(w, prd), edited=edited)
    return Snapshot(
        feature=w.feature.name,
        now=w.clock(),
        prd=prd,
        tree=tree,
        history=w.history,
        has_prd_file=bool(docs.tip) or w.store.exists,
        artifacts=artifacts,
        markers=_markers(w, docs, is_told=is_told),
        answers=answers(questions),
        unanswered_steps=unanswered_steps(questions),
        baseline=_baseline(w, tree),
        qa=_qa(w, docs.tip) if review and QA.document in artifacts and not unfinished else None,
        acceptance=_acceptance(w, docs.tip),
        unfinished=unfinished,
        lost=None if unfinished else lost_stories(w, docs, tree),
        obstructions=obstructions(w.feature),
        free_mb=free_mb(places(w)),
        session=w.session,
        life=Life.IN_WORK if unfinished else _life(w, prd, tree, artifacts),
        paths=_paths(w, prd, documents.text(w, "SPEC.md", docs.tip)) if w.config.lanes.jobs > 1 else {},
        folder=w.feature.path,
        typed_folder=w.feature.typed,
        left_to_git=left_to_git(w, docs.tip),
        prd_faults=_prd_faults(w, docs.tip, artifacts),
        unclear=_unclear(w, docs.tip),
        most_questions=w.config.clarify.most,
    )


def _markers(w: Workspace, docs: documents.Documents, *, is_told: bool) -> dict[str, Marker]:
    """The markers in the folder, also misspelt ones that nobody committed; only STOP while an agent without walls
    could have made the others."""
    names = MARKERS if is_told else ("STOP",)
    markers = {name: marker for name in names if (marker := read_marker(w.feature.file(name)))}
    for name, meant in misspelt_markers(w.feature) if is_told else ():
        if not docs.tip or documents.read(w, name, docs.tip) is None:
            markers[name] = Marker(0, meant=meant)
    return markers


def _unclear(w: Workspace, tip: str) -> tuple[str, ...] | None:
    """The unanswered questions before the specification; None where no agent asks, or has asked, any."""
    text = documents.text(w, CLARIFY.document, tip)
    is_asked = text or w.config.clarify.ask != "off" or w.session.last_step == CLARIFY.name
    return tuple(one.id for one in open_questions(text)) if is_asked else None


def _prd_faults(w: Workspace, tip: str, artifacts: Mapping[str, Artifact]) -> tuple[str, ...]:
    """What PRD.md lacks for a specification, where that refuses it and there is no specification yet."""
    if "SPEC.md" in artifacts:
        return ()
    at = documents.shown_at(w, "PRD.md")
    if "PRD.md" not in artifacts:
        is_empty = documents.read(w, "PRD.md", tip) is not None
        return (f'{at} is empty: write below "# Title" and "## Objective" what is wanted',) if is_empty else ()
    if w.config.verify.prd != "reject":
        return ()
    return tuple(f"{at}:{fault}" for fault in faults(documents.text(w, "PRD.md", tip)))


def _paths(w: Workspace, prd: Prd, spec: str) -> dict[str, frozenset[str]]:
    """The files that each story which can be worked on now is likely to change."""
    paths = {}
    for story in all_ready(prd):
        commit = w.history.of(names.STORY, story.id).tree
        touched = w.objects.changes(w.objects.tree_of(f"{commit}^"), w.objects.tree_of(commit)) if commit else ()
        section = pick_spec_section(spec, story.id)
        paths[story.id] = likely_paths(story, section, (path for path, _, _ in touched))
    return paths


def branch_of(w: Workspace) -> str:
    """The branch that prd.json names, or named when Ralphy left it; "" for the usual one."""
    data = read_regular(w.feature.file("prd.json")) or b""
    with suppress(ValueError):
        document = orjson.loads(data)
        if isinstance(document, dict) and isinstance(document.get("branchName"), str):
            return str(document["branchName"])
    return recorded_branch(w)


def _plan(w: Workspace, docs: documents.Documents) -> Prd:
    """prd.json as the branch has it; before there is a branch, as the folder does."""
    if not docs.tip:
        return w.store.load()
    why = docs.merged.waits.get("prd.json")
    if why and not docs.merged.lost:
        raise with_way_back(w, InvalidInput(why), docs.tip)
    return documents.committed_prd(w, docs.tip)


def _life(w: Workspace, prd: Prd, tree: Tree, artifacts: Mapping[str, Artifact]) -> Life:
    rejected = is_rejected(prd, lambda gate: artifacts[at].digest if (at := document_at(gate)) in artifacts else "")
    if tree.is_on_branch and not is_done(prd):
        return Life.REJECTED if rejected else Life.IN_WORK
    here = prd if prd.stories else None
    base = base_of(w.checkout, w.config, str(prd.workflow.get("base") or ""))
    feature_places = places_of(w.checkout, w.config, w.feature.path, tree.feature_branch, here, base)
    return life_of(replace(feature_places, is_rejected=rejected))


def _qa(w: Workspace, tip: str) -> QaReport | None:
    return parse_qa_report(documents.text(w, QA.document, tip), w.feature.in_repository(QA.document))


def _acceptance(w: Workspace, tip: str) -> Acceptance | None:
    text = documents.text(w, DOCUMENT, tip) if w.config.acceptance.tests != OFF else ""
    return read_acceptance(text, documents.shown_at(w, DOCUMENT)) if text.strip() else None


def _baseline(w: Workspace, tree: Tree) -> Baseline | None:
    if not w.checks:
        return Baseline(is_green=True, detail="no checks are configured or detected")
    return known_baseline(w, tree.code)


def _unfinished(w: Workspace) -> str:
    if place := w.worked_on_in:
        return f"{w.feature.name} is being worked on in {place}"
    if read_intent(w):
        return "the last run ended while a commit was being landed"
    left = [str(run.get("story") or f"the {run.get('step')} step") for run in w.left_runs]
    if len(left) > 1:
        return f"the last runs ({', '.join(left)}) were cut off: their work is saved first"
    return f"the last run ({left[0]}) was cut off: its work is saved first" if left else ""


def observe_at(w: Workspace, commit: str, life: Life) -> Snapshot:
    """The feature as a commit has it: as if its branch were checked out, and nothing edited. It has no markers."""
    prd = prd_at(w.checkout, commit, w.feature.path) or Prd.of({"userStories": []})
    w.branch = str(prd.raw.get("branchName") or "")
    base = base_branch(w.repository, w.config, str(prd.workflow.get("base") or ""))
    code = w.code_of(w.objects.tree_of(commit))
    mine = w.feature_branch
    tree = Tree(head=commit, branch=mine, base=base, feature_branch=mine, code=code, pushed=branch_tip.pushed(w, prd))
    contents = {name: w.objects.read(f"{commit}:{w.feature.in_repository(name)}") for name in artifact_names()}
    questions = (contents["QUESTIONS.md"] or b"").decode("utf-8", "replace")
    report = contents[QA.document]
    return Snapshot(
        feature=w.feature.name,
        now=w.clock(),
        prd=prd,
        tree=tree,
        history=w.history,
        artifacts={
            name: Artifact(artifact_digest(data), 0) for name, data in contents.items() if data and data.strip()
        },
        answers=answers(questions),
        unanswered_steps=unanswered_steps(questions),
        baseline=_baseline(w, tree),
        qa=parse_qa_report(report.decode("utf-8", "replace"), w.feature.in_repository(QA.document)) if report else None,
        free_mb=free_mb(places(w)),
        session=w.session,
        life=life,
    )
