"""story and split: one agent run after the other until each story is completed; one that is too much is split."""

from __future__ import annotations

from ralphy.config.values import Config
from ralphy.errors import ExitCode
from ralphy.pipeline import decision as d
from ralphy.pipeline.chosen import chosen
from ralphy.pipeline.history import RESUME, StoryHistory
from ralphy.pipeline.model import Snapshot, Status, Story
from ralphy.pipeline.preconditions import baseline, too_many_deaths
from ralphy.pipeline.split import may_be_split, split
from ralphy.pipeline.steps import names
from ralphy.pipeline.steps.step import DRAFT, Briefing, DocumentFormat, Handed, Step, StepOutput, Wanted
from ralphy.pipeline.stories import asks_only, attempts_used, next_ready, over, startable, why_stuck
from ralphy.text.counted import counted
from ralphy.text.first_few import first_few
from ralphy.text.rehearsed import marked

# A draft that splits a story gets one more chance: after that a person is asked.
SPLIT_RUNS = 2

# So many runs that end at the size of their context say that the story is too large: the second had a smaller prompt.
MOST_TOO_LARGE = 2


class _Story(Step):
    """What it makes is code: it is judged and landed, not handed in."""

    def rule(self, s: Snapshot, config: Config) -> d.Decision | None:
        return _branch(s) or _answers(s) or _stories(s, config)

    def applies(self, s: Snapshot) -> bool:
        return not all(story.is_completed for story in s.prd.stories)

    def wants(self, _: Snapshot) -> tuple[Wanted, ...]:
        return ()


class _Split(Step):
    """It is the way out of a story that used its attempts, and has no turn of its own."""

    def applies(self, _: Snapshot) -> bool:
        return False

    def wants(self, _: Snapshot) -> tuple[Wanted, ...]:
        return (Wanted(DRAFT, DocumentFormat.STORIES),)

    def take(self, s: Snapshot, handed: Handed) -> StepOutput:
        """The pieces that are cut off a story; it comes again behind them."""
        prd = split(s.prd, s.prd.story(handed.story), handed.stories)
        new = ", ".join(piece.id for piece in prd.stories[len(s.prd.stories) :])
        return StepOutput({}, prd, f"{handed.story} is split: {new} first, then what is left of it")


STORY = _Story(
    names.STORY,
    phase="IMPLEMENTATION",
    timeout="implementation",
    models=lambda models: models.implementation,
    briefing=(Briefing.STORY,),
    former_template="dev_agent.md",
)
SPLIT = _Split(
    names.SPLIT,
    phase="IMPLEMENTATION",
    timeout="specification",
    models=lambda models: models.implementation[-1:],
    briefing=(Briefing.STORY, Briefing.STORIES),
)


def _branch(s: Snapshot) -> d.Decision | None:
    if s.tree.is_on_branch:
        return None
    # before the branch: what fixes red checks is committed where a person stands, and would not reach the branch
    return baseline(s) or d.OpenBranch(f"starting branch {s.tree.feature_branch}")


def _answers(s: Snapshot) -> d.Decision | None:
    asked = {story.id for story in s.prd.stories if story.status in (Status.BLOCKED, Status.FAILED)}
    for answer in s.answers:
        if answer.story in asked:
            return d.TakeAnswer(f"QUESTIONS.md has an answer for {answer.story}", answer.story)
    return None


def _stories(s: Snapshot, config: Config) -> d.Decision | None:
    if asks := _after_story(s):
        return asks
    if all(story.is_completed for story in s.prd.stories):
        return None
    if s.session.in_work:
        return _beside(s, config)
    if end := _chosen_end(s):
        return end
    story = next_ready(s.prd, s.session.only)
    if story is None:
        is_open = asks_only(s.prd)
        asked = "; an answer in QUESTIONS.md reopens what failed" if not is_open and s.digest("QUESTIONS.md") else ""
        return _stuck(f"{why_stuck(s.prd)}{asked}", is_open)
    return _for_story(s, config, story)


def _after_story(s: Snapshot) -> d.Wait | None:
    """With --interactive, the question after each story that is over."""
    if s.session.over is None or s.session.in_work:
        return None
    new = sorted(over(s.prd) - s.session.over)
    return d.Wait(f"{new[0][0]} is {new[0][1]}: go on, redo it or stop?", story=new[0][0]) if new else None


def _chosen_end(s: Snapshot) -> d.Rest | None:
    """The end of an invocation for some stories alone: they are completed, or none of them can begin."""
    if not s.session.only:
        return None
    wanted, unknown = chosen(s.prd, s.session.only)
    if unknown:
        return d.Halt(
            f"{s.feature} has no story {', '.join(unknown)}; see `ralphy story list {s.feature}`", ExitCode.NOT_FOUND
        )
    left = [story for story in s.prd.stories if story.id in wanted and not story.is_completed]
    if not left:
        return d.Done(f"completed: {first_few(sorted(wanted), 5)}")
    if next_ready(s.prd, s.session.only):
        return None
    completed = s.prd.completed_ids
    waits = [f"{story.id} waits for {', '.join(sorted(set(story.depends_on) - completed))}" for story in left
             if story.is_open]  # fmt: skip
    ended = [f"{story.id} is {story.status.value}" for story in left if not story.is_open]
    is_open = all(story.status is Status.BLOCKED for story in left)
    return _stuck(first_few([*ended, *waits], 5, "; "), is_open)


def _stuck(why: str, is_open: bool) -> d.Rest:
    """An answer may come, which is waited for; a failed story stays failed."""
    return d.Wait(why) if is_open else d.Halt(why, ExitCode.STORIES_OPEN)


def _beside(s: Snapshot, config: Config) -> d.Decision:
    """What can be done while agents work: a story that is ready and likely to touch other files than theirs."""
    if s.session.at_work < config.lanes.jobs:
        for story in startable(s.prd, s.session.stories_in_work, s.paths, s.session.only):
            choice = _for_story(s, config, story)
            if not (isinstance(choice, d.RunAgent) and choice.step == names.SPLIT):
                return choice  # a split changes the plan: it begins when nobody works
    return d.Await(f"worked on: {', '.join(work.story for work in s.session.in_work)}")


def _for_story(s: Snapshot, config: Config, story: Story) -> d.Decision:
    """A story's next run, or why there is none."""
    past = s.history.of(names.STORY, story.id)
    most = config.limits.max_cost_per_story_usd
    if most is not None and past.cost_usd >= most:
        return d.GiveUp(f"{story.id} has used its ${most} (${past.cost_usd:.2f})", story.id)
    if dead := too_many_deaths(past, story.id):
        return d.GiveUp(f"{dead}: it is set aside", story.id, dead)
    used = attempts_used(s.history, story)
    if used >= config.limits.max_attempts:
        return _escalated(s, config, story, f"{story.id} has used its {counted(used, 'attempt')}")
    if past.too_large >= MOST_TOO_LARGE:
        return _escalated(s, config, story, f"{story.id} is too large for one run, with a smaller prompt as well")
    return _next_attempt(story, past, config, used + 1)


def _next_attempt(story: Story, past: StoryHistory, config: Config, attempt: int) -> d.RunAgent:
    """A story's next run, one step up: its kept work healed or a fresh start, the next model, a smaller prompt."""
    mode = "fresh" if not past.tree else RESUME if past.cut_off else "heal" if past.heals else "fresh"
    model = STORY.model(config, attempt, str(story.raw.get("model") or ""))
    how = []
    if mode == RESUME:
        how.append("resuming the run that was cut off")
    elif attempt > 1:
        how.append("fixing the last attempt" if mode == "heal" else "starting over")
    if past.too_large:
        how.append("a smaller prompt")
    begins = "" if how else "starting "
    model_label = marked(model, config.agent.is_rehearsal)
    why = f"{story.id}: {begins}attempt {attempt} of {config.limits.max_attempts} with {model_label}"
    why += f": {', '.join(how)}" if how else ""
    return d.RunAgent(why, names.STORY, story.id, attempt, mode, model)


def _escalated(s: Snapshot, config: Config, story: Story, why: str) -> d.Decision:
    """A story that cannot be done as it is: it is split if it may be, else a person is asked."""
    past = s.history.of(names.SPLIT, story.id)
    if dead := too_many_deaths(past, f"the split of {story.id}"):
        return d.GiveUp(f"{why}; {dead}", story.id)
    runs = past.attempts
    if runs >= SPLIT_RUNS or not may_be_split(s.prd, story, config.limits.max_splits):
        return d.GiveUp(why, story.id)
    model = SPLIT.model(config, 1, str(story.raw.get("model") or ""))
    asks = f"{why}: splitting it into smaller stories"
    return d.RunAgent(asks, names.SPLIT, story.id, runs + 1, "fresh", model)
