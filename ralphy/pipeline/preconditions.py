"""What must hold before an agent is paid: no merge in progress, green checks, and something left of the budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ralphy.agents.usage_windows import noted_windows
from ralphy.config.values import Config
from ralphy.errors import ExitCode
from ralphy.pipeline import decision as d
from ralphy.pipeline.breaker import BreakerState
from ralphy.pipeline.forecast import forecast, what_is_left
from ralphy.pipeline.history import MOST_DEATHS, MOST_IDLE_DEATHS, History, StoryHistory
from ralphy.pipeline.model import Session, Snapshot, Story
from ralphy.pipeline.steps import names
from ralphy.pipeline.stories import all_ready
from ralphy.text.counted import counted
from ralphy.text.durations import span
from ralphy.text.first_few import first_few

if TYPE_CHECKING:
    from ralphy.pipeline.steps.step import Step

_HOUR_S = 3600.0
_SOON_S = 6 * _HOUR_S
AFTER_RESET_S = 2.0  # a provider's clock and this one differ a little
_LOOK_S = 5.0
_CLEARLY_MORE = 1.25
_HOOK = "pre-commit"
_INSTALL = "In a new clone, install the dependencies first."
_LEAST_MB = 1.0  # what clearing up after a full disk takes
MOST_SHORT_S = 8 * _HOUR_S


def busy(s: Snapshot) -> d.Halt | None:
    """A merge or a rebase of the feature's branch, which nothing may move meanwhile; or no room for a new branch."""
    if s.tree.busy:
        return d.Halt(f"{s.tree.busy} is in progress: finish or abort it first", ExitCode.CONFLICT)
    if s.tree.obstacle:
        how = f"`git branch -m {s.tree.obstacle} NEW`, or set git.branch_prefix"
        return d.Halt(f"the branch {s.tree.obstacle} leaves no room for {s.tree.feature_branch}: {how}",
                      ExitCode.CONFLICT)  # fmt: skip
    return None


def baseline(s: Snapshot) -> d.Decision | None:
    """What the checks say about the code as it is."""
    if s.baseline is None:
        return d.TakeBaseline("the baseline checks run first")
    if not is_red(s):
        return None
    if s.baseline.unnamed:
        why = _why_not_known(s.baseline.unnamed)
        return d.Halt(f"the checks are red before any work: {red_tests(s)}. {why}", ExitCode.CONFLICT)
    if s.session.accepts_red and s.baseline.red:
        return d.AcceptRed(f"these failing tests are accepted as known: {red_tests(s)}")
    where = f" on {s.tree.branch}" if s.tree.branch else ""
    return d.Halt(f"the checks are red before any work: {red_tests(s)}. {_INSTALL} Else fix them{where}, or "
                  "--accept-red to go on with these failures known", ExitCode.CONFLICT)  # fmt: skip


def _why_not_known(unnamed: tuple[str, ...]) -> str:
    """Why --accept-red has no say about these checks, and what to do instead."""
    why = f"{', '.join(unnamed[:5])} failed without naming a test, so --accept-red has nothing to accept: fix it, or"
    if unnamed == (_HOOK,):
        return f"{why} turn the hook off with git.hooks: skip"
    hook = ", the hook out with git.hooks: skip," if _HOOK in unnamed else ""
    return f"{_INSTALL} {why} take it out of `checks`{hook} until it is green"


def is_red(s: Snapshot) -> bool:
    """Does more fail than is known, or something that has no name?"""
    if s.baseline is None or s.baseline.is_green:
        return False
    return not s.baseline.red or bool(s.baseline.unnamed) or not set(s.baseline.red) <= s.history.known_red


def red_tests(s: Snapshot) -> str:
    """The failing tests of the baseline, the first few by name."""
    red = s.baseline.red if s.baseline else ()
    if s.baseline and not red:
        return s.baseline.detail
    return first_few(red, 5)


def too_many_deaths(past: StoryHistory, of: str) -> str:
    """Why no further run is started that Ralphy may die in; "" if there is no reason.

    The total bounds a story whose agent ends Ralphy each time and touches a file before.
    """
    if past.idle_deaths >= MOST_IDLE_DEATHS:
        return f"Ralphy died {past.idle_deaths} times in a row in {of} without progress"
    return f"Ralphy died {past.deaths} times in {of}" if past.deaths >= MOST_DEATHS else ""


def circuit(s: Snapshot, story: Story | None = None) -> d.GiveUp | d.Halt | None:
    """The breaker, as long as the story (or step) of the last run is open: one that was given up has paid for its runs.

    While other stories are ready, one story alone cannot end the night: it is given up, and the next gets its chance.
    """
    breaker = s.history.breaker
    last = breaker.subjects[-1] if breaker.subjects else ""
    if breaker.state_at(s.now) is not BreakerState.OPEN or not _is_open(s, last):
        return None
    if story and len(breaker.subjects) == 1:
        if story.id != last:
            return None
        if any(other.id != last for other in all_ready(s.prd, s.session.only)):
            return d.GiveUp(f"{breaker.why} ({breaker.trigger}), all at {last}: others are ready", last)
    attempts = f"`ralphy attempts {s.feature}` and " if breaker.has_saved_work else ""
    hour, minute = divmod(int(breaker.opens_again_at) // 60 % 1440, 60)
    return d.Halt(
        f"the circuit breaker is open ({breaker.trigger}): {breaker.why}, the last at {last}: {breaker.last_error}. "
        f"See {attempts}`ralphy logs {s.feature}`; after fixing the cause, run `ralphy reset-circuit {s.feature}`. "
        f"One more run is allowed from {hour:02}:{minute:02} UTC on",
        ExitCode.BREAKER_OPEN, until=breaker.opens_again_at,
    )  # fmt: skip


def _is_open(s: Snapshot, subject: str) -> bool:
    matches = [story for story in s.prd.stories if story.id == subject]
    return matches[0].is_open if matches else subject in s.history.steps


def budget(s: Snapshot, config: Config, run: d.RunAgent, step: Step) -> d.Rest | None:
    """Runs, dollars and the clock bound an invocation; active time bounds a step."""
    return (_limit_reached(s, config) or _late(s, config, step) or _too_little(s, config, run) or disk_space(s, config)
            or _near_usage_limit(s, config) or _pace(s, config))  # fmt: skip


def disk_space(s: Snapshot, config: Config) -> d.Rest | None:
    """Wait, for some hours at most, until the disk has room for a run.

    After a shortage there must be clearly more room, or the next run would only be cut short again.
    """
    floor = config.limits.min_free_mb
    is_short, enough = bool(s.session.short_since), floor * _CLEARLY_MORE
    if s.free_mb >= (enough if is_short else floor):
        return None
    rule = f"limits.min_free_mb is {floor}, and a quarter more is waited for" if is_short else "limits.min_free_mb"
    least = enough if is_short and s.free_mb >= floor else floor
    return wait_for_disk_space(s.session, s.now, f"less than {least:.0f} MB are free on the disk ({rule})")


def full_disk(s: Snapshot) -> d.Rest | None:
    """As long as the disk that was full is full, nothing is tried again."""
    if not s.session.short_since or s.free_mb >= _LEAST_MB:
        return None
    return wait_for_disk_space(s.session, s.now, "the disk is full")


def wait_for_disk_space(session: Session, now: float, why: str) -> d.Rest:
    """A look at the disk every few seconds; after a night of it a person should know."""
    if session.short_since and now - session.short_since >= MOST_SHORT_S:
        return d.Halt(f"{why}, for hours: free some space, then run it again", ExitCode.ENVIRONMENT)
    return d.Wait(f"{why}: it resumes when space is available", ExitCode.ENVIRONMENT, until=now + _LOOK_S)


def pause(s: Snapshot, config: Config, why: str, until: float) -> d.Rest | None:
    """A wait for that moment, if it is still to come; the end of the loop if that is too far away, or after its end."""
    if s.session.has_waited(until, s.now):
        return None
    if s.session.until is not None and s.session.until <= until:
        return d.Halt(f"{why}; it resumes only after the end time ({config.limits.until or 'until'}): start again "
                      "then", ExitCode.BUDGET, until=until)  # fmt: skip
    left, most = until - s.now, config.limits.max_wait_s
    if left <= most:
        return d.Wait(why, ExitCode.LIMITED, until=until)
    return d.Halt(f"{why}; it resumes only in {span(left)}, and limits.max_wait_s is {span(most)}: run it again then",
                  ExitCode.LIMITED, until=until)  # fmt: skip


def _near_usage_limit(s: Snapshot, config: Config) -> d.Rest | None:
    """All but used up: what is left would not last for a run. A reset that is far away is not waited for."""
    full = [
        (window.resets_at, window)
        for window in noted_windows(s.history.limit, s.now)
        if (window.used or 0.0) >= config.limits.pause_at_utilization
        and window.resets_at is not None
        and window.resets_at <= s.now + _SOON_S
    ]
    if not full:
        return None
    resets_at, window = max(full, key=lambda pair: pair[0])
    why = f"{window.used:.0%} of the usage limit ({window.kind}) is used up; waiting for its reset"
    return pause(s, config, why, resets_at + AFTER_RESET_S)


def recent_calls(history: History, now: float) -> list[float]:
    """When agents were run within the last hour."""
    return [at for at in history.calls if now - _HOUR_S < at <= now]


def _pace(s: Snapshot, config: Config) -> d.Rest | None:
    """At most so many agent runs within any hour, whichever features and processes they are for."""
    most = config.limits.calls_per_hour
    recent = recent_calls(s.history, s.now)
    if len(recent) < most:
        return None
    return pause(s, config, f"calls_per_hour ({counted(most, 'agent run')}) is reached", recent[-most] + _HOUR_S)


def _too_little(s: Snapshot, config: Config, run: d.RunAgent) -> d.Halt | None:
    """Is there less left of the budget than what the story takes, if it goes as those before? Then it is not begun."""
    most, ahead = config.limits.max_cost_usd, forecast(s)
    if most is None or ahead is None or run.step != names.STORY:
        return None
    left = most - s.session.cost_usd - s.session.promised_usd
    takes = ahead.cost_of_one - s.history.of(run.step, run.story).cost_usd
    if left >= takes:
        return None
    return d.Halt(f"${left:.2f} of the budget of ${most} are left, and {run.story} will take about ${takes:.2f} if it "
                  f"goes on as before, so it is not begun: {what_is_left(s)}; run it again with a higher --max-cost "
                  "(limits.max_cost_usd)", ExitCode.BUDGET)  # fmt: skip


def share_of_budget(s: Snapshot, config: Config) -> float | None:
    """Dollars of the invocation's budget for one more run: of what is promised to nobody, an equal share for each run
    that can still begin beside it, or twice what a story takes, if that is more. None without a budget."""
    if config.limits.max_cost_usd is None:
        return None
    left = config.limits.max_cost_usd - s.session.cost_usd - s.session.promised_usd
    ready = sum(story.id not in s.session.stories_in_work for story in all_ready(s.prd, s.session.only))
    free = max(1, min(config.lanes.jobs - s.session.at_work, ready))
    ahead = forecast(s)
    return min(left, max(left / free, 2 * ahead.cost_of_one if ahead else 0.0))


def _late(s: Snapshot, config: Config, step: Step) -> d.Halt | None:
    """The step's active time in this invocation is used up: a failure, until it is run again."""
    limit_s = step.active_limit_s(config)
    if s.session.active_s.get(step.name, 0.0) < limit_s:
        return None
    left = what_is_left(s) if step.name == names.STORY else f"{step.document} is not finished"
    return d.Halt(f"the {step.name} step has used its {span(limit_s)}: {left}; run it again to go on with as much "
                  f"time, or raise timeouts.{step.timeout}", ExitCode.BUDGET, late=step.name)  # fmt: skip


def _limit_reached(s: Snapshot, config: Config) -> d.Halt | None:
    limits, session = config.limits, s.session
    reached = (
        (session.runs + len(session.in_work) >= limits.max_iterations,
         f"max_iterations ({counted(limits.max_iterations, 'agent run')}) is reached"),
        (limits.max_cost_usd is not None and session.cost_usd + session.promised_usd >= (limits.max_cost_usd or 0),
         f"the budget of ${limits.max_cost_usd} is used up (${session.cost_usd:.2f})"),
        (session.until is not None and s.now >= (session.until or 0),
         f"the end time ({limits.until or 'until'}) has passed"),
    )  # fmt: skip
    what = next((what for is_reached, what in reached if is_reached), "")
    return d.Halt(f"{what}: {what_is_left(s)}; run it again to resume", ExitCode.BUDGET) if what else None
