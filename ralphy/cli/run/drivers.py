"""start, loop and watch: three drivers of the same decisions."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from ralphy.cli.ci import is_ci, use_profile
from ralphy.cli.options import Amount, Invocation, WholeNumber, feature_argument, with_options
from ralphy.cli.report import reporting
from ralphy.cli.run.awake import keeping_awake
from ralphy.cli.run.dialogue import StoryDialogue
from ralphy.cli.run.fresh import start_fresh
from ralphy.cli.run.in_ci import telling_github, with_answers
from ralphy.cli.run.live import Live
from ralphy.cli.run.narrator import PATIENT, Narrator
from ralphy.cli.run.notifying import notifying, tell, told_of_the_end
from ralphy.cli.run.planned import show_plan, tell_plan
from ralphy.cli.run.signals import Came, Terminated, heeding, signals
from ralphy.cli.session.start import start_in_session
from ralphy.cli.status.inbox import at_gate, command_of
from ralphy.cli.status.look import standing
from ralphy.documents.feature_folder import ignored, misnamed
from ralphy.documents.readiness import faults
from ralphy.engine.lane_use.lane_layout import lanes_of
from ralphy.engine.lane_use.strict import require_agent_starts
from ralphy.engine.reactor import Patience, run_feature, watch_all
from ralphy.engine.workspace.checkout import Checkout
from ralphy.errors import ExitCode, InvalidInput, NotFound
from ralphy.files.atomic import read_text
from ralphy.git.run_lock import Held, Lock
from ralphy.git.signing import require_signer
from ralphy.pipeline.chosen import words_of
from ralphy.pipeline.decision import Wait
from ralphy.pipeline.model import Session
from ralphy.pipeline.steps.table import gates
from ralphy.scaffold.writer import new_feature, require_name, slug

if TYPE_CHECKING:
    from ralphy.config.values import Config
    from ralphy.documents.feature_folder import Feature
    from ralphy.engine.workspace.workspace import Workspace

_STEPS = click.Choice(gates())
_LEVELS = click.Choice(["minimal", "moderate", "strict"])


def until_signal(call: Invocation, came: Came, work: Callable[[], int], interrupted: Callable[[str], None]) -> int:
    """Do the work, and give its exit code; where a signal ends it, tell how, and give the code for that."""
    try:
        with signals(came), told_of_the_end(call), _naming_the_gate(call):
            return work()
    except KeyboardInterrupt:
        interrupted("interrupted")
        return ExitCode.INTERRUPTED
    except Terminated:
        interrupted("terminated")
        return ExitCode.TERMINATED


@contextmanager
def _naming_the_gate(call: Invocation) -> Iterator[None]:
    """Where another Ralphy has the checkout and waits at a gate, the error says how to open that."""
    try:
        yield
    except Held as held:
        names = [feature.name for feature in open_features(call)]
        own = [name for name in names if held.purpose in ("watch", "loop", f"feature {name}")]
        waiting = (value for name in own if at_gate(value := standing(call, name)))
        if found := next(waiting, None):
            held.hint = f"{found['feature']} waits for you: {command_of(found)}; or stop it with: ralphy abort"
        raise


def attend(
    call: Invocation, workspace: Workspace, came: Came, live: Live, *, named: bool = False, patience: Patience = PATIENT
) -> Narrator:
    """Have the events of a workspace told, its signals heeded, and its compulsory walls put up."""
    narrator = Narrator(call.output, workspace, live, named=named, patience=patience)
    narrator.attend(workspace)
    workspace.listener = telling_github(workspace, reporting(workspace, workspace.listener))
    workspace.listener = notifying(call, workspace, workspace.listener)
    workspace.listener = keeping_awake(workspace, workspace.listener)
    workspace.listener = heeding(came, workspace.listener)
    _warn_of_prd(call, workspace)
    need_walls(workspace)
    _need_signer(workspace)
    return narrator


def _warn_of_prd(call: Invocation, workspace: Workspace) -> None:
    """With `verify.prd: flag`, say what PRD.md lacks before an agent is paid to make a specification of it."""
    prd = workspace.feature.file("PRD.md")
    if workspace.config.verify.prd == "flag" and prd.is_file() and not workspace.feature.file("SPEC.md").exists():
        for fault in faults(read_text(prd)):
            call.output.note(f"warning: {workspace.feature.in_repository('PRD.md')}:{fault}")


def limit_options(command: Any) -> Any:
    """What bounds a run."""
    options = (
        click.option("--max-iterations", type=WholeNumber(1), metavar="N", help="Maximum agent runs."),
        click.option("--max-attempts", type=WholeNumber(1), metavar="N", help="Maximum attempts per story."),
        click.option("--max-cost", type=Amount(0), metavar="USD", help="Maximum cost in USD."),
        click.option("--until", metavar="HH:MM", help="Start no run after this time."),
        click.option("--overnight", is_flag=True, help="Same as --until 07:00."),
        click.option("--jobs", type=WholeNumber(1), metavar="N", help="Agents that work at the same time, 1 to 64."),
        click.option("--calls", type=WholeNumber(1), metavar="N", help="Maximum agent runs per hour."),
        click.option("--auto-approve", is_flag=True, help="Approve all gates automatically."),
        click.option("--ci", is_flag=True, help="Use the settings ci: lower limits, prepared answers; never ask."),
        click.option("--accept-red", is_flag=True, help="Accept failing tests as known failures."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def run_options(command: Any) -> Any:
    """What bounds a run of one feature, and what only such a run can do."""
    dry_run = click.option("--dry-run", "-n", is_flag=True, help="Show the plan (ralphy plan); change nothing.")
    only = click.option("--story", "only", multiple=True, metavar="ID", help="Only this story and the pieces it is "
                        "split into; repeatable, a list US-001,US-004 or a range US-003..US-005.")  # fmt: skip
    options = (
        click.option("--safety-level", type=_LEVELS, help="The setting safety.level, for this run."),
        click.option("--reset-circuit", is_flag=True, help="Close the circuit breaker first."),
        click.option("--no-wait", is_flag=True, help="Do not wait for the provider's limit; end with 14."),
        click.option("--continue", "_continue", is_flag=True, help="Resume (default)."),
    )
    for option in reversed(options):
        command = option(command)
    return dry_run(only(limit_options(command)))


@click.command("loop")
@feature_argument
@run_options
@click.option("--to", "last_step", type=_STEPS, help="End when this step's document exists.")
@with_options
def loop(call: Invocation, feature: str | None, last_step: str | None, **limits: Any) -> int:
    """Run FEATURE until a gate (10), failure or completion; never ask. `make loop` runs this.

    Without FEATURE, run all open features, one after the other.
    """
    return drive(call, feature, last_step or "", limits, asks=False)


@click.command("plan")
@feature_argument
@limit_options
@with_options
def plan(call: Invocation, feature: str | None, **limits: Any) -> int:
    """Show the whole plan: stories in order, models, checks, gates, expected cost, and what ends it; change nothing.

    The expected cost and time are the range of what stories took in this repository; without such a history, a rough
    guess. Takes the limits of `ralphy loop`: with --jobs N, it shows which stories would be worked on side by side.
    """
    return drive(call, feature, "", {**limits, "dry_run": True}, asks=False)


@click.command("start")
@click.argument("feature", required=False, metavar="[FEATURE | DESCRIPTION]")
@run_options
@click.option("--name", metavar="NAME", help="Name of the feature that a DESCRIPTION creates.")
@click.option("--fresh", is_flag=True, help="Start from nothing but PRD.md; asks first, and keeps what there was.")
@click.option("--yes", "-y", is_flag=True, help="Answer the question of --fresh with yes.")
@click.option("--mode", type=click.Choice(["script", "hook", "auto"]), default="script", show_default=True,
              help="script: agents of their own; hook: in a session of Claude Code; auto: by size.")  # fmt: skip
@click.option("--interactive", is_flag=True, help="Stop after each story and ask: go on, redo it, or stop.")
@with_options
def start(
    call: Invocation, feature: str | None, name: str | None, fresh: bool, yes: bool, mode: str, **limits: Any
) -> int:  # fmt: skip
    """Run one feature in the foreground; on a terminal, ask at gates.

    A DESCRIPTION contains a space; it creates a feature with a PRD.md, called NAME or after its first words. At a gate,
    approve at the prompt or with `touch APPROVED` in the feature folder.
    """
    if limits["interactive"]:
        _require_terminal(limits)
    if feature and (name or " " in feature.strip()):
        if limits["dry_run"]:
            return _would_make(call, feature, name)
        feature = _make_feature(call, feature, name)
    elif name:
        raise InvalidInput("--name needs a description", hint=f'ralphy start "what you want built" --name {name}')
    if feature:
        _require_feature(call, feature)
    if yes and not fresh:
        raise InvalidInput("--yes answers the question of --fresh", hint="leave it out")
    if fresh and not limits["dry_run"] and not start_fresh(call, feature, yes=yes):
        return ExitCode.WAITING
    if mode != "script" and (code := start_in_session(call, feature, mode, limits)) is not None:
        return code
    return drive(call, feature, "", limits, asks=True)


def _require_feature(call: Invocation, word: str) -> None:
    """Raises NotFound for a word that names no feature: it may be meant as a description."""
    try:
        call.feature(call.repository(), word)
    except NotFound as error:
        more = f'a description has a space: ralphy start "{word} what should be built"'
        raise NotFound(str(error), hint=f"{error.hint}; {more}") from None


def _require_terminal(limits: dict[str, Any]) -> None:
    """Raises InvalidInput where nobody can be asked after each story, or stories are worked on side by side."""
    if limits["ci"] or is_ci(os.environ) or not sys.stdin.isatty():
        raise InvalidInput("--interactive asks after each story, and there is no terminal",
                           hint="leave it out; for one story at a time: --story ID")  # fmt: skip
    if limits["jobs"] not in (None, 1):
        raise InvalidInput("--interactive stops after each story: one agent works", hint="leave out --jobs")


def _would_make(call: Invocation, description: str, name: str | None) -> int:
    name = require_name(name or slug(description))
    reason = f"feature {name} would be created, and its specification written"
    return call.output.answer("why", f"next: {reason}", feature=name, phase="IDLE", decision="RunAgent",
                              reason=reason, rests=False)  # fmt: skip


def _make_feature(call: Invocation, description: str, name: str | None) -> str:
    repository = call.repository()
    features_dir = call.settings(repository).config.project.features_dir
    if description in ignored(repository.root, features_dir):
        raise misnamed(repository.root / features_dir / description)
    call.require_nothing_begun(repository)
    name = name or slug(description)
    prd = new_feature(repository.root / features_dir, name, description)
    call.output.note(f"feature {name}: {prd.relative_to(repository.root)}")
    return name


def _flags(limits: dict[str, Any]) -> dict[str, object]:
    names = {"max_iterations": "limits.max_iterations", "max_cost": "limits.max_cost_usd",
             "max_attempts": "limits.max_attempts", "safety_level": "safety.level", "until": "limits.until",
             "calls": "limits.calls_per_hour", "jobs": "lanes.jobs"}  # fmt: skip
    flags: dict[str, object] = {path: limits[name] for name, path in names.items() if limits.get(name) is not None}
    if limits.get("overnight"):
        flags.setdefault("limits.until", "07:00")
    if limits.get("interactive"):
        flags["lanes.jobs"] = 1
    if limits.get("auto_approve"):
        flags |= {f"gates.{name}": "auto" for name in gates()}
    return flags


def drive(call: Invocation, feature: str | None, last_step: str, limits: dict[str, Any], *, asks: bool) -> int:
    """Run a feature, or all, to a rest; `limits` are the options of `run_options`. Gives the exit code."""
    call.flags.update(_flags(limits))
    profile = use_profile(call, asked_for=bool(limits.get("ci")), now=time.time())
    asks = asks and profile is None and not is_ci(os.environ)
    session = Session(last_step=last_step, accepts_red=bool(limits.get("accept_red")),
                      only=words_of(limits.get("only") or ()))  # fmt: skip
    if feature is None:
        is_open = open_features(call)
        if not is_open and (ended := _nothing_open(call)):
            return call.output.answer("loop", ended, reason=ended)
        if len(is_open) > 1 and not asks:
            from ralphy.cli.run.every import drive_every

            story = f"--story {','.join(session.only)}" if session.only else ""
            if option := story or ("--reset-circuit" if limits.get("reset_circuit") else ""):
                names = ", ".join(one.name for one in is_open)
                raise InvalidInput(f"{option} needs a feature; open are: {names}",
                                   hint=f"ralphy loop {is_open[0].name} {option}")  # fmt: skip
            return drive_every(call, session, limits)
    with call.workspace(feature) as workspace:
        workspace.session = replace(session, until=until_of(call, workspace.config, workspace.clock()))
        if limits.get("dry_run"):
            return show_plan(call, workspace, call.found(workspace.repository, workspace.feature.name))
        _require_allowed(call, workspace)
        if limits.get("reset_circuit"):
            workspace.record("reset_circuit")
        if asks:
            tell_plan(call, workspace)
        return _run(
            call, workspace, asks=asks, waits=not limits.get("no_wait"), by_story=bool(limits.get("interactive"))
        )


def _require_allowed(call: Invocation, workspace: Workspace) -> None:
    """Raises Conflict where a person has to look first: at settings, or at a feature, that came from elsewhere."""
    call.require_settings(workspace.repository)
    call.require_trusted(workspace.repository)


def open_features(call: Invocation) -> list[Feature]:
    """The features that there is anything left to do for."""
    return [found.feature for found in call.features(call.repository()) if found.life.is_open]


def _nothing_open(call: Invocation) -> str:
    """What to say where every feature is finished; "" where there is none at all."""
    features = call.features(call.repository())
    said = ", ".join(f"{found.feature.name} is {found.life.value}" for found in features[:10])
    return f"nothing to do: {said}" if said else ""


def until_of(call: Invocation, config: Config, now: float) -> float | None:
    """When no agent is started any more: at the setting's time, or at the end of what CI gives."""
    found = (clock_time(config.limits.until, now), call.deadline)
    return min((at for at in found if at is not None), default=None)


def clock_time(text: str | None, now: float) -> float | None:
    """The next moment at which the wall clock shows HH:MM, in epoch seconds."""
    if not text:
        return None
    hours, _, minutes = text.partition(":")
    today = time.localtime(now)
    at = time.mktime((today.tm_year, today.tm_mon, today.tm_mday, int(hours), int(minutes), 0, 0, 0, -1))
    if at > now:
        return at
    return time.mktime((today.tm_year, today.tm_mon, today.tm_mday + 1, int(hours), int(minutes), 0, 0, 0, -1))


def need_walls(workspace: Workspace) -> None:
    """Isolation that is compulsory is put up before anything else is done, or nothing is started (fail closed)."""
    if workspace.config.safety.level == "strict":
        require_agent_starts(workspace)
    elif workspace.config.safety.sandbox == "bwrap":
        lanes_of(workspace)  # opening them puts up the walls


def _need_signer(w: Workspace) -> None:
    """What cannot be signed in the night is found before an agent is paid; tried once for a checkout."""
    if w.config.git.sign == "auto" and w.checkout.signs_commits and "signer" not in w.checkout.said:
        require_signer(w.repository, w.checkout.identity)
        w.checkout.said.add("signer")


def _run(call: Invocation, workspace: Workspace, *, asks: bool, waits: bool, by_story: bool) -> int:
    workspace.session = replace(workspace.session, began=workspace.clock())
    patience, came, live = Patience(gates=asks, limits=waits), Came(), Live(call.output)
    narrator = attend(call, workspace, came, live, patience=patience)
    after_story = StoryDialogue(call.output, workspace, live) if by_story else None

    def work() -> int:
        with Lock(workspace.repository.checkout_dir / "lock", f"feature {workspace.feature.name}"), live:
            call.lay_out(workspace)
            dialogue = narrator.dialogue if asks else None
            prepared = workspace.config.ci.answers if call.deadline is not None else ()
            if after_story:
                after_story.begin()
            while True:
                rest = with_answers(workspace, prepared, lambda: run_feature(workspace, patience, dialogue))
                if not (after_story and isinstance(rest, Wait) and rest.story and after_story.goes_on(rest.story)):
                    break
        return narrator.finished(rest)

    return until_signal(call, came, work, narrator.interrupted)


@click.command("watch")
@limit_options
@with_options
def watch(call: Invocation, **limits: Any) -> int:
    """Run all features of the repository: wait at gates, resume when files appear."""
    call.flags.update(_flags(limits))
    use_profile(call, asked_for=limits["ci"], now=time.time())
    repository = call.repository()
    features_dir = call.settings(repository).config.project.features_dir
    call.require_settings(repository)
    call.require_trusted(repository)
    call.tell_ignored(repository)
    checkout, came, live = Checkout.of(repository), Came(), Live(call.output)

    def opened(feature: Feature) -> Workspace:
        workspace = call.open(checkout, feature)
        attend(call, workspace, came, live, named=True)
        until = until_of(call, workspace.config, workspace.clock())
        workspace.session = Session(until=until, accepts_red=limits["accept_red"], began=workspace.clock())
        return workspace

    def work() -> int:
        with live:
            watch_all(checkout, features_dir, opened, lambda event: tell(call, event))
        return ExitCode.DONE

    try:
        return until_signal(call, came, work, lambda _: None)
    finally:
        checkout.close()
