"""Quick answers: `--help` and `status` from what is kept, before the command line itself is loaded.

Loading click takes longer than the answer. Whatever is not plainly one of these goes on to `ralphy.cli.main`,
whose own `status` uses the same functions. Nothing is imported here that costs more than a millisecond or two.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import sys
import time

from ralphy.cli.commands import help_text
from ralphy.cli.terminal import OF_STATUS, clean, painted, utf8, wants_colour
from ralphy.files.git_places import find_root
from ralphy.files.safe_open import read_safely
from ralphy.processes import program_paths
from ralphy.state import status_cache
from ralphy.text.tone import Toned, tone_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# What decide looks at beside the files that a view names: the branches, and an operation that is not finished.
_BRANCHES = ("packed-refs", "refs/heads/main", "refs/heads/master")
_ACCEPTED = ("ralphy", "trusted.json")  # settings that a person has accepted (`ralphy.config.trust`)
_OPERATIONS = ("rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG")
_PATIENCE_MS = 2000
_FILTER = re.compile(r"^\s*(?:(?:clean|smudge|process)\s*=\s*(?!git-lfs\b)|\[include)", re.M | re.I)
_MARKS = {"completed": "✓", "failed": "✗", "blocked": "-", "in_progress": "…", "pending": "·"}


def answer(words: list[str]) -> int | None:
    """The exit code if this was answered; None if the command line has to be loaded."""
    if words in (["--help"], ["-h"]):
        sys.stdout.write(f"{help_text()}\n")
        return 0
    wanted = _status_words(words)
    if wanted is None:
        return None
    value = now(*wanted)
    if value is None:
        return None
    text = utf8(json.dumps(value, ensure_ascii=False)) if "--json" in words else "\n".join(_lines(value))
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _lines(value: dict[str, Any]) -> list[str]:
    lines = status_lines(value)
    if not wants_colour(sys.stdout, "auto", os.environ):
        return list(map(clean, lines))
    return [painted(clean(line), tone_of(line)) for line in lines]


def _status_words(words: list[str]) -> tuple[str, str | None] | None:
    """(folder, feature or None) of a plain `status [FEATURE] [--json]`; None for anything else."""
    if os.environ.get("RALPHY_WORKSPACE"):
        return None
    rest = [word for word in words if word != "--json"]
    if rest[:1] != ["status"] or len(rest) > 2 or len(words) - len(rest) > 1 or any(w.startswith("-") for w in rest):
        return None
    try:
        return os.getcwd(), rest[1] if len(rest) == 2 else None
    except FileNotFoundError:  # the folder is gone, which the command line says
        return None


def now(where: str, feature: str | None) -> dict[str, Any] | None:
    """The kept view, if it is still true; what is worked on at this moment comes before what would come next."""
    value = kept_view(where, feature)
    return with_work(value) if value else None


def with_work(value: dict[str, Any]) -> dict[str, Any]:
    """A view with what is worked on in the place of what comes next, and its stories as `in_progress`."""
    working = value.pop("working_on", "")
    if windows := value.get("usage_windows"):
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        value = {**value, "usage_windows": [row for row in windows if (row["resets_at"] or at) >= at]}
    if ahead := value.get("forecast"):
        ends_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + ahead["seconds"]))
        value = {**value, "forecast": {**ahead, "ends_at": ends_at}}
    if not working or not value["running"]:
        return {**value, "in_work": []}
    now = value.get("in_work", ())
    rows = [{**row, "status": "in_progress"} if row["id"] in now else row for row in value["stories"]]
    told = {"status": "running", "next": working, "brief": working}
    return {**value, **told, "stories": rows, "circuit_breaker": _with_warning(value)}


def _with_warning(value: dict[str, Any]) -> Any:
    """The circuit breaker: the watchdog's warning to the run that is going on makes a closed one half open."""
    breaker, warned = value["circuit_breaker"], value.get("watchdog")
    if not warned or breaker["state"] != "CLOSED":
        return breaker
    return {**breaker, "state": "HALF_OPEN", "last_trigger": warned["trigger"]}


def kept_view(where: str, feature: str | None) -> dict[str, Any] | None:
    """The view of an earlier look, if everything is as it was then."""
    place = _place(where, feature)
    value = status_cache.load(place) if place else None
    if not value or not place or (value.pop("is_only", False) is False and feature is None):
        return None
    if value.pop("surroundings", None) != surroundings(place, value["branch"], value.get("base", "")):
        return None
    until, open_span = value["waiting_until"], value.pop("breaker_open", None)
    is_over = until is not None and until <= time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    if is_over or (open_span and not open_span[0] <= time.time() < open_span[1]):
        return None
    rest_pid, running = value.pop("rest_pid", 0), running_in(place)
    if rest_pid and rest_pid != (running or {}).get("pid"):
        return None  # who waits is gone
    return {**value, "running": running}


def surroundings(place: status_cache.Place, branch: str, base: str) -> list[Any]:
    """What else a view is true of: changed files, branches, unfinished operations, configuration outside."""
    status = _git_status(place.root)
    git_dir, common = place.git_dir, place.common_dir
    changed = [os.path.join(place.root, row[3:]) for row in os.fsdecode(status).split("\0")[:1000]]
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    paths = [
        place.root,
        *(os.path.join(*at) for at in ((home, "ralphy", "config.yaml"), (state, *_ACCEPTED))),
        *changed,
    ]
    refs = (f"refs/heads/{branch}", f"refs/heads/{base}", f"refs/remotes/origin/{base}")
    paths += [os.path.join(common, name) for name in (*_BRANCHES, *refs)]
    paths.append(os.path.dirname(os.path.join(common, refs[0])))  # a branch that came or went may be a feature
    paths += [os.path.join(git_dir, name) for name in _OPERATIONS]
    paths.append(os.path.join(os.path.dirname(_lock(place)), f"intent-{place.name}.json"))
    settings = sorted([name, value] for name, value in os.environ.items() if name.startswith("RALPHY_"))
    return [status.decode("utf-8", "replace"), settings, [status_cache.stamp(path) for path in paths]]


def _git_status(root: str) -> bytes:
    """What git says of changed files, by the shortest way: a pipe and a process, and none of Ralphy's own git verbs."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or "CONFIG" in name}
    root = os.path.abspath(root)
    if _has_filters(root):
        return os.urandom(16)  # git would run them: then nothing is kept, and the slower way knows which are safe
    git = program_paths.find(program_paths.GIT, env, root)
    if git is None:
        return b""
    env = program_paths.own_environment(env, root)
    argv = [git, "-C", root, "-c", "core.fsmonitor=false", "--no-optional-locks", "status", "--porcelain=v1", "-z",
            "--untracked-files=all", "--no-renames", "--ignore-submodules=all"]  # fmt: skip
    reader, writer = os.pipe()
    silent = (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)
    try:
        pid = os.posix_spawn(git, argv, env, file_actions=[(os.POSIX_SPAWN_DUP2, writer, 1), silent])
    except FileNotFoundError:
        pid = 0
    finally:
        os.close(writer)
    with open(reader, "rb") as pipe:
        out = _read_in_time(pipe.fileno())
    if out is None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return os.urandom(8)  # matches no view, so the view is computed
    return out + b"%d" % (os.waitpid(pid, 0)[1] if pid else -1)


def _read_in_time(fd: int) -> bytes | None:
    """What a process prints; None if it is silent for too long: git waits for ever where a FIFO is its `.gitignore`."""
    out, ready = b"", select.poll()
    ready.register(fd, select.POLLIN)
    while ready.poll(_PATIENCE_MS):
        piece = os.read(fd, 1 << 16)
        if not piece:
            return out
        out += piece
    return None


def _has_filters(root: str) -> bool:
    """Does a configuration name filters, but for git-lfs, or further files?"""
    home = os.path.expanduser("~")
    xdg = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    files = [os.path.join(root, ".git", "config"), os.path.join(home, ".gitconfig"), os.path.join(xdg, "git", "config"),
             os.environ.get("GIT_CONFIG_GLOBAL", "")]  # fmt: skip
    there = filter(os.path.isfile, files)
    return any(_FILTER.search(read_safely(path).decode("utf-8", "replace")) for path in there)


def _place(where: str, feature: str | None) -> status_cache.Place | None:
    """The feature folder by its name or path, as long as the default layout leads to just one."""
    found = find_root(where)
    if found is None:
        return None
    root, git_dir = found
    base = os.path.join(root, os.environ.get("RALPHY_PROJECT_FEATURES_DIR", "docs/features"))
    if feature is None:
        folders = [entry.path for entry in os.scandir(base) if entry.is_dir()] if os.path.isdir(base) else []
        folder = folders[0] if len(folders) == 1 else ""
    else:
        folder = os.path.join(base, feature)
        folder = folder if os.path.isdir(folder) else os.path.join(where, feature)
    if not folder or not os.path.isdir(folder):
        return None
    path = os.path.relpath(os.path.realpath(folder), os.path.realpath(root))
    return None if path.startswith("..") else status_cache.Place(root, git_dir, path)


def running_in(place: status_cache.Place) -> dict[str, Any] | None:
    """Who works in this checkout now."""
    lock = _lock(place)
    if not os.path.exists(lock) or not os.path.getsize(lock):
        return None
    from pathlib import Path

    from ralphy.git.run_lock import holder

    return holder(Path(lock)) or None


def _lock(place: status_cache.Place) -> str:
    name = "main" if place.git_dir == place.common_dir else f"worktree-{os.path.basename(place.git_dir)}"
    return os.path.join(place.common_dir, "ralphy", "checkouts", name, "lock")


def status_lines(v: dict[str, Any]) -> list[str]:
    """The same for people, a line or more each."""
    lines = [f"{v['feature']}: {phase(v)}, {v['tasks_completed']} of {v['tasks_total']} stories completed"]
    if v.get("running"):
        lines.append(f"  running: pid {v['running'].get('pid')} ({v['running'].get('purpose')})")
    lines.append(f"  next:    {v['next']}")
    if v.get("waiting_until"):
        lines.append(f"  until:   {shown(v['waiting_until'])}")
    unknown = f" (runs of unknown cost: {v['unknown_cost_runs']})" if v.get("unknown_cost_runs") else ""
    lines.append(f"  branch:  {v['branch']}   runs: {v['runs']}   cost: ${v['cost_usd']:.2f}{unknown}")
    if ahead := v.get("forecast"):
        minutes = max(1, round(ahead["seconds"] / 60))
        stories = "1 story" if ahead["stories_left"] == 1 else f"{ahead['stories_left']} stories"
        lines.append(f"  ahead:   {stories} left, about {minutes} min and ${ahead['cost_usd']:.2f} at the current rate")
    if (ran := v.get("check_runs")) and ran["stories"]:
        stories = "1 verified story" if ran["stories"] == 1 else f"{ran['stories']} verified stories"
        more = (("of old tests", ran["old_tests"]), ("without the story's code", ran.get("red_first", 0)))
        old = "".join(f", {times} {what}" for what, times in more if times)
        lines.append(f"  checks:  {ran['full']} full {'run' if ran['full'] == 1 else 'runs'}{old} for {stories}")
    if windows := [_window(row) for row in v.get("usage_windows") or ()]:
        lines.append(f"  usage:   {', '.join(windows)}")
    breaker, warned = v.get("circuit_breaker") or {}, v.get("watchdog")
    if warned and v.get("status") == "running":
        lines.append(f"  watchdog: HALF_OPEN, warning {warned['number']}/{warned['most']}: {warned['seen']}")
    elif breaker.get("state", "CLOSED") != "CLOSED":
        why = f" ({breaker['last_trigger']})" if breaker.get("last_trigger") else ""
        lines.append(f"  circuit breaker: {breaker['state']}{why}, {breaker['attempts']} agent runs without success")
    if v.get("pull_request"):
        lines.append(f"  pull request: {v['pull_request']}")
    if v.get("current"):
        lines.append(f"  documents: {v['current']}")
    lines += [f"  read first: {line}" for line in v.get("steering") or ()]
    if v.get("unverified"):
        lines.append(f"  unverified: {v['unverified']} of {v['tasks_completed']} completed stories (no checks ran)")
    if flagged := [row for row in v["stories"] if row.get("warnings")]:
        lines.append(f"  flagged: {v['warnings']} in the evidence: ralphy story show {flagged[0]['id']}")
    lines += [story_line(row) for row in v["stories"]]
    return lines


def _window(row: dict[str, Any]) -> str:
    used = "nearly all" if row["used"] is None else f"{row['used']:.0%}"
    until = f" until {shown(row['resets_at'])}" if row["resets_at"] else ""
    return f"{used} of {row['kind']}{until}"


def phase(v: Mapping[str, Any]) -> str:
    """The phase as people read it."""
    return "CLOSED" if v.get("life") == "merged" else str(v["phase"])


def shown(iso: str) -> str:
    """A moment of a view as people read it: local, with how far away it is."""
    from ralphy.cli.status.moments import moment, seconds_of

    return moment(seconds_of(iso), time.time())


def story_line(row: dict[str, Any]) -> Toned:
    """A story's row for people."""
    tries = f", {row['attempts']} attempts" if row["attempts"] > 1 else ""
    after = f", after {', '.join(row['depends_on'])}" if row["status"] == "blocked" and row.get("depends_on") else ""
    flags = f", {row['warnings']} flagged" if row.get("warnings") else ""
    doubt = ", unverified" if row.get("verified") is False else ""
    parts = row.get("parts") or {"proved": 0, "of": 0, "left": 0}
    untested = parts["of"] - parts["proved"] - parts["left"]
    doubt += f", {untested} of {parts['of']} changes untested" if untested else ""
    error = f"\n      {' '.join(row['last_error'].split())[:160]}" if row.get("last_error") else ""
    said = f"{row['status']}{doubt}{tries}{after}{flags}"
    text = f"  {_MARKS.get(row['status'], '?')} {row['id']} {row['title']} ({said}){error}"
    return Toned(text, OF_STATUS.get(row["status"], ""))
