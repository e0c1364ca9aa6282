"""The whole plan of a feature: every step and story that is left, in order, if each passes at its first attempt.

`decide` says what comes next; this says what comes after that. Nothing reads it but people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ralphy.config.values import Config
from ralphy.pipeline.acceptance import OFF
from ralphy.pipeline.chosen import chosen
from ralphy.pipeline.forecast import Expected, expected
from ralphy.pipeline.gates import verdict_on
from ralphy.pipeline.life import is_done
from ralphy.pipeline.model import Snapshot, Status, Story
from ralphy.pipeline.steps.acceptance import ACCEPTANCE
from ralphy.pipeline.steps.clarify import CLARIFY
from ralphy.pipeline.steps.spec import SPEC
from ralphy.pipeline.steps.step import Step
from ralphy.pipeline.steps.story import SPLIT, STORY
from ralphy.pipeline.steps.table import steps
from ralphy.pipeline.stories import attempts_used, likely_paths
from ralphy.text.counted import counted


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """`gate` is who approves its document (human, auto, or "" for nobody), `is_made` that the document stands."""

    name: str
    document: str
    models: Sequence[str]
    gate: str
    is_made: bool
    is_approved: bool


@dataclass(frozen=True, slots=True)
class PlannedStory:
    """`wave` counts from 1, 0 for a story that is not reached; `why_not` says why."""

    story: Story
    wave: int
    model: str
    attempt: int
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """`stories` are those that are not completed, in their order; `expected` is None at the end."""

    steps: Sequence[PlannedStep]
    stories: Sequence[PlannedStory]
    waves: int
    expected: Expected | None


def plan_of(s: Snapshot, config: Config) -> Plan:
    """What is still to be done, and what it takes if it goes as before in this repository."""
    waves = waves_of(s, config.lanes.jobs)
    in_order = [(story, number) for number, wave in enumerate(waves, 1) for story in wave]
    reached = {story.id for story, _ in in_order}
    left = [story for story in s.prd.stories if not story.is_completed and story.id not in reached]
    stories = [_planned(s, config, story, number) for story, number in in_order]
    stories += [_planned(s, config, story, 0) for story in left]
    takes = expected(s, len(in_order), len(waves)) if stories or not s.prd.stories else None
    return Plan([_step(s, config, step) for step in _steps(s, config)], stories, len(waves), takes)


def waves_of(s: Snapshot, jobs: int) -> list[list[Story]]:
    """The open stories in the order in which they are begun; those of a wave may be worked on side by side."""
    paths = {story.id: s.paths.get(story.id) or likely_paths(story, "") for story in s.prd.stories} if jobs > 1 else {}
    completed = set(s.prd.completed_ids)
    wanted = chosen(s.prd, s.session.only)[0]
    is_left = (story for story in s.prd.stories if story.is_open and story.id in wanted)
    left = sorted(is_left, key=lambda story: (story.priority, story.index))
    waves: list[list[Story]] = []
    while wave := _wave(left, completed, jobs, paths):
        waves.append(wave)
        completed |= {story.id for story in wave}
        left = [story for story in left if story.id not in completed]
    return waves


def _wave(left: Sequence[Story], completed: set[str], jobs: int, paths: Mapping[str, frozenset[str]]) -> list[Story]:
    """The next stories that are ready and share no file, as `startable` picks them."""
    wave: list[Story] = []
    taken: frozenset[str] = frozenset()
    for story in left:
        own = paths.get(story.id, frozenset())
        if len(wave) < jobs and completed.issuperset(story.depends_on) and taken.isdisjoint(own):
            wave.append(story)
            taken |= own
    return wave


def _planned(s: Snapshot, config: Config, story: Story, wave: int) -> PlannedStory:
    used = attempts_used(s.history, story)
    model = STORY.model(config, used + 1, str(story.raw.get("model") or ""))
    return PlannedStory(story, wave, model, used + 1, "" if wave else _why_not(s, story))


def _why_not(s: Snapshot, story: Story) -> str:
    if s.session.only and story.id not in chosen(s.prd, s.session.only)[0]:
        return "not selected"
    if story.status is Status.FAILED:
        return f"failed: ralphy reset {s.feature}"
    if story.status is Status.BLOCKED:
        return "waits for an answer in QUESTIONS.md"
    open_ = [name for name in story.depends_on if not s.prd.story(name).is_completed]
    return f"blocked by {', '.join(open_)}"


def _steps(s: Snapshot, config: Config) -> list[Step]:
    """The steps that this feature has."""
    has_spec = bool(s.digest("PRD.md") or s.digest("SPEC.md"))
    left_out = {SPLIT.name, *([] if has_spec else [SPEC.name])}
    left_out |= {ACCEPTANCE.name} if config.acceptance.tests == OFF else set()
    left_out |= set() if CLARIFY.applies(s) else {CLARIFY.name}
    return [step for step in steps() if step.name not in left_out]


def _step(s: Snapshot, config: Config, step: Step) -> PlannedStep:
    is_made = is_done(s.prd) if step is STORY else bool(s.digest(step.document))
    is_made = is_made and not (step.applies(s) and step.why(s))
    verdict = verdict_on(s, step) if step.gate and is_made else None
    gate = step.gate(config.gates) if step.gate else ""
    return PlannedStep(step.name, step.document, tuple(step.models(config.models)), gate, is_made,
                       verdict is not None and verdict.verdict == "approved")  # fmt: skip


def stops(config: Config) -> list[tuple[str, str]]:
    """What ends or pauses the work, each with the setting that says so."""
    limits = config.limits
    cost = "no cost limit" if limits.max_cost_usd is None else f"at ${limits.max_cost_usd:.2f}"
    rows = [
        (f"after {counted(limits.max_iterations, 'agent run')}", "limits.max_iterations"),
        (cost, "limits.max_cost_usd"),
        (f"at {limits.until}" if limits.until else "", "limits.until"),
        (f"a story: after {counted(limits.max_attempts, 'attempt')}", "limits.max_attempts"),
        (f"a story: at ${limits.max_cost_per_story_usd:.2f}" if limits.max_cost_per_story_usd else "",
         "limits.max_cost_per_story_usd"),
        (f"pauses after {counted(limits.calls_per_hour, 'agent run')} in an hour", "limits.calls_per_hour"),
    ]  # fmt: skip
    return [row for row in rows if row[0]]
