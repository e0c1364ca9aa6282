"""The pipeline as a table."""

from __future__ import annotations

from dataclasses import fields

import pytest

from ralphy.config.values import Config, Models, Timeouts
from ralphy.pipeline.steps import BY_NAME, STEPS, TIMEOUT_OF, active_limit_s, model_for


def test_the_steps_stand_in_their_order_and_each_has_a_document_but_the_stories() -> None:
    assert [step.name for step in STEPS] == ["spec", "story", "split", "qa", "pr"]
    assert [step.output for step in STEPS] == ["SPEC.md", "", "stories.json", "QA_REPORT.md", "PR.md"]
    assert all(BY_NAME[step.name] is step for step in STEPS)


def test_two_steps_have_gates() -> None:
    assert [step.gate for step in STEPS if step.gate] == ["spec", "qa"]


@pytest.mark.parametrize("attempt, model", [(1, "a"), (2, "b"), (3, "c"), (4, "c"), (99, "c")])
def test_the_ladder_ends_at_its_last_model(attempt: int, model: str) -> None:
    config = Config(models=Models(implementation=("a", "b", "c")))
    assert model_for(config, "story", attempt) == model
    assert model_for(config, "story", attempt, "opus") == "opus"


def test_a_story_is_split_by_the_best_model_of_its_ladder() -> None:
    config = Config(models=Models(implementation=("a", "b", "c")))
    assert model_for(config, "split") == "c"


def test_every_step_has_a_model_and_a_time() -> None:
    config = Config()
    assert [model_for(config, step.name) for step in STEPS] == ["sonnet", "sonnet", "sonnet", "sonnet", "haiku"]
    assert [active_limit_s(config, step.name) for step in STEPS] == [1800, 14400, 1800, 1800, 600]


def test_the_names_of_the_times_are_those_of_the_configuration() -> None:
    assert set(TIMEOUT_OF) == set(BY_NAME)
    assert set(TIMEOUT_OF.values()) <= {field.name for field in fields(Timeouts)}
