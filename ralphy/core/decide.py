"""decide(snapshot, config): the next step of a feature as a function of its folder.

The rules stand in the order in which they are asked; the first that has something to say decides.
None of them touches anything, so `ralphy why` and a dry run tell the whole truth.
"""

from __future__ import annotations

from collections.abc import Callable

from ralphy.core import decision as d
from ralphy.core.config import Config
from ralphy.core.errors import ExitCode
from ralphy.core.model import Approval, Marker, Snapshot
from ralphy.core.steps import MENDS, active_limit_s, model_for
from ralphy.core.stories import next_ready, why_stuck

Rule = Callable[[Snapshot, Config], d.Decision | None]


def decide(snapshot: Snapshot, config: Config) -> d.Decision:
    """What comes next, and why."""
    for rule in _RULES:
        decision = rule(snapshot, config)
        if decision is not None:
            return decision
    return d.Done(_end_reason(snapshot))


def _recovery(s: Snapshot, _: Config) -> d.Decision | None:
    return d.Recover(s.unfinished) if s.unfinished else None


def _stop(s: Snapshot, _: Config) -> d.Decision | None:
    if s.session.stop_asked:
        return d.Halt("stopped: a STOP file was found", ExitCode.INTERRUPTED)
    marker = s.markers.get("STOP")
    if marker is None:
        return None
    if marker.invalid:
        return d.SetAside(f"STOP {marker.invalid}", "STOP")
    return d.Stop("a STOP file asks to end here")


def _inputs(s: Snapshot, _: Config) -> d.Decision | None:
    if s.digest("PRD.md") or s.digest("SPEC.md") or s.prd.stories:
        return None
    return d.Halt("there is no PRD.md and no prd.json with stories: write PRD.md first", ExitCode.NOT_FOUND)


def _adoption(s: Snapshot, _: Config) -> d.Decision | None:
    if not (s.tree.is_on_branch and s.tree.edited) or s.tree.busy:
        return None
    return d.Adopt(f"changed by hand since the last commit: {', '.join(s.tree.edited[:5])}")


def _pause(s: Snapshot, _: Config) -> d.Decision | None:
    if s.history.retry_at <= s.now:
        return None
    return d.Wait(s.history.retry_reason, ExitCode.LIMITED, until=s.history.retry_at)


def _spec(s: Snapshot, config: Config) -> d.Decision | None:
    if not (s.digest("PRD.md") or s.digest("SPEC.md")):
        return None
    why = _why_spec(s)
    if why:
        return _agent(s, config, d.RunAgent(why, "spec"))
    if _is_prd_newer(s) and not _marker(s, "APPROVED"):
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
    if _is_prd_newer(s) and untouched and not _approval(s, "spec", s.digest("SPEC.md")):
        return "PRD.md changed before SPEC.md was approved"
    return ""


def _is_prd_newer(s: Snapshot) -> bool:
    read = (s.prd.step("spec").get("inputs") or {}).get("PRD.md")
    return bool(read and s.digest("PRD.md") and read != s.digest("PRD.md"))


def _spec_end(s: Snapshot, _: Config) -> d.Decision | None:
    return d.Done("SPEC.md is there and fresh") if s.session.last_step == "spec" else None


def _spec_gate(s: Snapshot, config: Config) -> d.Decision | None:
    if not (s.digest("PRD.md") or s.digest("SPEC.md")):
        return None
    return _gate(s, config, "spec", "SPEC.md", config.gates.spec)


def _gate(s: Snapshot, config: Config, gate: str, artifact: str, policy: str) -> d.Decision | None:
    """Is the gate open for exactly these bytes? REJECTED beats APPROVED."""
    code = s.tree.code if gate == "qa" else ""
    said = _approval(s, gate, s.digest(artifact), code)
    if said and said.verdict == "approved" and not (gate == "spec" and _is_prd_newer(s)):
        return None
    for name in ("REJECTED", "APPROVED"):
        stale = _why_invalid(s, gate, artifact, name)
        if stale:
            return d.SetAside(f"{name} {stale}", name)
    rejected = _marker(s, "REJECTED")
    if rejected:
        how = "with remarks" if rejected.text.strip() else "without remarks"
        return d.Reject(f"REJECTED was found {how}", gate, rejected.text.strip())
    if said and said.verdict == "rejected":
        return d.Halt(f"{artifact} was rejected; edit it, or `ralphy redo {gate}`", ExitCode.STORIES_OPEN)
    if _marker(s, "APPROVED"):
        return d.Approve(f"APPROVED was found for {artifact}", gate)
    if said:
        return None
    if policy == "auto":
        return d.Approve(f"the {gate} gate is automatic", gate, by="auto")
    return _hold(s, gate, artifact)


def _hold(s: Snapshot, gate: str, artifact: str) -> d.Decision:
    if f"{gate}:{s.digest(artifact)}" not in s.history.gates:
        return d.OpenGate(f"{artifact} is ready to be read", gate)
    if s.baseline is None and not s.tree.dirty and not s.tree.busy:
        return d.TakeBaseline("the checks are run once while a person reads")
    edited = any(a.gate == gate and a.verdict == "approved" for a in s.prd.approvals)
    why = (
        f"{artifact} changed since it was approved: read it again"
        if edited
        else f"{artifact} waits to be read"
    )
    red = f" (the checks are red: {_listed(s)})" if s.baseline and _is_red(s) else ""
    return d.Wait(f"{why}; then `touch APPROVED` in the feature folder, or `ralphy approve {s.feature}`{red}",
                  gate=gate)  # fmt: skip


def _why_invalid(s: Snapshot, gate: str, artifact: str, name: str) -> str:
    """Why a marker is no statement about this artifact; "" if it is one, or is not there (rulings 9, 14)."""
    marker, shown = s.markers.get(name), s.artifacts.get(artifact)
    if marker is None or shown is None:
        return ""
    if marker.invalid:
        return marker.invalid
    opened = s.history.gates.get(f"{gate}:{shown.digest}") or shown.ctime_ns
    return "" if marker.ctime_ns >= opened else f"is older than the {artifact} that is there now"


def _marker(s: Snapshot, name: str) -> Marker | None:
    marker = s.markers.get(name)
    return marker if marker and not marker.invalid else None


def _approval(s: Snapshot, gate: str, digest: str, code: str = "") -> Approval | None:
    """The last word said at a gate about exactly this content; a revision is not a word on the new one."""
    said = [a for a in s.prd.approvals if a.gate == gate and a.digest == digest and a.verdict != "revise"]
    said = [a for a in said if not code or a.verdict != "approved" or a.code == code]
    return said[-1] if said else None


def revision(s: Snapshot, gate: str) -> Approval | None:
    """Remarks of a person that the step's agent has not answered yet."""
    said = [a for a in s.prd.approvals if a.gate == gate]
    return said[-1] if said and said[-1].verdict == "revise" and not said[-1].answered else None


def _branch(s: Snapshot, _: Config) -> d.Decision | None:
    tree = s.tree
    if tree.is_on_branch:
        return None
    if tree.other_feature:
        return d.Wait(f"this checkout is on the branch of feature {tree.other_feature}; one feature at a time is "
                      f"worked on in a checkout. When it is finished: git switch {tree.base}")  # fmt: skip
    if tree.has_feature_branch:
        return d.Halt(
            f"the work is on {tree.feature_branch}: git switch {tree.feature_branch}", ExitCode.CONFLICT
        )
    if not tree.branch:
        return d.Halt("HEAD is detached: git switch to a branch first", ExitCode.CONFLICT)
    return _ground(s) or d.OpenBranch(f"the work on {s.feature} gets its branch {tree.feature_branch}")


def _ground(s: Snapshot) -> d.Halt | None:
    """What stands in the way of any work on the code."""
    if s.tree.busy:
        return d.Halt(f"{s.tree.busy} is in progress: finish or abort it first", ExitCode.CONFLICT)
    if s.tree.dirty:
        names = ", ".join(s.tree.dirty[:5]) + (" …" if len(s.tree.dirty) > 5 else "")
        return d.Halt(f"uncommitted changes: {names}. Commit or stash them first", ExitCode.CONFLICT)
    return None


def _answers(s: Snapshot, _: Config) -> d.Decision | None:
    blocked = {story.id for story in s.prd.stories if story.status.value == "blocked"}
    for answer in s.answers:
        if answer.story in blocked:
            return d.TakeAnswer(f"QUESTIONS.md has an answer for {answer.story}", answer.story)
    return None


def _stories(s: Snapshot, config: Config) -> d.Decision | None:
    if all(story.is_completed for story in s.prd.stories):
        return None
    story = next_ready(s.prd)
    if story is None:
        return d.Halt(why_stuck(s.prd), ExitCode.STORIES_OPEN)
    past = s.history.of("story", story.id)
    if past.attempts >= config.limits.max_attempts:
        return d.GiveUp(f"{story.id} has used its {past.attempts} attempts", story.id)
    attempt = past.attempts + 1
    mode = "heal" if past.heals and past.tree else "fresh"
    model = model_for(config, "story", attempt, str(story.raw.get("model") or ""))
    after = f", after {', '.join(story.depends_on)} (completed)" if story.depends_on else ""
    why = f"{story.id} is next: priority {story.priority}{after}; attempt {attempt}/{config.limits.max_attempts}"
    return _agent(s, config, d.RunAgent(why, "story", story.id, attempt, mode, model))


def _agent(s: Snapshot, config: Config, run: d.RunAgent) -> d.Decision:
    """The run, unless the ground, the baseline or a budget stands against it."""
    if not run.model:
        attempts = s.history.of(run.step, None).attempts
        if attempts > MENDS:
            last = s.history.of(run.step, None).last_failure
            return d.Halt(f"the {run.step} agent failed {attempts} times, last: {last}; `ralphy redo {run.step}`",
                          ExitCode.STORIES_OPEN)  # fmt: skip
        run = d.RunAgent(run.reason, run.step, None, attempts + 1, "fresh", model_for(config, run.step))
    return _ground(s) or _baseline(s) or _budget(s, config, run.step) or run


def _baseline(s: Snapshot) -> d.Decision | None:
    if s.baseline is None:
        return d.TakeBaseline("the checks must be green before an agent is paid")
    if not _is_red(s):
        return None
    if s.session.accepts_red:
        return d.AcceptRed(f"these failing tests are accepted as known: {_listed(s)}")
    return d.Halt(f"the checks are red before any work: {_listed(s)}. Mend them, or --accept-red to go on with "
                  "these failures known", ExitCode.CONFLICT)  # fmt: skip


def _is_red(s: Snapshot) -> bool:
    return (
        s.baseline is not None and not s.baseline.is_green and not set(s.baseline.red) <= s.history.known_red
    )


def _listed(s: Snapshot) -> str:
    red = s.baseline.red if s.baseline else ()
    return ", ".join(red[:5]) + (f" and {len(red) - 5} more" if len(red) > 5 else "")


def _budget(s: Snapshot, config: Config, step: str) -> d.Halt | None:
    limits, session = config.limits, s.session
    limit_s = active_limit_s(config, step)
    reached = (
        (session.runs >= limits.max_iterations, f"max_iterations ({limits.max_iterations} agent runs) is reached"),
        (limits.max_cost_usd is not None and session.cost_usd >= (limits.max_cost_usd or 0),
         f"the budget of ${limits.max_cost_usd} is used up (${session.cost_usd:.2f})"),
        (session.until is not None and s.now >= (session.until or 0), f"it is {limits.until}"),
        (s.history.active_s.get(step, 0.0) >= limit_s, f"the {step} step has used its {limit_s:.0f} s"),
    )  # fmt: skip
    for is_reached, what in reached:
        if is_reached:
            return d.Halt(f"{what}; start again to go on", ExitCode.BUDGET)
    return None


def _qa(s: Snapshot, config: Config) -> d.Decision | None:
    record = s.prd.step("qa")
    read = record.get("inputs") or {}
    is_fresh = not read or (
        read.get("code") == s.tree.code and read.get("SPEC.md", "") == s.digest("SPEC.md")
    )
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
    return _gate(s, config, "qa", "QA_REPORT.md", config.gates.qa)


def _pr(s: Snapshot, config: Config) -> d.Decision | None:
    if s.prd.workflow.get("pr", {}).get("code") == s.tree.code:
        return None
    read = s.prd.step("pr").get("inputs") or {}
    if not s.digest("PR.md") or (read and read.get("QA_REPORT.md") != s.digest("QA_REPORT.md")):
        return _agent(
            s, config, d.RunAgent("the review is approved; the pull request's text is written", "pr")
        )
    return _ground(s) or d.Publish("PR.md is ready: push the branch and open the pull request")


def _end_reason(s: Snapshot) -> str:
    pr = s.prd.workflow.get("pr", {})
    if pr.get("url"):
        return f"the pull request is open: {pr['url']}"
    where = "is pushed" if pr.get("pushed") else "is ready (there is no remote)"
    return f"all stories are verified; {s.tree.feature_branch} {where} and PR.md holds the text"


_RULES: tuple[Rule, ...] = (
    _recovery,
    _stop,
    _inputs,
    _adoption,
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
