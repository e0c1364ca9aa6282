"""decide(snapshot, config): the next step of a feature as a function of its folder.

The rules stand in the order in which they are asked; the first that has something to say decides.
None of them touches anything, so `ralphy why` and a dry run tell the whole truth.
"""

from __future__ import annotations

from collections.abc import Callable

from ralphy.config.values import Config
from ralphy.errors import ExitCode
from ralphy.pipeline import decision as d
from ralphy.pipeline.gates import gate_decision
from ralphy.pipeline.history import StoryHistory
from ralphy.pipeline.life import Life
from ralphy.pipeline.model import Snapshot
from ralphy.pipeline.preconditions import baseline, budget, busy, circuit, full_disk, pause, too_many_deaths
from ralphy.pipeline.steps.story import SPLIT, STORY
from ralphy.pipeline.steps.table import step_of, steps
from ralphy.pipeline.stories import flagged, why_lost
from ralphy.pipeline.verification import unverified
from ralphy.text.first_few import first_few

# A draft that does not validate goes back to the step's agent this often.
_MOST_CORRECTIONS = 3

# About twelve hours of back-off: longer than a night, then a person should know.
_MOST_TROUBLES = 80

# What becomes a commit on the feature's branch, or, before there is one, a file in the checkout.
_COMMITS = (
    d.OpenBranch,
    d.OpenGate,
    d.Adopt,
    d.Approve,
    d.Reject,
    d.TakeAnswer,
    d.AddFixes,
    d.GiveUp,
)

Rule = Callable[[Snapshot, Config], d.Decision | None]


def decide(snapshot: Snapshot, config: Config) -> d.Decision:
    """What comes next, and why."""
    for rule in (*_RULES, *(step.rule for step in steps())):
        decision = rule(snapshot, config)
        if isinstance(decision, d.RunAgent):
            decision = _paid(snapshot, config, decision)
        if decision is not None:
            return _never_in_a_merge(snapshot, _branch_first(snapshot, decision))
    return d.Done(_end_reason(snapshot))


def _branch_first(s: Snapshot, decision: d.Decision) -> d.Decision:
    """Open the branch first where a person has committed documents that the decision would write."""
    if s.tree.is_on_branch or not s.tree.tracked or not isinstance(decision, (*_COMMITS, d.RunAgent)):
        return decision
    return busy(s) or baseline(s) or d.OpenBranch(f"starting branch {s.tree.feature_branch}: {s.tree.tracked} is "
                                                  f"tracked on {s.tree.branch}")  # fmt: skip


def _never_in_a_merge(s: Snapshot, decision: d.Decision) -> d.Decision:
    """Halt in place of a commit while a person merges or rebases the branch."""
    return (isinstance(decision, _COMMITS) and busy(s)) or decision


def _recovery(s: Snapshot, _: Config) -> d.Decision | None:
    return (full_disk(s) or d.Recover(s.unfinished)) if s.unfinished else None


def _stop(s: Snapshot, _: Config) -> d.Decision | None:
    if s.session.stop_asked:
        return d.Halt("stopped: a STOP file was found", ExitCode.INTERRUPTED)
    marker = s.markers.get("STOP")
    if marker is None:
        return None
    if marker.invalid:
        return d.SetAside(f"STOP {marker.invalid}", "STOP")
    return d.Stop("found a STOP file")


def _misspelt(s: Snapshot, _: Config) -> d.Decision | None:
    name, meant = next(((name, marker.meant) for name, marker in s.markers.items() if marker.meant), ("", ""))
    if not name:
        return None
    return d.SetAside(f"{name} looks like a misspelt {meant} (`touch {s.typed_folder}/{meant}`)", name)


def _merged(s: Snapshot, _: Config) -> d.Decision | None:
    """A merged feature is finished, whether its branch was kept or deleted."""
    if s.life is not Life.MERGED or (s.tree.is_on_branch and s.tree.edited):
        return None
    return d.Done(f"{s.feature} is merged into {s.tree.base} and closed")


def _places(s: Snapshot, _: Config) -> d.Decision | None:
    """Before anything is paid, each document that will be read or written must have a place."""
    if not s.obstructions:
        return None
    return d.Halt(f"{first_few(s.obstructions, 5, '; ')}. Move it away first", ExitCode.INVALID)


def _lost(s: Snapshot, _: Config) -> d.Decision | None:
    return d.Wait(why_lost(s.lost, s.feature, is_missing=not s.has_prd_file)) if s.lost else None


def _inputs(s: Snapshot, _: Config) -> d.Decision | None:
    if s.digest("PRD.md") or s.digest("SPEC.md") or s.prd.stories:
        return None
    if s.prd_faults:
        return d.Halt("; ".join(s.prd_faults), ExitCode.INVALID)
    return d.Halt("there is no PRD.md and no prd.json with stories: write PRD.md first", ExitCode.NOT_FOUND)


def _adoption(s: Snapshot, _: Config) -> d.Decision | None:
    if not (s.tree.is_on_branch and s.tree.edited):
        return None
    return d.Adopt(f"changed by hand since the last commit: {first_few(s.tree.edited, 5)}")


def _pause(s: Snapshot, config: Config) -> d.Decision | None:
    if s.session.fatal:
        return d.Halt(s.session.fatal, ExitCode.ENVIRONMENT)
    if s.session.troubles >= _MOST_TROUBLES:
        return d.Halt(f"the provider failed {s.session.troubles} times in a row: {s.history.retry_reason}; "
                      "run it again to resume", ExitCode.ENVIRONMENT)  # fmt: skip
    return pause(s, config, s.history.retry_reason, s.history.retry_at)


def _paid(s: Snapshot, config: Config, run: d.RunAgent) -> d.Decision:
    """The run, or what must happen first: an answer, the end of a merge, a green baseline, money."""
    step = step_of(run.step)
    if s.session.in_work and step is not STORY:
        return d.Await(f"the {run.step} step begins when no agent works on a story")
    if run.story is None:
        past = s.history.of(run.step, None)
        if rest := _question(s, run.step) or _worn_out(s, past, run.step):
            return rest
        run = d.RunAgent(run.reason, run.step, None, past.attempts + 1, "fresh", step.model(config, wanted=run.model))
    story = s.prd.story(run.story) if run.story else None
    is_way_out = step is SPLIT and s.history.breaker.subjects == (run.story,)
    stuck = None if is_way_out else circuit(s, story)
    return busy(s) or stuck or baseline(s) or budget(s, config, run, step) or run


def _question(s: Snapshot, step: str) -> d.Decision | None:
    """The step's agent asked something: an answer is taken to its next run, and without one nothing is paid."""
    if any(answer.step == step for answer in s.answers):
        return d.TakeAnswer(f"QUESTIONS.md has an answer for the {step} step", step=step)
    if step not in s.unanswered_steps:
        return None
    return d.Wait(f"the {step} agent asks a question: answer it in QUESTIONS.md, or `ralphy redo {step} {s.feature}` "
                  "runs it again without an answer")  # fmt: skip


def _worn_out(s: Snapshot, past: StoryHistory, step: str) -> d.Halt | None:
    """A document's step that failed too often; one whose answer was asked for comes first."""
    again = f"To try again, run `ralphy redo {step} {s.feature}`"
    if past.attempts > _MOST_CORRECTIONS:
        return d.Halt(f"the {step} agent failed {past.attempts} times, last: {past.last_failure}. {again}",
                      ExitCode.STORIES_OPEN)  # fmt: skip
    dead = too_many_deaths(past, f"the {step} step")
    return d.Halt(f"{dead}. {again}", ExitCode.STORIES_OPEN) if dead else None


def waiting_gate(s: Snapshot, config: Config) -> str:
    """The gate at which a person can answer now, even if the next decision is about something else; else ""."""
    for step in steps():
        if step.gate and step.applies(s) and not step.why(s) and isinstance(step.then(s, config), d.Wait | None):
            asks = gate_decision(s, step, "human")
            if asks is not None and not isinstance(asks, d.Halt):
                return step.name
    return ""


def _end_reason(s: Snapshot) -> str:
    pr = s.prd.pr
    doubts = unverified(s.prd)
    if pr.get("url"):
        return "; ".join(text for text in (f"the pull request is open: {pr['url']}", doubts) if text)
    where = "is pushed" if pr.get("pushed") else "is ready (there is no remote)"
    stories = f"all stories are {'completed' if doubts else 'verified'}"
    parts = [stories, doubts, f"{s.tree.feature_branch} {where}; the pull request text is in PR.md", flagged(s.prd)]
    return "; ".join(text for text in parts if text)


# Behind them, the steps ask in their order.
_RULES: tuple[Rule, ...] = (
    _recovery,
    _stop,
    _misspelt,
    _merged,
    _places,
    _lost,
    _inputs,
    _adoption,
    _pause,
)
