"""Publish: push the feature's branch and open its pull request, or say why that is left to a person."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ralphy.checks.listing import number_of_tests
from ralphy.engine.feature import documents
from ralphy.engine.feature.land import commit_documents
from ralphy.engine.workspace.scan import redacted
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import DiskFull, EnvironmentProblem, RalphyError
from ralphy.forge.body import (
    PullRequestText,
    StoryEvidence,
    evidence_table,
    parse_pr_text,
    with_evidence,
)
from ralphy.forge.github import GitHub, PullRequest
from ralphy.forge.push import Remote, push, remote
from ralphy.lanes.large_files import FILTER, pointer_of
from ralphy.pipeline import decision as d
from ralphy.pipeline.events import PullRequestOpened
from ralphy.pipeline.model import Snapshot, Story
from ralphy.pipeline.parts import unproved, with_parts
from ralphy.pipeline.steering import steering_of
from ralphy.pipeline.steps.pr import PR
from ralphy.pipeline.verification import changed_lines, is_unverified
from ralphy.text.first_few import first_few
from ralphy.text.plain_text import as_utf8
from ralphy.text.rehearsed import NOTE
from ralphy.text.tone import WAITING


@dataclass(frozen=True, slots=True)
class _Published:
    remote: str
    pull_request: PullRequest | None = None


def publish(w: Workspace, _: d.Publish, s: Snapshot) -> None:
    """Push, open or adopt, and record the URL; the record itself is pushed too, so that both sides agree."""
    target = _remote(w)
    if target is None:
        branch = s.tree.feature_branch
        w.say(f"there is no remote: branch {branch} and PR.md are the result; to merge it: git merge {branch}")
        _record(w, s, _Published(remote=""))
        return
    _tell_of_large_files(w, s, target)
    if not _push(w, s, target, s.tree.head):
        return
    w.milestone("pushed")
    if s.prd.pr.get("code") == s.tree.code:  # a kill came between the record and its push
        _merge_when_green(w, s, target, s.prd.pr.get("number"), s.tree.head)
        return
    pull_request = _open(w, s, target)
    w.milestone("pull_request_made")
    commit = _record(w, s, _Published(target.name, pull_request))
    if _push(w, s, target, commit):
        _merge_when_green(w, s, target, pull_request.number if pull_request else None, commit)


def _merge_when_green(w: Workspace, s: Snapshot, target: Remote, number: object, oid: str) -> None:
    """Have the forge merge exactly this commit, if the settings say so and the base branch requires checks to pass:
    without any, the forge would merge at once. What hinders it is a warning; a person can still merge.
    """
    if not w.config.pr.auto_merge or not isinstance(number, int):
        return
    forge = GitHub(target, w.repository.env)
    why = "it is a draft" if w.config.pr.draft else f"{s.tree.base} requires no checks"
    try:
        if not w.config.pr.draft and (checks := forge.required_checks(s.tree.base)):
            forge.merge_when_green(number, oid)
            w.say(f"#{number} is merged at {oid[:10]} when these checks pass: {first_few(checks, 5)}")
            return
    except RalphyError as error:
        why = str(error)
    w.say(f"warning: #{number} is not merged automatically: {why}", WAITING)


def _remote(w: Workspace) -> Remote | None:
    if not w.repository.text("remote"):
        return None
    return remote(w.repository.root, env=w.repository.env)


def _tell_of_large_files(w: Workspace, s: Snapshot, target: Remote) -> None:
    """Git LFS uploads contents from a hook, and Ralphy's Git runs none. Warn first: the remote may refuse the push."""
    if not w.repository.text("config", "--default", "", "--get", FILTER):
        return
    base = w.repository.text("merge-base", s.tree.base, s.tree.head)
    changes = w.objects.changes(w.objects.tree_of(base), w.objects.tree_of(s.tree.head))
    paths = [as_utf8(path) for path, _, now in changes if now and pointer_of(w.objects.read(now.oid) or b"")]
    if paths:
        names = f"{', '.join(paths[:3])}{' …' if paths[3:] else ''} {'are' if paths[1:] else 'is'}"
        upload = f"git lfs push {target.name} {s.tree.feature_branch}"
        w.say(f"{names} in Git LFS, which Ralphy does not upload; run `{upload}`", WAITING)


def _push(w: Workspace, s: Snapshot, target: Remote, oid: str) -> bool:
    """Push, and say so; False where that is refused: then the feature rests, with all that the remote says, and it is
    noted for `ralphy status` and the report of the morning."""
    try:
        push(w.repository.root, target, oid, s.tree.feature_branch, (s.tree.base,), env=w.repository.env)
    except DiskFull:
        raise
    except RalphyError as error:
        why = f"{error}\n  {error.hint}; to try again: ralphy loop {w.feature.name}"
        w.session = replace(w.session, refused=(why, error.exit_code))
        w.record("rest", durable=False, reason=why, refused=error.exit_code)
        return False
    w.session = replace(w.session, published=oid)
    w.record("pushed", durable=False, commit=oid, to=f"{target.name}/{s.tree.feature_branch}")
    w.say(f"pushed {oid[:10]} to {target.name}/{s.tree.feature_branch}")
    return True


def _open(w: Workspace, s: Snapshot, target: Remote) -> PullRequest | None:
    forge = GitHub(target, w.repository.env)
    why_not = forge.available()
    if why_not:
        if not target.slug or not forge.has_program:
            w.say(f"no pull request was opened: {why_not}. The branch is pushed, the text is in PR.md")
            return None
        raise EnvironmentProblem(f"the branch is pushed, the pull request is not open yet: {why_not}",
                                 hint="then run it again to open or adopt the pull request")  # fmt: skip
    options = w.config.pr
    pull_request = forge.create(s.tree.feature_branch, s.tree.base, _text(w, s), draft=options.draft,
                                labels=options.labels, reviewers=options.reviewers)  # fmt: skip
    for warning in pull_request.warnings:
        w.say(f"warning: {warning}")
    w.record("pull_request", durable=False, url=pull_request.url, adopted=pull_request.adopted)
    w.emit(PullRequestOpened(url=pull_request.url, adopted=pull_request.adopted))
    return pull_request


def _text(w: Workspace, s: Snapshot) -> PullRequestText:
    """The agent's words, and below them what Ralphy saw."""
    text = parse_pr_text(redacted(w, documents.text(w, PR.document)))
    table = evidence_table([evidence_of(story) for story in with_parts(s.prd).stories], steering_of(s.prd))
    note = f"{NOTE}\n\n" if s.history.is_rehearsed else ""
    return with_evidence(text, f"## Evidence\n\n{note}{table}")


def evidence_of(story: Story) -> StoryEvidence:
    """A story's row in the evidence table."""
    evidence, execution = story.raw.get("evidence") or {}, story.execution
    checks = tuple((str(c.get("name")), float(c.get("seconds", 0))) for c in evidence.get("checks", ()))
    files = len(execution.get("files_modified") or ())
    cost = float(evidence.get("cost_usd", 0.0))
    attempts, notes = int(execution.get("attempts") or 0), tuple(map(str, evidence.get("warnings") or ()))
    return StoryEvidence(story.id, story.title, attempts, cost, checks, files, changed_lines(evidence),
                         number_of_tests(evidence), notes, is_unverified(story), unproved(story))  # fmt: skip


def _record(w: Workspace, s: Snapshot, done: _Published) -> str:
    pr: dict[str, object] = {"branch": s.tree.feature_branch, "code": s.tree.code, "pushed": bool(done.remote)}
    if done.remote:
        pr["remote"] = done.remote
    if done.pull_request:
        pr |= {"url": done.pull_request.url, "number": done.pull_request.number, "state": "open"}
    prd = s.prd.with_workflow(phase="COMPLETED", pr=pr)
    return commit_documents(w, s, "published", "published", prd=prd)
