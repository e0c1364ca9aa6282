"""decide(snapshot, config): the next step of a feature as a function of its folder.

The rules stand in the order in which they are asked; the first that has something to say decides.
None of them touches anything, so `ralphy why` and a dry run tell the whole truth.
"""

from __future__ import annotations

from collections.abc import Callable

from ralphy.config.values import Config
from ralphy.errors import ExitCode
from ralphy.pipeline import decision as d
from ralphy.pipeline.gates import gate_decision, is_prd_newer, word_on
from ralphy.pipeline.history import MOST_DEATHS, MOST_IDLE_DEATHS, RESUME, StoryHistory
from ralphy.pipeline.life import Life
from ralphy.pipeline.model import Approval, Snapshot, Status, Story
from ralphy.pipeline.preconditions import baseline, budget, busy, circuit, no_room, pause
from ralphy.pipeline.split import may_be_split
from ralphy.pipeline.steps import MENDS, MOST_TOO_LARGE, SPLIT_RUNS, model_for
from ralphy.pipeline.stories import flagged, next_ready, why_lost, why_stuck
from ralphy.pipeline.verification import unverified

# About twelve hours of back-off: longer than a night, then a person should know.
_MOST_TROUBLES = 80

# What becomes a commit on the feature's branch.
_COMMITS = (d.Adopt, d.Approve, d.Reject, d.TakeAnswer, d.TakeRequest, d.AddFixes, d.GiveUp)

Rule = Callable[[Snapshot, Config], d.Decision | None]


def decide(snapshot: Snapshot, config: Config) -> d.Decision:
    """What comes next, and why."""
    for rule in _RULES:
        decision = rule(snapshot, config)
        if decision is not None:
            return _never_in_a_merge(snapshot, decision)
    return d.Done(_end_reason(snapshot))


def _never_in_a_merge(s: Snapshot, decision: d.Decision) -> d.Decision:
    """Nothing moves the branch that a person is merging or rebasing."""
    return (isinstance(decision, _COMMITS) and busy(s)) or decision


def _recovery(s: Snapshot, _: Config) -> d.Decision | None:
    return (no_room(s) or d.Recover(s.unfinished)) if s.unfinished else None


def _stop(s: Snapshot, _: Config) -> d.Decision | None:
    if s.session.stop_asked:
        return d.Halt("stopped: a STOP file was found", ExitCode.INTERRUPTED)
    marker = s.markers.get("STOP")
    if marker is None:
        return None
    if marker.invalid:
        return d.SetAside(f"STOP {marker.invalid}", "STOP")
    return d.Stop("a STOP file asks to end here")


def _closed(s: Snapshot, _: Config) -> d.Decision | None:
    """A merged feature is finished, whether its branch was kept or deleted."""
    if s.life is not Life.MERGED or (s.tree.is_on_branch and s.tree.edited):
        return None
    return d.Done(f"{s.feature} is merged into {s.tree.base} and closed")


def _places(s: Snapshot, _: Config) -> d.Decision | None:
    """Before anything is paid, each document that will be read or written must have a place."""
    if not s.obstructions:
        return None
    more = f" and {len(s.obstructions) - 5} more" if len(s.obstructions) > 5 else ""
    return d.Halt(f"{'; '.join(s.obstructions[:5])}{more}. Move it away first", ExitCode.INVALID)


def _lost(s: Snapshot, _: Config) -> d.Decision | None:
    return d.Wait(why_lost(s.lost, s.feature, is_missing=not s.has_prd_file)) if s.lost else None


def _inputs(s: Snapshot, _: Config) -> d.Decision | None:
    if s.digest("PRD.md") or s.digest("SPEC.md") or s.prd.stories:
        return None
    return d.Halt("there is no PRD.md and no prd.json with stories: write PRD.md first", ExitCode.NOT_FOUND)


def _adoption(s: Snapshot, _: Config) -> d.Decision | None:
    if not (s.tree.is_on_branch and s.tree.edited):
        return None
    return d.Adopt(f"changed by hand since the last commit: {', '.join(s.tree.edited[:5])}")


def _request(s: Snapshot, _: Config) -> d.Decision | None:
    """Where the command itself would not change prd.json, the request waits."""
    if s.request is None or s.tree.busy:
        return None
    change = s.request.change
    what = " ".join(part for part in (change.verb.value, change.story) if part) if change else s.request.invalid
    return d.TakeRequest(f"a change of the stories is queued: {what}")


def _pause(s: Snapshot, config: Config) -> d.Decision | None:
    if s.session.fatal:
        return d.Halt(s.session.fatal, ExitCode.ENVIRONMENT)
    if s.session.troubles >= _MOST_TROUBLES:
        return d.Halt(f"the provider gave trouble {s.session.troubles} times in a row: {s.history.retry_reason}; "
                      "start again to go on", ExitCode.ENVIRONMENT)  # fmt: skip
    return pause(s, config, s.history.retry_reason, s.history.retry_at)


def _spec(s: Snapshot, config: Config) -> d.Decision | None:
    if not (s.digest("PRD.md") or s.digest("SPEC.md")):
        return None
    why = _why_spec(s)
    if why:
        return _agent(s, config, d.RunAgent(why, "spec"))
    if is_prd_newer(s) and not s.markers.keys() & {"APPROVED", "REJECTED"}:
        return d.Wait("PRD.md was edited after SPEC.md was made: `ralphy redo spec` makes it anew, "
                      "`ralphy approve` keeps it", gate="spec")  # fmt: skip
    return None


def _why_spec(s: Snapshot) -> str:
    if revision(s, "spec"):
        return "SPEC.md was sent back with remarks"
    if not s.digest("SPEC.md"):
        return "PRD.md is there and SPEC.md is missing"
    if not s.prd.stories:
        return "SPEC.md is there and prd.json has no stories yet"
    made = s.prd.step("spec").get("outputs") or {}
    untouched = made.get("SPEC.md") == s.digest("SPEC.md")
    if is_prd_newer(s) and untouched and not word_on(s, "spec", s.digest("SPEC.md")):
        return "PRD.md changed before SPEC.md was approved"
    return ""


def _spec_end(s: Snapshot, _: Config) -> d.Decision | None:
    return d.Done("SPEC.md is there and fresh") if s.session.last_step == "spec" else None


def _spec_gate(s: Snapshot, config: Config) -> d.Decision | None:
    if not (s.digest("PRD.md") or s.digest("SPEC.md")):
        return None
    return gate_decision(s, "spec", "SPEC.md", config.gates.spec)


def revision(s: Snapshot, gate: str) -> Approval | None:
    """Remarks of a person that the step's agent has not answered yet."""
    said = [a for a in s.prd.approvals if a.gate == gate]
    return said[-1] if said and said[-1].verdict == "revise" and not said[-1].answered else None


def _branch(s: Snapshot, _: Config) -> d.Decision | None:
    if s.tree.is_on_branch:
        return None
    # before the branch: what fixes red checks is committed where a person stands, and would not reach the branch
    return baseline(s) or d.OpenBranch(f"the work on {s.feature} gets its branch {s.tree.feature_branch}")


def _answers(s: Snapshot, _: Config) -> d.Decision | None:
    asked = {story.id for story in s.prd.stories if story.status in (Status.BLOCKED, Status.FAILED)}
    for answer in s.answers:
        if answer.story in asked:
            return d.TakeAnswer(f"QUESTIONS.md has an answer for {answer.story}", answer.story)
    return None


def _stories(s: Snapshot, config: Config) -> d.Decision | None:
    if all(story.is_completed for story in s.prd.stories):
        return None
    story = next_ready(s.prd)
    if story is None:
        asks_only = not any(story.status is Status.FAILED for story in s.prd.stories)
        rest = d.Wait if asks_only else d.Halt  # an answer may come; a failed story stays failed
        asked = "; an answer in QUESTIONS.md reopens what failed" if not asks_only and s.digest("QUESTIONS.md") else ""
        return rest(f"{why_stuck(s.prd)}{asked}", ExitCode.STORIES_OPEN)
    past = s.history.of("story", story.id)
    most = config.limits.max_cost_per_story_usd
    if most is not None and past.cost_usd >= most:
        return d.GiveUp(f"{story.id} has used its ${most} (${past.cost_usd:.2f})", story.id)
    if dead := _too_many_deaths(past, story.id):
        return d.GiveUp(f"{dead}: it is set aside", story.id, dead)
    used = s.history.attempts_of(story.id, int(story.execution.get("attempts") or 0))
    if used >= config.limits.max_attempts:
        return _escalated(s, config, story, f"{story.id} has used its {used} attempts")
    if past.too_large >= MOST_TOO_LARGE:
        return _escalated(s, config, story, f"{story.id} is too large for one run, with a smaller prompt as well")
    run = _next_attempt(story, past, config, used + 1)
    return _agent(s, config, run)


def _next_attempt(story: Story, past: StoryHistory, config: Config, attempt: int) -> d.RunAgent:
    """A story's next run, one step up: its kept work healed or a fresh start, the next model, a smaller prompt."""
    mode = "fresh" if not past.tree else RESUME if past.cut_off else "heal" if past.heals else "fresh"
    model = model_for(config, "story", attempt, str(story.raw.get("model") or ""))
    after = f", after {', '.join(story.depends_on)} (completed)" if story.depends_on else ""
    how = [f"attempt {attempt}/{config.limits.max_attempts}"]
    if mode == RESUME:
        how.append("resuming the run that was cut off")
    elif attempt > 1:
        how.append("fixing previous work" if mode == "heal" else "a fresh start")
    if attempt > 1:
        how.append(f"model {model}")
    if past.too_large:
        how.append("a smaller prompt")
    why = f"{story.id} is next: priority {story.priority}{after}; {', '.join(how)}"
    return d.RunAgent(why, "story", story.id, attempt, mode, model)


def _too_many_deaths(past: StoryHistory, of: str) -> str:
    """Why no further run is started that Ralphy may die in; "" if there is no reason.

    The total bounds a story whose agent ends Ralphy each time and touches a file before.
    """
    if past.idle_deaths >= MOST_IDLE_DEATHS:
        return f"Ralphy died {past.idle_deaths} times in a row in {of} without any progress"
    return f"Ralphy died {past.deaths} times in {of}" if past.deaths >= MOST_DEATHS else ""


def _escalated(s: Snapshot, config: Config, story: Story, why: str) -> d.Decision:
    """A story that cannot be done as it is: it is split if it may be, else a person is asked."""
    past = s.history.of("split", story.id)
    if dead := _too_many_deaths(past, f"the split of {story.id}"):
        return d.GiveUp(f"{why}; {dead}", story.id)
    runs = past.attempts
    if runs >= SPLIT_RUNS or not may_be_split(s.prd, story, config.limits.max_splits):
        return d.GiveUp(why, story.id)
    model = model_for(config, "split", 1, str(story.raw.get("model") or ""))
    asks = f"{why}: it is to be split into smaller stories"
    return _agent(s, config, d.RunAgent(asks, "split", story.id, runs + 1, "fresh", model))


def _agent(s: Snapshot, config: Config, run: d.RunAgent) -> d.Decision:
    """The run, unless a merge, the baseline or a budget stands against it."""
    if run.story is None:
        if asked := _question(s, run.step):
            return asked
        past = s.history.of(run.step, None)
        attempts = past.attempts
        if attempts > MENDS:
            return d.Halt(f"the {run.step} agent failed {attempts} times, last: {past.last_failure}; "
                          f"`ralphy redo {run.step}`", ExitCode.STORIES_OPEN)  # fmt: skip
        if dead := _too_many_deaths(past, f"the {run.step} step"):
            return d.Halt(f"{dead}; to try it again: `ralphy redo {run.step}`", ExitCode.STORIES_OPEN)
        run = d.RunAgent(run.reason, run.step, None, attempts + 1, "fresh", model_for(config, run.step))
    story = s.prd.story(run.story) if run.story else None
    is_way_out = run.step == "split" and s.history.breaker.subjects == (run.story,)
    stuck = None if is_way_out else circuit(s, story)
    return busy(s) or stuck or baseline(s) or budget(s, config, run) or run


def _question(s: Snapshot, step: str) -> d.Decision | None:
    """The step's agent asked something: an answer is taken to its next run, and without one nothing is paid."""
    if any(answer.step == step for answer in s.answers):
        return d.TakeAnswer(f"QUESTIONS.md has an answer for the {step} step", step=step)
    if step not in s.unanswered_steps:
        return None
    return d.Wait(f"the {step} agent asks a question: answer it in QUESTIONS.md, or `ralphy redo {step}` runs it again "
                  "without an answer")  # fmt: skip


def _qa(s: Snapshot, config: Config) -> d.Decision | None:
    record = s.prd.step("qa")
    read = record.get("inputs") or {}
    is_fresh = not read or (read.get("code") == s.tree.code and read.get("SPEC.md", "") == s.digest("SPEC.md"))
    remarks = revision(s, "qa")
    if not s.digest("QA_REPORT.md") or not is_fresh or remarks:
        why = ("QA_REPORT.md was sent back with remarks" if remarks else
               "all stories are completed; the code is reviewed next" if not s.digest("QA_REPORT.md") else
               "the code or SPEC.md changed since the last review")  # fmt: skip
        return _agent(s, config, d.RunAgent(why, "qa"))
    if s.qa and s.qa.blocking and record.get("fixed") != s.digest("QA_REPORT.md"):
        if s.history.qa_rounds >= config.limits.max_qa_rounds:
            return d.Halt(f"the review still finds {len(s.qa.blocking)} blocking things after "
                          f"{s.history.qa_rounds} rounds: see QA_REPORT.md, `ralphy redo qa`")  # fmt: skip
        return d.AddFixes(f"{len(s.qa.blocking)} blocking findings of the review become stories")
    return None


def _qa_end(s: Snapshot, _: Config) -> d.Decision | None:
    return d.Done("QA_REPORT.md is there and fresh") if s.session.last_step == "qa" else None


def _qa_gate(s: Snapshot, config: Config) -> d.Decision | None:
    return gate_decision(s, "qa", "QA_REPORT.md", config.gates.qa)


def waiting_gate(s: Snapshot, config: Config) -> str:
    """The gate that asks a person about what is there now, whatever comes before it at the next look; else ""."""
    is_read = bool(s.prd.stories and s.digest("SPEC.md")) and not _why_spec(s)
    if is_read and _asks(gate_decision(s, "spec", "SPEC.md", "human")):
        return "spec"
    is_built = bool(s.prd.stories) and all(story.is_completed for story in s.prd.stories)
    is_reviewed = is_built and _qa(s, config) is None
    return "qa" if is_reviewed and _asks(gate_decision(s, "qa", "QA_REPORT.md", "human")) else ""


def _asks(decision: d.Decision | None) -> bool:
    return decision is not None and not isinstance(decision, d.Halt)


def _pr(s: Snapshot, config: Config) -> d.Decision | None:
    pr = s.prd.workflow.get("pr") or {}
    if pr.get("code") == s.tree.code:
        is_there = not pr.get("remote") or s.tree.head in (s.tree.pushed, s.session.published)
        return None if is_there else d.Publish("the record of the publishing is not pushed yet")
    read = s.prd.step("pr").get("inputs") or {}
    if not s.digest("PR.md") or (read and read.get("QA_REPORT.md") != s.digest("QA_REPORT.md")):
        return _agent(s, config, d.RunAgent("the review is approved; the pull request's text is written", "pr"))
    return busy(s) or d.Publish("PR.md is ready: push the branch and open the pull request")


def _end_reason(s: Snapshot) -> str:
    pr = s.prd.workflow.get("pr") or {}
    doubts = unverified(s.prd)
    if pr.get("url"):
        return "; ".join(text for text in (f"the pull request is open: {pr['url']}", doubts) if text)
    where = "is pushed" if pr.get("pushed") else "is ready (there is no remote)"
    stories = f"all stories are {'completed' if doubts else 'verified'}"
    said = [stories, doubts, f"{s.tree.feature_branch} {where} and PR.md holds the text", flagged(s.prd)]
    return "; ".join(text for text in said if text)


_RULES: tuple[Rule, ...] = (
    _recovery,
    _stop,
    _closed,
    _places,
    _lost,
    _inputs,
    _adoption,
    _request,
    _pause,
    _spec,
    _spec_end,
    _spec_gate,
    _branch,
    _answers,
    _stories,
    _qa,
    _qa_end,
    _qa_gate,
    _pr,
)
