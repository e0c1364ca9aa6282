"""why and status: what comes next and where things stand; nothing is touched."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from ralphy.cli.options import Invocation, feature_argument, with_options
from ralphy.core.errors import ExitCode, NotFound

if TYPE_CHECKING:
    from ralphy.adapters.status_view import Place
    from ralphy.engine.workspace import Workspace

_WELCOME = """\
Ralphy takes a PRD.md to a pull request: one verified commit per user story.

  ralphy demo                      see all of it on a toy repository, in a minute, for nothing
  ralphy init                      set the git repository that you are in up for it
  ralphy start "what you want"     begin a feature with a sentence
  ralphy --help                    everything else"""
# What decide looks at beside the files that a view names: the branches, and an operation that is not finished.
_BRANCHES = ("packed-refs", "refs/heads/main", "refs/heads/master", "ralphy/setup.json")
_OPERATIONS = ("rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG")
_MARKS = {"completed": "✓", "failed": "✗", "blocked": "-", "in_progress": "…", "pending": "·"}


@click.command("why")
@feature_argument
@with_options
def why(call: Invocation, feature: str | None) -> int:
    """Say the next decision and its reason in one sentence; nothing is touched."""
    with call.workspace(feature) as workspace:
        return explain(call, workspace)


def explain(call: Invocation, workspace: Workspace) -> int:
    """The decision that a run would begin with."""
    from ralphy.core.decide import decide
    from ralphy.engine.observe import observe
    from ralphy.engine.view import phase_of

    snapshot = observe(workspace)
    decision = decide(snapshot, workspace.config)
    kind, reason = type(decision).__name__, decision.reason
    working = _working_on(workspace)
    if working and snapshot.unfinished:
        kind, reason = "RunAgent", f"{working}; a Ralphy is at work: pid {_holder(workspace).get('pid')}"
    value = {
        "schema": "ralphy/why@1",
        "ok": True,
        "feature": snapshot.feature,
        "phase": phase_of(decision, snapshot),
        "decision": kind,
        "reason": reason,
        "rests": decision.rests,
    }
    call.output.data(f"{kind}: {reason}", value)
    return ExitCode.DONE


def _working_on(workspace: Workspace) -> str:
    """What the Ralphy that holds this checkout does for this feature now; "" if none does."""
    run = workspace.history.open_run
    if run is None or not _holder(workspace):
        return ""
    return f"{run.get('story') or run.get('step')} is worked on, attempt {run.get('attempt')}"


def _holder(workspace: Workspace) -> dict[str, object]:
    from ralphy.adapters.lock import holder

    return holder(workspace.repository.checkout_dir / "lock")


@click.command("")
@with_options
def bare(call: Invocation) -> int:
    """All features, or how to begin."""
    if not sys.stdout.isatty():
        context = click.get_current_context()
        if not call.output.as_json and context.parent:
            sys.stderr.write(f"{context.parent.get_help()}\n\n")
        raise click.UsageError("no command was given")
    try:
        if _features(call):
            return _status_all(call)
    except NotFound:
        pass  # not in a repository
    steps = ["ralphy demo", "ralphy init", "ralphy start", "ralphy --help"]
    call.output.data(_WELCOME, {"schema": "ralphy/welcome@1", "ok": True, "next": steps})
    return ExitCode.DONE


@click.command("status")
@feature_argument
@click.option("--all", "every", is_flag=True, help="All features of the repository.")
@with_options
def status(call: Invocation, feature: str | None, every: bool) -> int:
    """Show where a feature stands: phase, stories, cost, and what comes next."""
    if every:
        return _status_all(call)
    value = _now(call, feature)
    call.output.data(_text(value), value)
    return ExitCode.DONE


def _now(call: Invocation, feature: str | None) -> dict[str, Any]:
    """Where the feature stands; what is worked on at this moment comes before what would come next."""
    value = _kept(call, feature) or _worked_out(call, feature)
    working = value.pop("working_on")
    return {**value, "next": working} if working and value["running"] else value


def _features(call: Invocation) -> list[str]:
    from ralphy.adapters.feature import listed

    repository = call.repository()
    return [f.name for f in listed(repository.root, call.settings(repository).config.project.features_dir)]


def _status_all(call: Invocation) -> int:
    values = [_now(call, name) for name in _features(call)]
    text = "\n".join(_line(value) for value in values) or "no features"
    call.output.data(text, {"schema": "ralphy/status-all@1", "ok": True, "features": values})
    return ExitCode.DONE


def _line(v: dict[str, Any]) -> str:
    return f"{v['feature']:<24} {v['phase']:<26} {v['tasks_completed']}/{v['tasks_total']}  {v['next']}"


def _kept(call: Invocation, feature: str | None) -> dict[str, Any] | None:
    """The view of an earlier look, if everything is as it was then."""
    from ralphy.adapters import status_view

    place = _place(call, feature)
    value = status_view.load(place) if place else None
    if not value or not place or value.pop("surroundings", None) != _surroundings(place, value["branch"]):
        return None
    until = value["waiting_until"]
    is_over = until is not None and until <= time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return None if is_over else {**value, "running": _running(place)}


def _surroundings(place: Place, branch: str) -> list[Any]:
    """What else a view is true of: changed files, branches, unfinished operations, configuration outside."""
    from pathlib import Path

    from ralphy.adapters.git import GitError, Repository, environment

    git_dir, common = place.git_dir, place.common_dir
    here = Repository(Path(place.root), Path(git_dir), Path(common), "", environment(os.environ))
    try:
        status = here.run("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames")
    except GitError as error:
        status = str(error).encode()
    changed = [os.path.join(place.root, row[3:]) for row in os.fsdecode(status).split("\0")[:1000]]
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    paths = [place.root, os.path.join(home, "ralphy", "config.yaml"), *changed]
    paths += [os.path.join(common, name) for name in (*_BRANCHES, f"refs/heads/{branch}")]
    paths += [os.path.join(git_dir, name) for name in _OPERATIONS]
    paths.append(os.path.join(os.path.dirname(_lock(place)), f"intent-{place.name}.json"))
    settings = sorted([name, value] for name, value in os.environ.items() if name.startswith("RALPHY_"))
    return [status.decode("utf-8", "replace"), settings, [_stamp(path) for path in paths]]


def _stamp(path: str) -> list[int]:
    try:
        found = os.lstat(path)
    except OSError:
        return []
    return [found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def _place(call: Invocation, feature: str | None) -> Place | None:
    """The feature folder by its name or path, as long as the default layout leads to just one."""
    from ralphy.adapters.status_view import Place, find_root

    found = find_root(str(call.directory))
    if found is None:
        return None
    root, git_dir = found
    base = os.path.join(root, os.environ.get("RALPHY_PROJECT_FEATURES_DIR", "docs/features"))
    if feature is None:
        folders = [entry.path for entry in os.scandir(base) if entry.is_dir()] if os.path.isdir(base) else []
        folder = folders[0] if len(folders) == 1 else ""
    else:
        folder = os.path.join(base, feature)
        folder = folder if os.path.isdir(folder) else os.path.join(str(call.directory), feature)
    if not folder or not os.path.isdir(folder):
        return None
    path = os.path.relpath(os.path.realpath(folder), os.path.realpath(root))
    return None if path.startswith("..") else Place(root, git_dir, path)


def _running(place: Place) -> dict[str, Any] | None:
    """Who works in this checkout now."""
    lock = _lock(place)
    if not os.path.exists(lock) or not os.path.getsize(lock):
        return None
    from pathlib import Path

    from ralphy.adapters.lock import holder

    return holder(Path(lock)) or None


def _lock(place: Place) -> str:
    name = "main" if place.git_dir == place.common_dir else f"worktree-{os.path.basename(place.git_dir)}"
    return os.path.join(place.common_dir, "ralphy", "checkouts", name, "lock")


def _worked_out(call: Invocation, feature: str | None) -> dict[str, Any]:
    """Look at everything, and keep the view for the next time."""
    from ralphy.adapters import status_view
    from ralphy.engine.status import status_of

    with call.workspace(feature) as w:
        place = status_view.Place(str(w.repository.root), str(w.repository.git_dir), w.feature.path)
        branch = str(w.store.load().raw.get("branchName") or w.feature_branch)
        seen, surroundings = place.seen(), _surroundings(place, branch)
        value = {**status_of(w), "working_on": _working_on(w)}
        status_view.save(place, {**value, "surroundings": surroundings}, seen)
    return {**value, "running": _running(place)}


def _text(v: dict[str, Any]) -> str:
    """The same for people."""
    lines = [f"{v['feature']}: {v['phase']}, {v['tasks_completed']} of {v['tasks_total']} stories completed"]
    if v.get("running"):
        lines.append(f"  running: pid {v['running'].get('pid')} ({v['running'].get('purpose')})")
    lines.append(f"  next:    {v['next']}")
    lines.append(f"  branch:  {v['branch']}   runs: {v['runs']}   cost: ${v['cost_usd']:.2f}")
    if v.get("pull_request"):
        lines.append(f"  pull request: {v['pull_request']}")
    lines += [story_line(row) for row in v["stories"]]
    return "\n".join(lines)


def story_line(row: dict[str, Any]) -> str:
    """A story's row for people."""
    tries = f", {row['attempts']} attempts" if row["attempts"] > 1 else ""
    after = f", after {', '.join(row['depends_on'])}" if row["status"] == "blocked" and row.get("depends_on") else ""
    error = f"\n      {' '.join(row['last_error'].split())[:160]}" if row.get("last_error") else ""
    return f"  {_MARKS.get(row['status'], '?')} {row['id']} {row['title']} ({row['status']}{tries}{after}){error}"
