"""Views for people: TASKS.md, and the word for where a feature stands."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping
from textwrap import indent

from ralphy.documents.review import boxes, known_answers
from ralphy.engine.feature.branch_tip import work_tip
from ralphy.engine.feature.ignored_files import exclude
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import ExitCode
from ralphy.files.atomic import replace_file
from ralphy.files.read import read_regular
from ralphy.git import commands as git
from ralphy.pipeline import decision as d
from ralphy.pipeline.events import Decided
from ralphy.pipeline.forecast import forecast, what_is_left
from ralphy.pipeline.gates import verdict_on
from ralphy.pipeline.model import Prd, Snapshot, Status, Story
from ralphy.pipeline.steering import steering_notice
from ralphy.pipeline.steps.pr import PR
from ralphy.pipeline.steps.step import Step
from ralphy.pipeline.steps.table import step_of, steps
from ralphy.pipeline.stories import shown_status
from ralphy.pipeline.verification import is_unverified
from ralphy.text.first_few import first_few
from ralphy.text.rehearsed import marked

_MOST_FILES = 10
_BOX = {"completed": "x", "failed": "!", "blocked": "-", "in_progress": "~"}


def render_tasks(w: Workspace, s: Snapshot, working: Collection[str | None] = ()) -> None:
    """Write TASKS.md, a view of prd.json that nobody reads back; `working` are the stories that agents work on.

    One that a person has committed stays as it is: Git would refuse to switch branches.
    """
    path = w.feature.in_repository("TASKS.md")
    if not s.prd.stories or w.objects.at(w.objects.tree_of(git.head_of(w.repository)), path):
        return
    text = tasks_text(s.prd, working).encode()
    if read_regular(w.feature.file("TASKS.md")) != text:
        if not work_tip(w) and not path.startswith(f"{w.config.project.features_dir}/"):
            exclude(w.repository, path)  # of a folder of one's own: its .gitignore goes with the feature's branch
        replace_file(w.feature.file("TASKS.md"), text, durable=False)


def tasks_text(prd: Prd, working: Collection[str | None] = ()) -> str:
    """The stories as a checklist; `working` are those that are worked on."""
    known, answers = shown_status(prd), known_answers(prd)
    status = {story: Status.IN_PROGRESS.value if story in working else stored for story, stored in known.items()}
    lines = [
        f"# Tasks: {len(prd.completed_ids)} of {len(prd.stories)} completed",
        "",
        "A view of prd.json; edit that file instead.",
        "",
    ]
    for story in prd.stories:
        after = f" (after {', '.join(story.depends_on)})" if story.depends_on else ""
        label = f"{status[story.id]}, unverified" if is_unverified(story) else status[story.id]
        lines.append(f"- [{_BOX.get(status[story.id], ' ')}] {story.id} {story.title}: {label}{after}")
        lines += [*_about(story), *_items(story, answers)]
    return "\n".join(lines) + "\n"


def _about(story: Story) -> Iterator[str]:
    """What the story says it is about, and the files that it changed, or is to change."""
    if words := " ".join(str(story.raw.get("description") or "").split()):
        yield f"  - {words}"
    files = story.execution.get("files_modified") or story.raw.get("files")
    if isinstance(files, list) and files:
        yield f"  - Files: {first_few([f'`{file}`' for file in files], _MOST_FILES)}"


def _items(story: Story, answers: Mapping[str, str]) -> Iterator[str]:
    """The story's criteria and tasks, ticked where they are done."""
    for title, items in boxes(story, answers):
        yield f"  - {title}:"
        for item in items:
            bullet = item.bullet("- [x]" if item.done else "- [ ]")
            yield indent(bullet, "    ") if "\n" in bullet else f"    {bullet}"


def phase_of(decision: d.Decision, s: Snapshot) -> str:
    """The phase that status shows, derived from what comes next."""
    if isinstance(decision, d.Wait) and decision.gate:
        return step_of(decision.gate).waiting_phase
    if isinstance(decision, d.RunAgent):
        return step_of(decision.step).phase
    if isinstance(decision, d.Done):
        return "COMPLETED"
    if isinstance(decision, d.Halt):
        return _phase_of_halt(decision, s)
    if isinstance(decision, d.Publish):
        return PR.phase
    return _position(s)


def emit_decision(w: Workspace, decision: d.Decision, s: Snapshot) -> None:
    """Tell of a decision, and of how far the feature is."""
    run, is_rehearsal = decision if isinstance(decision, d.RunAgent) else None, w.config.agent.is_rehearsal
    w.emit(Decided(
        at=s.now,
        story=getattr(decision, "story", None) or None,
        decision=type(decision).__name__,
        phase=phase_of(decision, s),
        reason=decision.reason,
        rests=isinstance(decision, d.Rest),
        exit_code=int(decision.exit_code) if isinstance(decision, d.Rest) else None,
        gate=getattr(decision, "gate", ""),
        until=getattr(decision, "until", None),
        step=run.step if run else "",
        attempt=run.attempt if run else None,
        mode=run.mode if run else "",
        model=marked(run.model, is_rehearsal) if run else "",
        completed=len(s.prd.completed_ids),
        stories=len(s.prd.stories),
        runs=s.session.runs,
        cost_usd=round(s.session.cost_usd, 4),
        rehearsed=is_rehearsal,
        branch=s.tree.feature_branch if s.tree.is_on_branch else "",
        ahead=what_is_left(s) if forecast(s) else "",
        notice=steering_notice(s.prd),
        current=how_to_see(s, decision),
    ))  # fmt: skip


def how_to_see(s: Snapshot, decision: d.Decision) -> str:
    """How to see the document of the decision's gate, else prd.json, where the checkout has one of its own; "" where it
    has none."""
    if not s.left_to_git:
        return ""
    gate = getattr(decision, "gate", "")
    document = step_of(gate).document if gate else ""
    name = document if document in s.left_to_git else s.left_to_git[0]
    others = len(s.left_to_git) - 1
    more = f" (and {others} more)" if others else ""
    where = shlex.quote(f"{s.tree.feature_branch}:{s.folder}/{name}")
    return f"the branch that is checked out has another {name}{more}; to read Ralphy's: git show {where}"


def _position(s: Snapshot) -> str:
    """The phase of the step that the folder is in, apart from the next decision."""
    if not s.prd.stories and not any(step.applies(s) for step in steps()):
        return "IDLE"
    return next((step.phase for step in steps() if step.applies(s) and not _is_past(s, step)), PR.phase)


def _is_past(s: Snapshot, step: Step) -> bool:
    """Whether the step's gate is approved, or its document is there if it has no gate."""
    approval = verdict_on(s, step)
    return approval is not None and approval.verdict == "approved" if step.gate else bool(s.digest(step.document))


def _phase_of_halt(decision: d.Halt, s: Snapshot) -> str:
    if decision.exit_code == ExitCode.NOT_FOUND:
        return "IDLE"
    if decision.is_rejected:
        return "REJECTED"
    if decision.exit_code == ExitCode.STORIES_OPEN or decision.late:
        return "FAILED"
    return _position(s)
