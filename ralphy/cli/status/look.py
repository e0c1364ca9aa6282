"""why and status: what comes next and where things stand; nothing is touched."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from typing import Any

import click

from ralphy.cli.options import Invocation, feature_argument, for_each, with_options
from ralphy.cli.output import error_body
from ralphy.cli.status.inbox import command_of, inbox_lines, section_of
from ralphy.cli.status.lines import local_moment, phase, status_lines
from ralphy.cli.status.moments import moment
from ralphy.cli.status.repositories import repositories_below
from ralphy.engine.feature.features import FeatureLocation
from ralphy.engine.view.status import ahead_of, decided, how_to_resume, in_progress, iso, status_of, stopped_at
from ralphy.engine.view.view import phase_of
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import EnvironmentProblem, ExitCode, InvalidInput, NotFound, RalphyError
from ralphy.git.run_lock import covers, holder
from ralphy.pipeline.decision import Rest
from ralphy.pipeline.forecast import what_is_left
from ralphy.pipeline.model import Snapshot
from ralphy.text.rehearsed import NOTE
from ralphy.text.tone import BAD, STRONG, Toned

_WELCOME = """\
Ralphy takes a PRD.md to a pull request: one verified commit per user story.

  ralphy demo                      see the pipeline on a toy repository
  ralphy init                      set up this repository
  ralphy start "what you want"     start a feature from a sentence
  ralphy --help                    everything else"""

_NO_FEATURES = 'no features yet: ralphy start "what you want built"'

# Decision -> its verb for people; all others are acts that come next.
_HOW = {"Wait": "waits", "Halt": "ends", "Done": "ends"}


@click.command("why")
@feature_argument
@with_options
def why(call: Invocation, feature: str | None) -> int:
    """Without FEATURE, of every open feature. Changes nothing."""
    names = call.meant(feature)

    def show(name: str | None) -> int:
        location, workspace = call.opened(name)
        with workspace:
            _, text, fields = explained(workspace, location, f"{name}: " if len(names) > 1 else "")
            return call.output.answer("why", text, **fields)

    return for_each(call, names, show)


def explained(
    workspace: Workspace, location: FeatureLocation | None, before: str = ""
) -> tuple[Snapshot, str, dict[str, Any]]:
    """The next decision: its snapshot, its sentence (after `before`), and the same as values."""
    snapshot, decision, reason = decided(workspace, location)
    kind, until = type(decision).__name__, getattr(decision, "until", None)
    working = in_progress(workspace)
    if working and snapshot.unfinished:
        kind, until = "RunAgent", None
        reason = f"{working}; Ralphy is running: pid {holder(workspace.repository.checkout_dir / 'lock').get('pid')}"
    rests, ahead = isinstance(decision, Rest), ahead_of(snapshot)
    more = f"\n  until {moment(until, snapshot.now)}" if until else ""
    more += f"\n  {what_is_left(snapshot)}" if ahead and not rests else ""
    if at := stopped_at(workspace, snapshot, decision):
        more += f"\n  {how_to_resume(at, snapshot)}"
    return snapshot, f"{before}{_HOW.get(kind, 'next')}: {reason}{more}", {
        "feature": snapshot.feature, "phase": phase_of(decision, snapshot), "decision": kind, "reason": reason,
        "rests": rests, "waiting_until": iso(until or 0.0), "forecast": ahead,
    }  # fmt: skip


@click.command("")
@with_options
def bare(call: Invocation) -> int:
    """All features, or how to begin."""
    context = click.get_current_context()
    if context.parent and not sys.stdout.isatty() and not call.output.as_json:
        sys.stdout.write(f"{context.parent.get_help()}\n")
        return ExitCode.DONE
    try:
        if call.features():
            return _status_all(call)
    except NotFound:
        pass  # not in a repository
    steps = ["ralphy demo", "ralphy init", "ralphy start", "ralphy --help"]
    return call.output.answer("welcome", _WELCOME, next=steps)


@click.command("status")
@feature_argument
@click.option("--all", "every", is_flag=True, help="Show all features: first what needs you, and what to type.")
@click.option("--under", type=click.Path(), metavar="DIR", help="With --all: of every repository below DIR.")
@with_options
def status(call: Invocation, feature: str | None, every: bool, under: str | None) -> int:
    """Phase, stories, cost, and what comes next; where several are open, of all. Ends with 0 also where there is no
    feature yet; with 2 for a FEATURE that does not exist."""
    if under is not None:
        if not every or feature:
            raise InvalidInput("--under needs --all, and no FEATURE", hint=f"ralphy status --all --under {under}")
        return _status_under(call, under)
    if every or (feature is None and _are_several(call)):
        return _status_all(call)
    value = standing(call, feature)
    call.output.data([*status_lines(value), *([f"  {NOTE}"] if value["rehearsed"] else [])], value)
    return ExitCode.DONE


def _are_several(call: Invocation) -> bool:
    """Is there no feature yet, or more than one to show?"""
    return not call.features() or len(call.meant(None)) > 1


def standing(call: Invocation, feature: str | None) -> dict[str, Any]:
    """Where the feature stands; the work that goes on comes before what would come next."""
    location, w = call.opened(feature)
    with w:
        running = holder(w.repository.checkout_dir / "lock") or None
        value = {**status_of(w, location), "in_work": [], "running": running}
        working = in_progress(w)
        if running and value["status"] == "ready" and not covers(running.get("purpose"), w.feature.name):
            return {**value, **_behind(running)}
        if not running or not working:
            return value
        in_work = [run["story"] for run in w.history.open_runs if run.get("story")]
        rows = [{**row, "status": "in_progress"} if row["id"] in in_work else row for row in value["stories"]]
        return {**value, "in_work": in_work, "status": "running", "next": working, "brief": working, "stories": rows,
                "circuit_breaker": _with_warning(value)}  # fmt: skip


def standing_or_error(call: Invocation, feature: str) -> dict[str, Any]:
    """Where the feature stands; only `feature` and `error` for one that cannot be read."""
    try:
        return standing(call, feature)
    except RalphyError as error:
        return {"feature": feature, "error": error_body(error)}


def _behind(running: Mapping[str, object]) -> dict[str, str]:
    """What comes next for a feature while Ralphy works on something else in this checkout."""
    next_ = f"waits for Ralphy to end (pid {running.get('pid')}, {running.get('purpose')}), or stop it: ralphy abort"
    return {"next": next_, "brief": next_}


def _with_warning(value: Mapping[str, Any]) -> Any:
    """The circuit breaker; a warning of the watchdog to the current run makes a closed one half open."""
    breaker, warned = value["circuit_breaker"], value["watchdog"]
    if not warned or breaker["state"] != "CLOSED":
        return breaker
    return {**breaker, "state": "HALF_OPEN", "last_trigger": warned["trigger"]}


def _status_all(call: Invocation) -> int:
    """The inbox of this repository."""
    lines, features, code = _inbox(call)
    return call.output.answer("status-all", lines, code, features=features)


def _status_under(call: Invocation, under: str) -> int:
    """The inbox of each repository below a folder; one that cannot be read does not hide the others."""
    lines: list[str] = []
    rows: list[dict[str, Any]] = []
    code, top = int(ExitCode.DONE), call.directory / under

    def unreadable(error: OSError) -> None:
        call.output.note(f"warning: {error.filename} cannot be read: {error.strerror}")

    for root in repositories_below(top, unreadable):
        display_path = os.path.relpath(root)
        row: dict[str, Any] = {"repository": str(root), "features": []}
        try:
            inbox, row["features"], own_code = _inbox(Invocation(root, call.output), display_path)
        except (RalphyError, OSError) as error:
            problem = error if isinstance(error, RalphyError) else EnvironmentProblem(str(error))
            own_code, row["error"] = problem.exit_code, error_body(problem)
            inbox = [Toned(f"  cannot be read: {error}", BAD)]
        lines += [*([""] if lines else []), Toned(display_path, STRONG), *inbox]
        rows.append(row)
        code = code or own_code
    if not rows:
        raise NotFound(f"no repository with Ralphy's settings below {top}", hint="run `ralphy init` in one of them")
    return call.output.answer("status-under", lines, code, repositories=rows)


def _inbox(call: Invocation, at: str = "") -> tuple[list[str], list[dict[str, Any]], int]:
    """(lines, features, exit code) of the inbox; its commands work from here if the repository is `at` another place.

    A feature that cannot be read does not hide the others: its error is its line, and the exit code.
    """
    values = [standing_or_error(call, location.feature.name) for location in call.features()]
    code = next((value["error"]["code"] for value in values if "error" in value), int(ExitCode.DONE))

    def command(value: Mapping[str, Any]) -> str:
        return f"{command_of(value)} -C {shlex.quote(at)}" if at else command_of(value)

    lines = [*inbox_lines(values, feature_line, command)] or [_NO_FEATURES if not at else "  no features yet"]
    return lines, [{**value, "section": section_of(value), "command": command(value)} for value in values], code


def feature_line(v: Mapping[str, Any]) -> str:
    """A feature in one line."""
    if "error" in v:
        return f"{v['feature']:<24} {v['error']['message']}"
    until = f"; until {local_moment(v['waiting_until'])}" if v.get("waiting_until") else ""
    next_step = v.get("brief") or v["next"]
    return f"{v['feature']:<24} {phase(v):<26} {v['tasks_completed']}/{v['tasks_total']}  {next_step}{until}"
