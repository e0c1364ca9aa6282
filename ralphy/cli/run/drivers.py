"""start, loop, watch and plan: four ways to drive the same decisions."""

from __future__ import annotations

import os
import sys
import time
from contextlib import closing
from dataclasses import replace
from typing import Any

import click

from ralphy.cli.ci import is_ci
from ralphy.cli.options import Amount, Invocation, WholeNumber, feature_argument, not_empty, with_options
from ralphy.cli.run.fresh import start_fresh
from ralphy.cli.run.in_ci import use_profile
from ralphy.cli.run.narrator import PATIENT
from ralphy.cli.run.planned import show_plan, tell_plan
from ralphy.cli.run.runner import Runner, open_features
from ralphy.cli.session.start import start_in_session
from ralphy.config.fields import UnfitError, accept, all_fields, short
from ralphy.config.values import MINIMAL, MODERATE, STRICT, Config
from ralphy.documents.feature_folder import Feature, ignored, misnamed
from ralphy.engine.person.again import close_breaker
from ralphy.engine.reactor import Patience, watch_all
from ralphy.engine.view.status import snapshot_at
from ralphy.engine.workspace.checkout import Checkout
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import ExitCode, InvalidInput, NotFound
from ralphy.pipeline.chosen import chosen as chosen_stories
from ralphy.pipeline.chosen import words_of
from ralphy.pipeline.life import Life
from ralphy.pipeline.model import Session
from ralphy.pipeline.steps.table import gates
from ralphy.pipeline.story_changes import find_story
from ralphy.scaffold.writer import new_feature, prd_text, require_name, slug

_STEPS = click.Choice(gates())
_LEVELS = click.Choice([MINIMAL, MODERATE, STRICT])


def _time(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    """Refuse what the setting limits.until does not take."""
    try:
        return text and str(accept(all_fields()["limits.until"], text))
    except UnfitError:
        hint = f"to end when its document exists: --to {text}" if text in gates() else "such as --until 07:00"
        raise InvalidInput(f"--until is {short(text)} but must be a time as HH:MM", hint=hint) from None


def limit_options(command: Any) -> Any:
    """Add the limits of a run."""
    options = (
        click.option("--max-iterations", type=WholeNumber(1), metavar="N", help="Maximum agent runs."),
        click.option("--max-attempts", type=WholeNumber(1), metavar="N", help="Maximum attempts per story."),
        click.option("--max-cost", type=Amount(), metavar="USD", help="Maximum cost in USD."),
        click.option("--until", callback=_time, metavar="HH:MM", help="Start no run after this time."),
        click.option("--overnight", is_flag=True, help="Same as --until 07:00."),
        click.option("--jobs", type=WholeNumber(1, 64), metavar="N", help="Agents that work at the same time."),
        click.option("--calls", type=WholeNumber(1), metavar="N", help="Maximum agent runs per hour."),
        click.option("--auto-approve", is_flag=True, help="Approve all gates automatically."),
        click.option("--ci", is_flag=True, help="Use the settings ci: lower limits, prepared answers; never ask."),
        click.option("--accept-red", is_flag=True, help="Accept failing tests as known failures."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def run_options(command: Any) -> Any:
    """Add the limits of a run, and what only a run of one feature can do."""
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
    """At a gate it ends with 10. `make loop` runs this. Without FEATURE, run all open features, one after the other."""
    return drive(call, feature, last_step or "", limits, asks=False)


@click.command("plan")
@feature_argument
@limit_options
@with_options
def plan(call: Invocation, feature: str | None, **limits: Any) -> int:
    """Changes nothing. The expected cost and time are the range of what stories took in this repository; without such a
    history, a rough guess. Takes the limits of `ralphy loop`: with --jobs N, it shows which stories would be worked on
    side by side.
    """
    return drive(call, feature, "", {**limits, "dry_run": True}, asks=False)


@click.command("start")
@click.argument("feature", required=False, callback=not_empty, metavar="[FEATURE | DESCRIPTION]")
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
    """A DESCRIPTION contains a space; it creates a feature with a PRD.md, called NAME or after its first words. At a
    gate, approve at the prompt or with `touch APPROVED` in the feature folder.
    """
    if limits["interactive"]:
        _require_terminal(limits)
    if feature and name and call.is_feature(feature):
        raise InvalidInput(f"{feature} is a feature, and --name names a new one", hint=f"ralphy start {feature}")
    if feature and (name or " " in feature.strip()):
        if limits["dry_run"]:
            return _would_make(call, feature, name)
        feature = _make_feature(call, feature, name)
    elif name:
        raise InvalidInput("--name needs a description", hint=f'ralphy start "what you want built" --name {name}')
    if feature:
        _require_feature(call, feature)
    if yes and not fresh:
        raise InvalidInput("--yes needs --fresh", hint="leave it out, or add --fresh")
    if fresh and not limits["dry_run"] and not start_fresh(call, feature, yes=yes):
        return ExitCode.WAITING
    if mode != "script" and (code := start_in_session(call, feature, mode, limits)) is not None:
        return code
    return drive(call, feature, "", limits, asks=True)


def _require_feature(call: Invocation, word: str) -> None:
    """Raises NotFound for a word that names no feature; its hint is for those who meant a description."""
    try:
        call.feature(word)
    except NotFound as error:
        more = f'a description has a space: ralphy start "{word} what should be built"'
        raise NotFound(str(error), hint=f"{error.hint}; {more}") from None


def _require_terminal(limits: dict[str, Any]) -> None:
    """Raises InvalidInput without a terminal to ask on, and where several agents are to work."""
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
    features_dir = call.settings().config.project.features_dir
    if description in ignored(repository.root, features_dir):
        raise misnamed(repository.root / features_dir / description)
    call.require_nothing_begun()
    call.require_allowed()
    name = name or slug(description)
    prd = new_feature(repository.root / features_dir, name, "PRD.md", prd_text(description))
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
    call.override(_flags(limits))
    deadline = use_profile(call, asked_for=bool(limits.get("ci")), now=time.time())
    asks = asks and deadline is None and not is_ci(os.environ)
    session = Session(until=deadline, last_step=last_step, accepts_red=bool(limits.get("accept_red")),
                      only=words_of(limits.get("only") or ()))  # fmt: skip
    repository = call.repository()
    chosen = [] if feature else open_features(call)
    if not feature and not chosen and (ended := _nothing_open(call)):
        return call.output.answer("loop", ended, reason=ended)
    if len(chosen) < 2 or asks:  # `start` runs one feature: with several, it asks for a name
        chosen = [call.feature(feature)]
    else:
        _require_fit_for_all(chosen, session, limits)
    runner = Runner(call, Patience(gates=asks, limits=not limits.get("no_wait")), named=len(chosen) > 1,
                    in_ci=deadline is not None)  # fmt: skip
    with closing(Checkout.of(repository)) as checkout:
        if limits.get("dry_run"):
            for one in chosen:
                w = _opened(call, checkout, one, session)
                before = f"{one.name}: " if len(chosen) > 1 else ""
                show_plan(call, w, call.find_feature(one.name), before)
            return ExitCode.DONE
        call.require_allowed()
        if len(chosen) > 1:
            return runner.run_every(checkout, begun(session, call.settings().config, time.time()))
        w = _opened(call, checkout, chosen[0], session)
        if limits.get("reset_circuit"):
            close_breaker(w)
        if asks:
            tell_plan(call, w)
        return runner.run_one(w, by_story=bool(limits.get("interactive")))


def _opened(call: Invocation, checkout: Checkout, feature: Feature, session: Session) -> Workspace:
    """The feature opened for a session that begins now. Raises NotFound for a chosen story that it does not have."""
    w = call.open(checkout, feature)
    if session.only:
        prd = snapshot_at(w, call.find_feature(feature.name), review=False).prd
        for word in chosen_stories(prd, session.only)[1] if prd.stories else ():
            find_story(prd, word, feature.name)
    w.session = begun(session, w.config, w.clock())
    return w


def _require_fit_for_all(chosen: list[Feature], session: Session, limits: dict[str, Any]) -> None:
    """Raises InvalidInput for an option that needs one feature."""
    story = f"--story {','.join(session.only)}" if session.only else ""
    if option := story or ("--reset-circuit" if limits.get("reset_circuit") else ""):
        names = ", ".join(one.name for one in chosen)
        raise InvalidInput(f"{option} needs a feature; open are: {names}",
                           hint=f"ralphy loop {chosen[0].name} {option}")  # fmt: skip


def _nothing_open(call: Invocation) -> str:
    """The message where every feature is finished; "" where there is no feature."""
    ended = [(one.feature.name, "finished" if one.life is Life.PUBLISHED else one.life.value)
             for one in call.features()[:10]]  # fmt: skip
    summary = ", ".join(f"{name} is {life}" for name, life in ended)
    return f"nothing to do: {summary}" if summary else ""


def begun(session: Session, config: Config, now: float) -> Session:
    """The session as it begins now. It ends at the time of the setting, if that is before the end of CI's time."""
    ends = (clock_time(config.limits.until, now), session.until)
    return replace(session, until=min((at for at in ends if at is not None), default=None), began=now)


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


@click.command("watch")
@limit_options
@with_options
def watch(call: Invocation, **limits: Any) -> int:
    call.override(_flags(limits))
    deadline = use_profile(call, asked_for=limits["ci"], now=time.time())
    repository = call.repository()
    features_dir = call.settings().config.project.features_dir
    call.require_allowed()
    call.tell_ignored()
    runner = Runner(call, PATIENT, named=True)

    def attended(feature: Feature) -> Workspace:
        w = _opened(call, checkout, feature, Session(until=deadline, accepts_red=limits["accept_red"]))
        runner.attend(w)
        return w

    def work() -> int:
        with runner.live:
            watch_all(checkout, features_dir, attended, runner.tell)
        return ExitCode.DONE

    with closing(Checkout.of(repository)) as checkout:
        return runner.until_signal(work, lambda _: None)
