"""plan and --dry-run: the next decision, and what follows if all goes well."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ralphy.cli.options import Invocation
from ralphy.cli.status.look import explained
from ralphy.engine.feature.features import FeatureLocation
from ralphy.engine.view.status import snapshot_at
from ralphy.engine.workspace.workspace import Workspace
from ralphy.pipeline.model import Snapshot
from ralphy.pipeline.plan import Plan, PlannedStep, PlannedStory, plan_of, stops
from ralphy.text.rehearsed import marked, marked_words


def show_plan(call: Invocation, w: Workspace, location: FeatureLocation | None, before: str = "") -> int:
    """Print the plan; nothing is changed and no agent is started."""
    snapshot, text, fields = explained(w, location, before)
    plan = plan_of(snapshot, w.config)
    end = _end(w)
    lines = [text, *(f"  {line}" if line else "" for line in _lines(w, snapshot, plan, end))]
    return call.output.answer("plan", "\n".join(lines), **fields, **_values(w, plan), branch=w.feature_branch, end=end)


def tell_plan(call: Invocation, w: Workspace) -> None:
    """Print before the first agent is paid what is planned, what it may cost, and what ends it."""
    s = snapshot_at(w, call.find_feature(w.feature.name))
    plan = plan_of(s, w.config)
    if plan.expected is None:
        return
    left = sum(planned.wave > 0 for planned in plan.stories)
    steps = [f"{left} of {len(s.prd.stories)} stories" if not step.document and s.prd.stories else step.name
             for step in plan.steps if not step.is_made]  # fmt: skip
    asks = [step.name for step in plan.steps if step.gate == "human" and not step.is_approved]
    waits = f"; you approve {', '.join(asks)}" if asks else ""
    call.output.note(f"plan       {', '.join(steps)}{waits} (ralphy plan {w.feature.name})")
    call.output.note(f"expected   {_expected_words(w, plan)}")
    call.output.note(f"stops      {'; '.join(what for what, _ in stops(w.config))}")


def _end(w: Workspace) -> str:
    if not w.repository.text("remote"):
        return f"the branch {w.feature_branch} and PR.md (there is no remote)"
    draft = "draft pull request" if w.config.pr.draft else "pull request"
    return f"{w.feature_branch} is pushed, with a {draft} where gh can open one"


def _lines(w: Workspace, s: Snapshot, plan: Plan, end: str) -> Iterator[str]:
    jobs = w.config.lanes.jobs
    yield ""
    yield "steps"
    for step in plan.steps:
        yield f"  {step.name:<10} {_step_words(w, step, plan, len(s.prd.stories))}"
    if plan.stories:
        yield ""
        yield f"stories, by wave of up to {jobs} agents" if jobs > 1 else "stories, in their order"
        for planned in plan.stories:
            yield _story_words(w, planned)
    yield ""
    yield "checks"
    for check in w.checks:
        yield f"  {check.name:<10} {check.run}"
    if not w.checks:
        yield "  none: stories land unverified"
    yield ""
    if plan.stories or not s.prd.stories:
        yield f"expected   {_expected_words(w, plan)}"
    yield f"stops      {'; '.join(what for what, _ in stops(w.config))}"
    yield f"ends with  {end}"


def _expected_words(w: Workspace, plan: Plan) -> str:
    if plan.expected is None:
        return "nothing more"
    budget = w.config.limits.max_cost_usd
    is_more = budget is not None and plan.expected.cost_usd[1] > budget
    words = marked_words(plan.expected.words, w.config.agent.is_rehearsal and not plan.expected.is_rehearsed)
    return f"{words}{f': the budget of ${budget:.2f} may end it before' if is_more else ''}"


def _step_words(w: Workspace, step: PlannedStep, plan: Plan, stories: int) -> str:
    models = marked(", ".join(dict.fromkeys(step.models)), w.config.agent.is_rehearsal)
    if not step.document:
        left = sum(planned.wave > 0 for planned in plan.stories)
        what = f"{left} of {stories} left" if stories else "written by the specification"
        return f"{models}: {what}"
    state = "made" if step.is_made else "to be made"
    gates = {"human": "a person approves it", "auto": "approved automatically", "": ""}
    gate = "approved" if step.is_approved else gates[step.gate]
    return f"{models}: {step.document}, " + "; ".join(part for part in (state, gate) if part)


def _story_words(w: Workspace, planned: PlannedStory) -> str:
    story = planned.story
    after = f", after {', '.join(story.depends_on)}" if story.depends_on and planned.wave else ""
    attempt = f", attempt {planned.attempt}" if planned.attempt > 1 else ""
    how = planned.why_not or f"{marked(planned.model, w.config.agent.is_rehearsal)}{attempt}{after}"
    return f"  {planned.wave or '-':>2}  {story.id} {story.title} ({how})"


def _values(w: Workspace, plan: Plan) -> dict[str, Any]:
    expects = plan.expected
    return {
        "steps": [{"name": step.name, "document": step.document, "models": list(step.models), "gate": step.gate,
                   "made": step.is_made, "approved": step.is_approved} for step in plan.steps],
        "stories": [{"id": one.story.id, "title": one.story.title, "wave": one.wave, "model": one.model,
                     "attempt": one.attempt, "depends_on": list(one.story.depends_on), "why_not": one.why_not}
                    for one in plan.stories],
        "waves": plan.waves, "jobs": w.config.lanes.jobs,
        "checks": [{"name": check.name, "run": check.run, "timeout_s": check.timeout_s} for check in w.checks],
        "expected": expects and {"stories": expects.stories, "landed": expects.known, "seconds": list(expects.seconds),
                                 "cost_usd": [round(one, 4) for one in expects.cost_usd]},
        "stops": [{"what": what, "setting": setting} for what, setting in stops(w.config)],
    }  # fmt: skip
