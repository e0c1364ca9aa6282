"""The pipeline as a table of objects."""

from __future__ import annotations

from dataclasses import fields

from ralphy.config.values import Config, Models, Timeouts
from ralphy.pipeline.steps.story import SPLIT
from ralphy.pipeline.steps.table import step_of, steps


def test_the_steps_stand_in_their_order_and_each_has_a_document_but_those_of_stories() -> None:
    assert [step.name for step in steps()] == ["clarify", "spec", "acceptance", "story", "split", "qa", "pr"]
    documents = ["CLARIFICATIONS.md", "SPEC.md", "ACCEPTANCE.md", "", "", "QA_REPORT.md", "PR.md"]
    assert [step.document for step in steps()] == documents
    assert all(step_of(step.name) is step for step in steps())


def test_a_story_is_split_by_the_best_model_of_its_ladder() -> None:
    config = Config(models=Models(implementation=("a", "b", "c")))
    assert SPLIT.model(config) == "c"


def test_every_step_has_a_model_and_a_time() -> None:
    config = Config()
    assert [step.model(config) for step in steps()] == ["sonnet"] * 6 + ["haiku"]
    assert [step.active_limit_s(config) for step in steps()] == [1800, 1800, 1800, 14400, 1800, 1800, 600]


def test_the_names_of_the_times_are_those_of_the_configuration() -> None:
    assert {step.timeout for step in steps()} <= {field.name for field in fields(Timeouts)}
