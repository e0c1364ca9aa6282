"""prompt show: the prompt that the agent of a step would get now."""

from __future__ import annotations

import click

from ralphy.cli.group import Group
from ralphy.cli.options import Invocation, feature_argument, with_options
from ralphy.engine.runs.prompt import prompt_for
from ralphy.errors import NotFound
from ralphy.pipeline.decision import RunAgent
from ralphy.pipeline.steps.step import Briefing
from ralphy.pipeline.steps.table import step_of, steps
from ralphy.pipeline.stories import next_ready
from ralphy.pipeline.story_changes import find_story

_STEPS = click.Choice([step.name for step in steps()])


@click.group("prompt", cls=Group, otherwise="show", takes_words=True)
def prompt() -> None:
    """STEP is clarify, spec, acceptance, story, split, qa or pr."""


@prompt.command("show")
@click.argument("step", type=_STEPS, metavar="STEP")
@feature_argument
@click.option("--story", "story_id", metavar="ID", help="The story, for the steps story and split; default: the next.")
@with_options
def show(call: Invocation, step: str, feature: str | None, story_id: str | None) -> int:
    """Show the prompt of STEP as its agent would get it now; start none."""
    with call.seen(feature) as (w, s):
        if Briefing.STORY in step_of(step).briefing:
            story = find_story(s.prd, story_id, s.feature) if story_id else next_ready(s.prd)
            if story is None:
                raise NotFound(f"no story of {s.feature} is ready", hint="name one: --story ID")
            story_id = story.id
        run = RunAgent("", step, story_id, 1, "fresh", "")
        text = prompt_for(w, run, s, w.feature.private / "outbox", "")
    return call.output.exact_answer("prompt", text, feature=s.feature, step=step, story=story_id, prompt=text)
