"""Builders of core's values: what a test does not name has a value that lets everything go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import settings

from ralphy.pipeline.history import History
from ralphy.pipeline.model import (
    Answer,
    Artifact,
    Baseline,
    Document,
    Marker,
    Prd,
    QaReport,
    ReviewFinding,
    Session,
    Snapshot,
    Status,
    Story,
    Tree,
)

NOW = 1_800_000_000.0
FEATURE = "login"
GREEN = Baseline(is_green=True)


def examples(number: int) -> int:
    """How many examples a property is shown: fewer where the profile of the call says so (`make fast`)."""
    return max(10, number * settings().max_examples // 100)


def story(story_id: str = "US-001", **fields: Any) -> Document:
    """A story of prd.json; `status` brings `passes` with it."""
    status = fields.get("status", "pending")
    return {
        "id": story_id,
        "title": f"Story {story_id}",
        "priority": 1,
        "status": status,
        "passes": status == "completed",
        **fields,
    }


def done(story_id: str = "US-001", **fields: Any) -> Document:
    return story(story_id, status="completed", **fields)


def prd(*stories: Document, workflow: Document | None = None, **fields: Any) -> Prd:
    """A PRD of these stories; `workflow` is Ralphy's record in it."""
    raw = {"branchName": "ralph/login", **fields, "userStories": list(stories)}
    return Prd.of(raw if workflow is None else {**raw, "workflow": workflow})


def one(**fields: Any) -> Story:
    """A story as a value."""
    return prd(story(**fields)).stories[0]


def approval(gate: str = "spec", verdict: str = "approved", digest: str = "", **more: Any) -> Document:
    """A person's word about the artifact that `snapshot` shows by default."""
    bound = digest or {"spec": digest_of("SPEC.md"), "qa": digest_of("QA_REPORT.md")}[gate]
    return {"gate": gate, "verdict": verdict, "digest": bound, **({"code": "code-1"} if gate == "qa" else {}), **more}


def digest_of(name: str, version: int = 1) -> str:
    return f"{name}@{version}"


def artifacts(*names: str, ctime_ns: int = 100, **versions: int) -> dict[str, Artifact]:
    """Artifacts by name, `SPEC.md` at its first version; `SPEC=2` names another version."""
    found = {name: Artifact(digest_of(name), ctime_ns) for name in names}
    return found | {f"{n}.md": Artifact(digest_of(f"{n}.md", v), ctime_ns) for n, v in versions.items()}


def marker(text: str = "", ctime_ns: int = 200, invalid: str = "") -> Marker:
    """A marker made after the artifacts of `artifacts`."""
    return Marker(ctime_ns, text, invalid)


def tree(**fields: Any) -> Tree:
    """The feature's branch checked out, nothing changed."""
    known = {"head": "h1", "branch": "ralph/login", "base": "main", "feature_branch": "ralph/login", "code": "code-1"}
    return Tree(**{**known, **fields})


def on_main(**fields: Any) -> Tree:
    """Before the feature's branch is made."""
    return tree(**{"branch": "main", **fields})


def history(*entries: Mapping[str, Any], feature: str = FEATURE) -> History:
    """The fold of these lines."""
    found = History(feature)
    for entry in entries:
        found.add(entry)
    return found


def a_run(story_id: str | None = "US-001", run: str = "r1", **fields: Any) -> dict[str, Any]:
    """The journal's line at the start of a run; without a story, `step` says of what."""
    step = {"step": "story", "story": story_id} if story_id else {}
    return {"ev": "run", "feature": FEATURE, "at": 1.0, "run": run, "mode": "fresh", **step, **fields}


def an_end(outcome: str = "rejected", run: str = "r1", **fields: Any) -> dict[str, Any]:
    """The journal's line at the end of a run."""
    return {"ev": "end", "feature": FEATURE, "at": 2.0, "run": run, "outcome": outcome, **fields}


def attempts(*outcomes: str, story_id: str | None = "US-001", n: int = 1, **fields: Any) -> list[dict[str, Any]]:
    """Runs that ended so, one after the other, the first one the n-th."""
    lines = []
    for number, outcome in enumerate(outcomes, n):
        run = f"{story_id or fields.get('step')}-{number}"
        step = {"step": fields["step"]} if "step" in fields else {}
        more = {key: value for key, value in fields.items() if key != "step"}
        lines += [a_run(story_id, run, **step), an_end(outcome, run, **more)]
    return lines


def an_open_gate(gate: str = "spec", artifact: str = "SPEC.md", ctime_ns: int = 100) -> dict[str, Any]:
    """The journal's line of a gate that was opened for the artifact of `artifacts`."""
    return {"ev": "gate", "feature": FEATURE, "gate": gate, "digest": digest_of(artifact), "ctime_ns": ctime_ns}


def qa_report(verdict: str = "pass", *severities: str) -> QaReport:
    return QaReport(verdict, tuple(ReviewFinding(s, f"A {s} thing") for s in severities))


def snapshot(
    *stories: Document,
    lines: Sequence[Mapping[str, Any]] = (),
    session: Mapping[str, Any] | None = None,
    workflow: Document | None = None,
    **fields: Any,
) -> Snapshot:
    """A feature with PRD.md, an approved SPEC.md, green checks, and its branch checked out.

    `lines` are the journal's, `session` fields of the Session, `workflow` replaces what prd.json records.
    """
    recorded = {"approvals": [approval()], "steps": {"spec": spec_record()}} if workflow is None else workflow
    known: dict[str, Any] = {
        "feature": FEATURE,
        "now": NOW,
        "prd": prd(*(stories or (story(),)), workflow=recorded),
        "tree": tree(),
        "history": history(*lines),
        "artifacts": artifacts("PRD.md", "SPEC.md"),
        "baseline": GREEN,
        "session": Session(**(session or {})),
    }
    return Snapshot(**{**known, **fields})


def spec_record(prd_version: int = 1, spec_version: int = 1) -> Document:
    """What is recorded when a spec is adopted."""
    return {
        "inputs": {"PRD.md": digest_of("PRD.md", prd_version)},
        "outputs": {"SPEC.md": digest_of("SPEC.md", spec_version)},
    }


def qa_record(code: str = "code-1", **more: Any) -> Document:
    """What is recorded when a review is adopted."""
    return {
        "inputs": {"SPEC.md": digest_of("SPEC.md"), "code": code},
        "outputs": {"QA_REPORT.md": digest_of("QA_REPORT.md")},
        **more,
    }


def reviewed(
    *stories: Document,
    report: QaReport | None = None,
    approvals: Sequence[Document] = (),
    steps: Mapping[str, Document] | None = None,
    pr: Document | None = None,
    **fields: Any,
) -> Snapshot:
    """A feature whose stories are completed and whose review is there and fresh."""
    workflow: Document = {
        "approvals": [approval(), *approvals],
        "steps": {"spec": spec_record(), "qa": qa_record(), **(steps or {})},
    }
    if pr is not None:
        workflow["pr"] = pr
    known: dict[str, Any] = {
        "workflow": workflow,
        "artifacts": artifacts("PRD.md", "SPEC.md", "QA_REPORT.md"),
        "qa": report or qa_report(),
    }
    return snapshot(*(stories or (done(),)), **{**known, **fields})


def answer(text: str, story_id: str = "US-001") -> Answer:
    return Answer(story_id, text)


def statuses(document: Prd) -> dict[str, Status]:
    return {found.id: found.status for found in document.stories}
