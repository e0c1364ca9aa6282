"""The pipeline: its steps, in their order."""

from __future__ import annotations

from ralphy.pipeline.steps.acceptance import ACCEPTANCE
from ralphy.pipeline.steps.clarify import CLARIFY
from ralphy.pipeline.steps.pr import PR
from ralphy.pipeline.steps.qa import QA
from ralphy.pipeline.steps.spec import SPEC
from ralphy.pipeline.steps.step import Step
from ralphy.pipeline.steps.story import SPLIT, STORY

STEPS: tuple[Step, ...] = (CLARIFY, SPEC, ACCEPTANCE, STORY, SPLIT, QA, PR)


def steps() -> tuple[Step, ...]:
    """All steps, asked in this order; looked up at each call."""
    return STEPS


def step_of(name: str) -> Step:
    """The step of that name; KeyError if there is none."""
    for step in steps():
        if step.name == name:
            return step
    raise KeyError(name)


def makers() -> tuple[Step, ...]:
    """The steps that make a document in the feature folder."""
    return tuple(step for step in steps() if step.document)


def documents() -> tuple[str, ...]:
    """What the steps make in the feature folder."""
    return tuple(step.document for step in makers())


def document_before(step: Step) -> str:
    """The document that was made last before it is the step's turn; "" for the first."""
    earlier = steps()[: steps().index(step)]
    return next((other.document for other in reversed(earlier) if other.document), "")


def document_at(gate: str) -> str:
    """The document that a gate is about; "" if there is no such gate."""
    return next((step.document for step in steps() if step.gate and step.name == gate), "")


def phase_after(step: Step) -> str:
    """The word for where a feature stands when the step's gate is open."""
    return next(other.phase for other in steps()[steps().index(step) :] if other.phase != step.phase)


def former_templates(name: str) -> tuple[str, ...]:
    """What a project's own template of a step was called when there was an agent per phase."""
    return tuple(step.former_template for step in steps() if step.name == name and step.former_template)


def gates() -> tuple[str, ...]:
    """The steps behind whose document a person may be waited for."""
    return tuple(step.name for step in steps() if step.gate)
