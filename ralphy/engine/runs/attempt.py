"""One attempt at a story: what it begins with, and its end once it is judged: landed, or kept and cleared away."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from ralphy.agents.protocol import Outcome
from ralphy.documents import progress
from ralphy.documents.questions import asked
from ralphy.engine.feature import documents
from ralphy.engine.feature.branch_tip import tip_of, work_tip
from ralphy.engine.feature.documents import committed_prd
from ralphy.engine.feature.kept_attempts import next_number, private_commit
from ralphy.engine.feature.land import NewCommit, chore, land, landed_event, tip_taken_up
from ralphy.engine.feature.live_documents import lay_out
from ralphy.engine.lane_use.checks import CheckResult, checked
from ralphy.engine.lane_use.lane_layout import with_documents
from ralphy.engine.lane_use.take_over import Candidate, file_changes
from ralphy.engine.runs.ending import end_line
from ralphy.engine.runs.running import Ran
from ralphy.engine.runs.story_record import evidence_of, of_verdict, story_files
from ralphy.engine.verify.baseline import tell_what_is_not_asked
from ralphy.engine.verify.case import Verdict
from ralphy.engine.workspace.changes import is_control
from ralphy.engine.workspace.scan import redacted
from ralphy.engine.workspace.subject import subject
from ralphy.engine.workspace.waiting import next_try
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import BranchMoved
from ralphy.git.commands import lines_changed
from ralphy.pipeline.breaker import signature
from ralphy.pipeline.decision import RunAgent
from ralphy.pipeline.model import Document, Prd, Snapshot, Status, Story
from ralphy.pipeline.steering import steering_files
from ralphy.pipeline.steps import names
from ralphy.pipeline.steps.qa import QA
from ralphy.pipeline.steps.table import steps
from ralphy.pipeline.stories import completed, not_passed
from ralphy.pipeline.verification import is_unverified, verified_by
from ralphy.prompts.budget import excerpt
from ralphy.testguard.substance import digest_of, is_test
from ralphy.text.plain_text import as_utf8, without_controls

_ERROR_BYTES = 2000
_MOST_MOVES = 4  # of a person, each in the moment of a landing
_LINE_CHARS = 300
_OUTPUT_BYTES = 2400  # of a red check, in the story's document


@dataclass(frozen=True, slots=True)
class Attempt:
    """Everything that is known when an attempt has been judged.

    `was_cut_off` says that Ralphy died in it, or was stopped; `saved_commit` is the commit that holds its work already.
    """

    story: Story
    number: int
    prd: Prd
    head: str
    ran: Ran
    candidate: Candidate
    verdict: Verdict
    was_cut_off: bool = False
    saved_commit: str = ""


def begins_with(w: Workspace, decision: RunAgent, snapshot: Snapshot) -> tuple[str, str]:
    """(the tree that an attempt at the decision's story begins with, the feedback for its agent)."""
    past = snapshot.history.of(names.STORY, decision.story)
    green = w.objects.tree_of(snapshot.tree.head)
    tell_what_is_not_asked(w, w.code_of(green))
    begun = green if decision.mode == "fresh" else kept_work_on(w, green, past.tree)
    return with_documents(w, begun), past.feedback


def settle(w: Workspace, attempt: Attempt) -> None:
    """Land an attempt that passed; keep and clear away any other. Nothing is left to do for a story that a person
    took out of the plan meanwhile."""
    v = attempt.verdict
    if attempt.story.id not in {story.id for story in committed_prd(w, tip_of(w)).stories}:
        why = f"{attempt.story.id} is not in prd.json any more"
        lay_out(w, work_tip(w))
        w.record("end", **{**_end(attempt), "outcome": Outcome.STOPPED.value, "detail": why, "failure": why})
        w.say(why)
        return
    if v.passed:
        _land_story(w, attempt)
        return
    verdict = replace(v, failure=redacted(w, v.failure), digest=redacted(w, v.digest), question=redacted(w, v.question))
    _keep_attempt(w, replace(attempt, verdict=verdict))


def _at_tip(w: Workspace, a: Attempt) -> Attempt:
    """The attempt, noted on the branch as it stands now: somebody may have committed meanwhile."""
    tip = tip_taken_up(w)
    return a if tip in ("", a.head) else replace(a, head=tip, prd=committed_prd(w, tip))


def kept_work_on(w: Workspace, green: str, attempt: str) -> str:
    """The last green tree with the changes of a kept attempt, except where somebody committed others since then."""
    base = w.objects.tree_of(f"{attempt}^")
    since = {path for path, _, _ in w.objects.changes(base, green)}
    in_the_way = {*since, *(folder for path in since for folder in _folders(path))}
    made = w.objects.changes(base, w.objects.tree_of(attempt))
    return w.objects.graft(green, {
        path: new for path, _, new in made
        if not is_control(w, path) and path not in in_the_way and since.isdisjoint(_folders(path))
    })  # fmt: skip


def _folders(path: str) -> list[str]:
    """The folders that a path lies in."""
    return [str(folder) for folder in PurePosixPath(path).parents]


def _land_story(w: Workspace, a: Attempt) -> None:
    """The story's one commit: code, prd.json, progress.txt and its document together."""
    past = w.history.of(names.STORY, a.story.id)
    cost = past.cost_usd + a.ran.result.cost_usd
    execution = {
        "attempts": a.number,
        "code_test_attempts": past.attempts + 1,
        "files_modified": _names(w, a.candidate.files[:200]),
        "completed_at": w.iso_now,
    }
    tests = _names(w, [path for path in a.candidate.files if is_test(path)][:100])
    evidence = _evidence(w, a, cost)
    fields = completed(a.story, execution, evidence, tests, review_follows=QA in steps())
    prd = a.prd.with_story(a.story.id, **fields)
    trailers = [
        ("Ralphy-Story", f"{w.feature.name}/{a.story.id}"),
        ("Ralphy-Attempt", str(a.number)),
        ("Ralphy-Run", a.ran.run),
        ("Ralphy-Cost-USD", f"{cost:.4f}"),
    ]
    end = {**_end(a), "landed": True, "code": a.candidate.code, "story_cost": cost}
    end["story_seconds"] = round(past.active_s + end["seconds"], 3)
    if w.config.agent.is_rehearsal:
        end["rehearsed"] = True
    subject = f"feat({w.feature.name}): {a.story.id} {a.story.title}"
    body = f"This story is {verified_by(evidence)}." if is_unverified(prd.story(a.story.id)) else ""
    files = story_files(w, prd, a.story, _entry(w, a, "completed"), a.head)
    commit = land(w, NewCommit(subject, trailers, a.candidate.tree, a.head, files, end, body))
    w.emit(landed_event(prd.story(a.story.id), commit))


def _evidence(w: Workspace, a: Attempt, cost_usd: float) -> Document:
    added, removed = lines_changed(w.repository, a.candidate.green, a.candidate.tree)
    return evidence_of(a.candidate.code, a.head, a.verdict.checks, {
        "run": a.ran.run,
        "cost_usd": round(cost_usd, 4),
        "check_runs": subject().runs,
        **of_verdict(a.verdict),
        "steering": steering_files(_names(w, a.candidate.files)),
        "change": digest_of(file_changes(w, a.candidate.green, a.candidate.tree)),
        "lines": {"added": added, "removed": removed},
    })  # fmt: skip


def _keep_attempt(w: Workspace, a: Attempt) -> None:
    """The attempt goes under a ref, the checkout back to the last green commit, the failure to the next attempt."""
    v = a.verdict
    commit = a.saved_commit or (_attempt_commit(w, a) if a.candidate.tree != a.candidate.green else "")
    number = None
    if commit and not a.saved_commit:
        number = next_number(w, a.story.id, a.number)
        w.checkout.refs.move([(_ref(w, a, f"attempt-{number}"), commit, "")])
        w.milestone("attempt_kept")
    goes_on = (
        v.goes_on and bool(commit) and (_is_green(v) or w.history.of(names.STORY, a.story.id).last_mode == "fresh")
    )
    end = {**_end(a), "failure": v.digest or v.failure, "tree": commit or None, "kept": number,
           "heals": goes_on or None}  # fmt: skip
    if a.was_cut_off:
        end["work"] = w.code_of(w.objects.tree_of(commit)) if goes_on else None
    if commit:
        w.record("kept", run=a.ran.run, commit=commit)
    if v.outcome is Outcome.CONFLICTED:
        lay_out(w, work_tip(w))
        w.record("end", **end)
        return
    if not v.outcome.costs_an_attempt:
        _wait_instead(w, a, end)
        return
    for _ in range(_MOST_MOVES):
        with suppress(BranchMoved):
            _note_failed(w, _at_tip(w, a), end)
            return
    _note_failed(w, _at_tip(w, a), end)


def _note_failed(w: Workspace, a: Attempt, end: dict[str, Any]) -> None:
    """The commit that says in the documents what has failed, or was asked."""
    v = a.verdict
    status = Status.BLOCKED if v.question else Status.PENDING
    prd = a.prd.with_story(a.story.id, **not_passed(a.story, status, a.number, _short(v.failure)))
    files = story_files(w, prd, a.story, _entry(w, a, "blocked" if v.question else "failed"), a.head)
    if v.question:
        text = documents.text(w, "QUESTIONS.md", a.head)
        files["QUESTIONS.md"] = asked(text, a.story.id, a.story.title, v.question).encode()
    event = f"{'question' if v.question else 'attempt-failed'} {w.feature.name}/{a.story.id}"
    subject = f"{a.story.id} attempt {a.number} {'asks' if v.question else 'rejected'}"
    land(w, chore(w, event, subject, a.head, files, end=end, body=_short(v.failure)))


def _is_green(verdict: Verdict) -> bool:
    """The checks are green and only the run's end was bad: the next attempt goes on from there."""
    is_rejected = verdict.outcome is Outcome.REJECTED
    return verdict.lacks_report or (not is_rejected and all(check.is_green for check in verdict.checks))


def _wait_instead(w: Workspace, a: Attempt, end: dict[str, Any]) -> None:
    """A limit or a passing trouble: nothing is counted, what there was is kept, the branch is where it was."""
    lay_out(w, work_tip(w))
    retry = next_try(w, end["run"], a.verdict.outcome, a.ran.result)
    w.record("end", **{**end, **retry, "detail": a.ran.result.detail})


def _attempt_commit(w: Workspace, a: Attempt) -> str:
    subject = f"{w.feature.name}/{a.story.id} attempt {a.number}: {a.verdict.outcome.value}"
    return private_commit(w, a.candidate.tree, a.head, f"{subject}\n\n{_short(a.verdict.failure)}")


def _ref(w: Workspace, a: Attempt, name: str) -> str:
    return f"refs/ralphy/{w.feature.name}/{a.story.id}/{name}"


def _end(a: Attempt) -> dict[str, Any]:
    """The journal's last line of this run."""
    seconds = a.ran.result.duration_s + sum(check.seconds for check in a.verdict.checks)
    line = end_line(a.ran.run, a.ran.result, a.verdict.outcome, seconds=round(seconds, 3),
                    detail=_short(a.verdict.failure, 300))  # fmt: skip
    line["checks"] = [checked(check) for check in a.verdict.checks] or None
    if a.ran.result.outcome is not a.verdict.outcome:
        line["agent"] = a.ran.result.outcome.value
    line["acceptance"] = list(a.verdict.acceptance.refused) or None
    line["unproved"] = a.verdict.is_unproved or None
    return line if a.was_cut_off else {**line, **_for_the_breaker(a)}


def _for_the_breaker(a: Attempt) -> dict[str, Any]:
    files = a.candidate.files
    if a.ran.claim.status == "BLOCKED":  # its changes do not count: it says itself that it gets no further
        return {"changed": "", "error": "blocked"}
    says_testing = not files and a.ran.claim.work_type == "TESTING"
    return {
        "changed": a.candidate.code if files else "",
        "error": signature(a.verdict.failure) or None,
        "test_only": says_testing or (bool(files) and all(is_test(path) for path in files)) or None,
    }


def _entry(w: Workspace, a: Attempt, status: str) -> progress.ProgressEntry:
    red = next((check for check in a.verdict.checks if not check.is_green), None)
    last = red or (a.verdict.checks[-1] if a.verdict.checks else None)
    return progress.ProgressEntry(
        at=w.iso_now,
        story=a.story.id,
        title=a.story.title,
        attempt=a.number,
        max_attempts=w.config.limits.max_attempts,
        status=status,
        iteration=w.history.iterations,
        run=a.ran.run,
        seconds=a.ran.result.duration_s,
        files=_names(w, a.candidate.files),
        checks=[check.sentence() for check in a.verdict.checks],
        tail=redacted(w, _output(last)) if last else "",
        error=_short(a.verdict.failure),
        learnings=redacted(w, (a.ran.handed_in("learnings.md") or b"").decode("utf-8", "replace")),
    )


def _names(w: Workspace, paths: Sequence[str]) -> list[str]:
    """Paths as they may be written down: a name can hold a secret, too."""
    return redacted(w, "\0".join(map(as_utf8, paths))).split("\0") if paths else []


def _output(check: CheckResult) -> str:
    """The end of what a check printed; of a red one what shows its first error, too."""
    return _tail(check.output) if check.is_green else _tail(excerpt(check.output, _OUTPUT_BYTES), 60)


def _tail(output: str, lines: int = 12) -> str:
    return "\n".join(line[:_LINE_CHARS] for line in output.strip().splitlines()[-lines:])


def _short(text: str, most: int = _ERROR_BYTES) -> str:
    """At most so many characters, on lines that cannot pass for a trailer."""
    lines = [" ".join(without_controls(line).split()) for line in text.splitlines()]
    body = "\n".join(line for line in lines if line and not line.startswith("Ralphy-"))
    return body if len(body) <= most else body[:most] + " …"
