"""A full disk: Ralphy waits with everything intact, and resumes when there is space."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ralphy.config.values import STRICT
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import DiskFull, EnvironmentProblem, ExitCode, RalphyError
from ralphy.files.disk_space import free_bytes, is_disk_full
from ralphy.git.commands import GitError
from ralphy.lanes.lanes_folder import lanes_folder
from ralphy.pipeline.decision import Decision, Rest, RunAgent, Wait
from ralphy.pipeline.preconditions import wait_for_disk_space

# A run that fills the disk each time is started so often at most.
_MOST_CUTS = 5


def places(w: Workspace) -> tuple[Path, ...]:
    """Where Ralphy and its agents write, the lanes too: in strict, an agent has a home of its own."""
    home = w.env.get("HOME", "") if w.config.safety.level != STRICT else ""
    paths = [w.repository.root, w.repository.common_dir, *([Path(home)] if home else [])]
    with suppress(RalphyError):  # an error about lanes is raised when one is needed
        lanes = lanes_folder(w.repository, w.config.lanes, w.env)
        paths += [next(place for place in (lanes, *lanes.parents) if place.exists())]
    return tuple(dict.fromkeys(paths))


def require_disk_space(w: Workspace) -> None:
    """DiskFull if nothing can be written any more."""
    if is_disk_full(places(w)):
        raise DiskFull("the disk is full", where=str(w.repository.root), hint="free some space")


def record_shortage(w: Workspace, decision: Decision) -> None:
    """Remember since when the disk is full: from a wait for room to any other rest or the start of an agent."""
    is_short = isinstance(decision, Wait) and decision.exit_code == ExitCode.ENVIRONMENT
    w.session = replace(w.session, short_since=(w.session.short_since or w.clock()) if is_short else 0.0)


def wait_instead(w: Workspace, decision: Decision | None, error: BaseException) -> Rest | None:
    """The rest in place of an error that a full disk has caused; None if it was something else, or too often.

    Without a decision, nothing was done that could have been cut short.
    """
    if not isinstance(error, (OSError, EnvironmentProblem, GitError)):
        return None
    if not isinstance(error, DiskFull) and not is_disk_full(places(w)):
        return None
    cuts = w.session.times_cut + isinstance(decision, RunAgent | Rest)
    rest = wait_for_disk_space(w.session, w.clock(), "the disk is full")
    if cuts > _MOST_CUTS or not isinstance(rest, Wait):
        return None
    is_known = bool(w.session.short_since)
    record_shortage(w, rest)
    if decision:
        w.session = replace(w.session, times_cut=cuts, cut_short=f"the disk was full: {error}"[:300])
    if not is_known:
        at = "" if getattr(error, "where", "") else f"{free_bytes(places(w))[1]}: "
        w.say(f"{at}{error}: will resume when disk space is available")
    return rest
