"""One agent run, whatever the step: the journal's start line, the prompt, the outbox, the program, its end."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from threading import Event

from ralphy.agents.outbox import Outbox
from ralphy.agents.presets import preset_of
from ralphy.agents.program import Conditions
from ralphy.agents.protocol import Activity, Agent, AgentRequest, AgentResult, Outcome, Thresholds
from ralphy.agents.status_report import Claim, read
from ralphy.agents.usage_windows import noted_windows
from ralphy.config.values import WatchdogLimits
from ralphy.engine.feature.branch_tip import work_tip
from ralphy.engine.feature.documents import sealed_place
from ralphy.engine.feature.live_documents import lay_out
from ralphy.engine.lane_use.checks import run_limits
from ralphy.engine.lane_use.lane_walls import Outside, login_file, run_settings, sandbox_of
from ralphy.engine.runs.prompt import prompt_for
from ralphy.engine.runs.unfinished_documents import hand_on
from ralphy.engine.workspace.environment import agent_command, agent_environment
from ralphy.engine.workspace.scan import redact_run
from ralphy.engine.workspace.set_aside import set_markers_aside
from ralphy.engine.workspace.subject import Subject, subject
from ralphy.engine.workspace.workspace import Workspace
from ralphy.files.atomic import private_folder
from ralphy.files.read import read_regular
from ralphy.files.tree_walk import children, remove
from ralphy.lanes.lane import Lane
from ralphy.lanes.lanes_folder import as_in_the_checkout
from ralphy.pipeline.decision import RunAgent
from ralphy.pipeline.events import AgentActivity
from ralphy.pipeline.model import InWork, Snapshot
from ralphy.pipeline.preconditions import share_of_budget
from ralphy.pipeline.steps import names
from ralphy.pipeline.steps.table import step_of
from ralphy.text.durations import span
from ralphy.text.rehearsed import marked
from ralphy.text.tone import WAITING

_MOST_HANDED_IN = 1 << 20  # bytes of a document
_MOST_RUNS = 200  # of a feature, whose folders stay
TOOL_PATIENCE = 5.0  # how much longer than `inactivity_timeout` a tool may be silent: 60 s become 300 s


# What the threads that wait for agents have to say: the id of a run, and what its agent does or how it ended.
Inbox = SimpleQueue[tuple[str, Activity | AgentResult | BaseException]]


class Cancelled(BaseException):
    """The agent is to be ended, because Ralphy ends."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run that has begun: the decision and what it was decided on, the tree that its lane got, and what is compared
    when it has ended: what lies `outside`, and the login file by its inode, 0 if there is none. `has_share` says that
    its dollars are a share of the budget."""

    decision: RunAgent
    snapshot: Snapshot
    lane: Lane
    laid_out: str
    request: AgentRequest
    outbox: Outbox
    about: Subject
    outside: Outside
    login_inode: int
    has_share: bool

    @property
    def id(self) -> str:
        return self.request.run


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run left: its result, its claim, its outbox, the control files that it had changed, and refs that it may
    have moved, which stand."""

    run: str
    result: AgentResult
    claim: Claim
    outbox: Outbox
    tampered: tuple[str, ...]
    stands: tuple[str, ...] = ()

    def handed_in(self, name: str) -> bytes | None:
        """A file of the outbox; None if it is not there, or is not a regular file of a sensible size."""
        return self.outbox.read(name, _MOST_HANDED_IN)


def begin_run(
    w: Workspace, decision: RunAgent, snapshot: Snapshot, lane: Lane, laid_out: str, feedback: str, inbox: Inbox,
    cancelled: Event,
) -> tuple[Run, Callable[[], AgentResult]]:  # fmt: skip
    """Note a run in a lane that was laid out for it; gives it, and what runs its agent to the end, in any thread. What
    the agent does goes into the inbox; it is ended when `cancelled` is set.

    A kill from the journal's line on leaves a run to be closed.
    """
    _set_early_aside(w)
    _tell_of_rehearsals(w)
    decision = _with_known_model(w, decision)
    name = w.new_run_id()
    outbox = _outbox(w, decision, snapshot, name)
    most_usd, has_share = _allowance(w, decision, snapshot)
    request = _request(w, decision, snapshot, name, outbox.path, lane, most_usd)
    agent = _agent(w, request, lane, cancelled)
    go = agent.prepared(request, lambda activity: inbox.put((name, activity)))
    prompt = prompt_for(w, decision, snapshot, outbox.path, feedback)
    run = Run(decision, snapshot, lane, laid_out, request, outbox, subject(), Outside.before_run(w, lane),
              _login_inode(w), has_share)  # fmt: skip
    lane.note(w.feature.name, decision.story or "", f"run {name} works in it")
    _note(w, run)
    w.say(f"  {' '.join(w.config.agent.command)}: {request.run_dir}", is_detail=True)
    work = InWork(name, decision.story or decision.step, most_usd or 0.0, run.outside.is_closed)
    w.session = replace(w.session, in_work=(*w.session.in_work, work))
    w.milestone("run_recorded")
    _clear_handed_on(w, decision, snapshot)
    lay_out(w, work_tip(w))  # prd.json says for people which stories are worked on
    w.milestone("laid_out")
    return run, partial(go, prompt)


def take_end(w: Workspace, run: Run, result: AgentResult) -> Ran:
    """What a run has left once its agent has ended; it stays in the lane until `let_go`."""
    w.milestone("agent_ended")
    w.spend(result.cost_usd)
    # What was reported before the background work ended is not a report on it.
    claim = Claim() if result.background else read(result.text)
    if why := _why_free(w, run, result, claim):
        w.say(why, WAITING)
        result = replace(result, outcome=Outcome.STOPPED, detail=why)
    _pass_on_warning(w, result)
    tampered, stands = run.outside.after_run(w)
    redact_run(w, Path(run.request.run_dir))
    w.milestone("run_redacted")
    return Ran(run.id, result, claim, run.outbox, tampered, stands)


def hear(w: Workspace, run: Run, activity: Activity) -> None:
    """Tell what the agent does; the watchdog's warnings are noted, for `ralphy status` in another terminal."""
    if activity.text and activity.kind != "start":
        text = as_in_the_checkout(activity.text, w.repository)
        about = run.about
        w.emit(AgentActivity(story=about.story, lane=about.lane, run=run.id, activity=activity.kind, text=text))
    if activity.kind == "warning" and (warned := activity.raw.get("watchdog")):
        w.record("watchdog", durable=False, run=run.id, **warned)


def _with_known_model(w: Workspace, d: RunAgent) -> RunAgent:
    """The decision with the step's model, if the agent does not have the one that the story names for itself."""
    if preset_of(w.config.agent.preset).models.fullmatch(d.model):
        return d
    known = step_of(d.step).model(w.config, d.attempt)
    w.say(f"warning: {d.story or d.step}: {json.dumps(d.model[:40])} is not a model's name; using {known}")
    return replace(d, model=known)


def let_go(w: Workspace, run: Run) -> None:
    """The run is settled: nothing that it left in its lane is needed any more."""
    w.session = replace(w.session, in_work=tuple(work for work in w.session.in_work if work.run != run.id))
    run.lane.note(w.feature.name)
    root = w.repository.root
    outbox = () if w.history.hands_on(run.id) else (run.outbox.path,)
    for done in (*outbox, *old_runs(root, w.feature.private / "runs")):
        remove(done, below=root)


def _outbox(w: Workspace, d: RunAgent, s: Snapshot, run: str) -> Outbox:
    """The run's outbox; a document's step finds in it what a run that was not finished had written.

    Those of ended runs go: a kill between a run's end and its last act leaves one.
    """
    folder = private_folder(w.feature.private / "outbox")
    for old in children(w.repository.root, folder):
        if not w.history.is_open(old.name) and not w.history.hands_on(old.name):
            remove(folder / old.name, below=w.repository.root)
    outbox = Outbox.made(folder / run)
    if d.step != names.STORY:
        hand_on(w, s.history.of(d.step, d.story).outbox, outbox.path)
    return outbox


def _clear_handed_on(w: Workspace, d: RunAgent, s: Snapshot) -> None:
    """The outbox that was handed on goes: what it held is in the new run's."""
    if past := s.history.of(d.step, d.story).outbox:
        remove(w.feature.private / "outbox" / past, below=w.repository.root)


def _note(w: Workspace, run: Run) -> None:
    """The journal's line of a run that begins."""
    d, s, outside = run.decision, run.snapshot, run.outside
    w.record("run", step=d.step, story=d.story, attempt=d.attempt, run=run.id, mode=d.mode,
             model=marked(d.model, w.config.agent.is_rehearsal),
             lane=run.lane.name, laid_out=run.laid_out, sandbox="bwrap" if outside.is_closed else "none",
             edits=dict(outside.edits) or None, agent=w.config.agent.preset,
             green=s.tree.head, branch=s.tree.branch, checkout=w.repository.checkout_dir.name,
             deaths=s.history.of(d.step, d.story).deaths or None)  # fmt: skip


def _tell_of_rehearsals(w: Workspace) -> None:
    """The variable that chose the stand-in is gone in the next terminal: then the first run that is paid says so."""
    if w.history.is_rehearsed and not w.config.agent.is_rehearsal and not w.session.runs:
        w.say(f"warning: the earlier runs of {w.feature.name} were rehearsals; {w.config.agent.command[0]} is the real "
              "agent, and costs money", WAITING)  # fmt: skip


def _set_early_aside(w: Workspace) -> None:
    """A marker that was there already is not a statement about what this run will make; nor is it the agent's doing."""
    if early := set_markers_aside(w):
        w.say(f"{', '.join(early)}: set aside, as it was made before this run; make it again when a gate waits")


def _why_free(w: Workspace, run: Run, result: AgentResult, claim: Claim) -> str:
    """Why a run costs no attempt that would cost one, or would end the night; "" if there is no reason."""
    lane, is_fatal = run.lane, result.outcome is Outcome.FATAL
    if lane.was_removed and run.decision.step == names.STORY and result.outcome.costs_an_attempt and lane.is_mounted:
        # by a person: without a sandbox, the agent could have done it
        return f"lane {lane.name} was removed during the run: it costs no attempt, and the story begins again"
    if claim.is_complete:
        return ""
    if is_fatal and run.outside.is_closed and _login_inode(w) != run.login_inode:
        # a sandbox shows the file that was there when the run began, and a person's session replaces it
        return "the login was renewed outside during the run: it costs no attempt, and runs again"
    if is_fatal and lane.was_removed:
        return f"lane {lane.name} was removed before its agent began: it costs no attempt, and is laid out again"
    return _why_budget_ended(w, run) if result.over_budget else ""


def _why_budget_ended(w: Workspace, run: Run) -> str:
    """Which dollars of this call of Ralphy have ended a run: all, or the run's share beside others; "" if neither."""
    most = w.config.limits.max_cost_usd
    if most is not None and w.session.cost_usd >= most:
        return f"the budget of ${most} ran out during the run: it costs no attempt"
    is_share = most is not None and run.has_share and w.config.lanes.jobs > 1
    return f"the run's share of the budget of ${most} ran out during the run: it costs no attempt" if is_share else ""


def _login_inode(w: Workspace) -> int:
    path = login_file(w)
    try:
        return path.stat().st_ino if path else 0
    except OSError:
        return 0


def _pass_on_warning(w: Workspace, result: AgentResult) -> None:
    """The provider's word that a limit will soon be used up is for people, too: each window by itself."""
    limit, now = result.limit, w.clock()
    for window in noted_windows(asdict(limit), now) if limit else ():
        if window.is_worth_a_warning:
            used = f"{window.used:.0%}" if window.used is not None else "nearly all"
            left = f"; it is reset in {span(window.resets_at - now)}" if window.resets_at else ""
            w.say(f"{used} of the usage limit ({window.kind}) is used up{left}")


def _agent(w: Workspace, request: AgentRequest, lane: Lane, cancelled: Event) -> Agent:
    """The agent's program in its walls, with its bounds."""

    def end_if_cancelled() -> None:
        if cancelled.is_set():
            raise Cancelled

    sandbox = sandbox_of(w, lane, "agent", Path(request.outbox))
    conditions = Conditions(
        w.config.timeouts.startup, _thresholds(w, request), run_limits(w), sandbox, end_if_cancelled
    )
    return preset_of(w.config.agent.preset).make(agent_command(w), conditions)


def _thresholds(w: Workspace, request: AgentRequest) -> Thresholds | None:
    """What the watchdog goes by; None when it is switched off."""
    limits = w.config.circuit_breaker
    return thresholds_of(limits, step_of(request.env["RALPHY_STEP"]).patience) if limits.enabled else None


def thresholds_of(limits: WatchdogLimits, patience: float = 1.0) -> Thresholds:
    """`patience` is how much longer than `inactivity_timeout` the step may be silent."""
    return Thresholds(
        silence_s=limits.inactivity_timeout * patience,
        tool_silence_s=limits.inactivity_timeout * TOOL_PATIENCE,
        repeated_errors=limits.max_repeated_errors,
        stagnation_s=limits.task_stagnation_timeout,
        output_bytes=limits.max_output_size,
        warnings=limits.max_attempts,
    )


def _request(
    w: Workspace, d: RunAgent, s: Snapshot, run: str, outbox: Path, lane: Lane, most_usd: float | None
) -> AgentRequest:  # fmt: skip
    story, root = d.story or "", lane.at
    more = {
        "RALPHY_STEP": d.step,
        "RALPHY_FEATURE": w.feature.name,
        "RALPHY_FEATURE_DIR": str(root / w.feature.path),
        "RALPHY_STORY": story,
        "RALPHY_ATTEMPT": str(d.attempt),
        "RALPHY_RUN_NUMBER": str(s.history.of(d.step, d.story).runs + 1),
        "RALPHY_OUTBOX": str(outbox),
    }
    memory = preset_of(w.config.agent.preset).memory
    runs = private_folder(w.feature.private / "runs")
    return AgentRequest(
        run=run,
        cwd=str(lane.at),
        run_dir=str(runs / "-".join(part for part in (run, d.step, story) if part)),
        model=d.model,
        deadline_s=_deadline(w, d.step, s),
        session=str(uuid.uuid4()),
        env={**lane.environment(agent_environment(w, run), w.config.lanes.port_base), **more},
        settings=run_settings(w, lane),
        outbox=str(outbox),
        keeps_no_session=bool(sealed_place(w, step_of(d.step).document)),
        max_cost_usd=most_usd,
        system_prompt_file=str(root / memory) if memory and read_regular(lane.tree / memory, 256 * 1024) else "",
    )


def _deadline(w: Workspace, step: str, s: Snapshot) -> float:
    """Seconds that this run may take: what one run may, and what is left of its step."""
    left = step_of(step).active_limit_s(w.config) - s.session.active_s.get(step, 0.0)
    return max(1.0, min(w.config.timeouts.agent, left))


def _allowance(w: Workspace, d: RunAgent, s: Snapshot) -> tuple[float | None, bool]:
    """(dollars that this run may cost, None where nothing bounds them; whether they are its share of the budget).

    A run has its own bound, its story another, and it gets a share of what is left of the budget of all.
    """
    limits, share = w.config.limits, share_of_budget(s, w.config)
    bounds = [] if limits.max_cost_per_run_usd is None else [limits.max_cost_per_run_usd]
    if limits.max_cost_per_story_usd is not None and d.story:
        bounds.append(limits.max_cost_per_story_usd - s.history.of(d.step, d.story).cost_usd)
    has_share = share is not None and all(share <= bound for bound in bounds)
    bounds += [] if share is None else [share]
    return (round(max(0.01, min(bounds)), 4) if bounds else None), has_share


def old_runs(root: Path, folder: Path) -> Iterator[Path]:
    """All but the newest runs; their names begin with the time."""
    names = sorted(entry.name for entry in children(root, folder) if entry.name[:1] != ".")
    return (folder / name for name in names[:-_MOST_RUNS])
