"""What stands around agents and checks in their lanes, and a look at what lies outside of them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ralphy.agents.presets import preset_of
from ralphy.config.load import user_file
from ralphy.config.trust import record_path
from ralphy.engine.feature.edits_in_a_run import note_edits, set_edits_aside
from ralphy.engine.lane_use.open_lanes import lanes_of
from ralphy.engine.lane_use.strict import view_of
from ralphy.engine.workspace.safety_level import MINIMAL, SETTINGS, STRICT, control_names, expanded
from ralphy.engine.workspace.set_aside import set_markers_aside
from ralphy.files.read import signature
from ralphy.files.tree_walk import children, walk
from ralphy.files.user_folders import config_folder
from ralphy.git.commands import refs_of
from ralphy.lanes.bring import scratch
from ralphy.lanes.lane_sandbox import Bind
from ralphy.sandbox.bubblewrap import Sandbox
from ralphy.sandbox.machine import AgentFolder, Machine, is_temporary
from ralphy.text.tone import WAITING

if TYPE_CHECKING:
    from ralphy.engine.workspace.workspace import Workspace
    from ralphy.lanes.lane import Lane


def sandbox_of(w: Workspace, lane: Lane, whose: str, outbox: Path | None = None) -> Sandbox | None:
    """What stands around `checks` or an `agent`, which may write its `outbox`, in a lane; None without bubblewrap."""
    if w.config.safety.level == STRICT:
        networked = whose == "agent" or w.config.safety.checks_network
        box = lanes_of(w).sandbox(view_of(w, run_settings(w, lane), networked=networked))
    else:
        pool = lanes_of(w)
        box = pool.sandbox(machine=_machine(w, pool.caches, whose))
    binds = [*_binds(w, lane, whose), *([Bind(outbox, outbox, is_writable=True)] if outbox else [])]
    return box.around(lane.home, binds=binds) if box else None


def _machine(w: Workspace, caches: Path, whose: str) -> Machine:
    """What the open sandbox shows of the machine; the agent's own folder with the login and the lane's sessions is an
    agent's alone."""
    safety, folder = w.config.safety, preset_of(w.config.agent.preset).folder
    if folder is None:
        own = None
    elif whose == "agent":
        sessions = folder.sessions(str(w.repository.root))
        with suppress(OSError):
            (folder.path(w.env) / sessions).mkdir(mode=0o700, parents=True, exist_ok=True)
        own = AgentFolder(folder.path(w.env), folder.state, (folder.login, sessions))
    else:
        own = AgentFolder(folder.path(w.env), folder.state)
    readable = (*expanded(w, safety.ro_paths), *_programs(w))
    return Machine(w.env, caches, own, readable, expanded(w, safety.writable))


def _programs(w: Workspace) -> Iterator[Path]:
    """The programs of commands that lie below /tmp, where the sandbox has its own folder, with what lies beside."""
    checks = (word for check in w.checks for word in shlex.split(check.run))
    for word in (*w.config.agent.command, *checks):
        if is_temporary(program := Path(word)) and program.is_file():
            yield program.parent if is_temporary(program.parent) else program


def login_file(w: Workspace) -> Path | None:
    """The agent's login that is shown in the open sandbox; None where it has none in a file."""
    folder = preset_of(w.config.agent.preset).folder
    return folder.path(w.env) / folder.login if folder and w.config.safety.level != STRICT else None


def _binds(w: Workspace, lane: Lane, whose: str) -> list[Bind]:
    """The settings of runs; for what Ralphy runs itself, the person's hooks, and dependencies: the checkout's, or the
    lane's own, where `setup` installs them."""
    settings, hooks = w.repository.checkout_dir / SETTINGS, w.repository.common_dir / "hooks"
    found = [Bind(settings, settings)] if whose == "agent" and settings.is_dir() else []
    if whose == "checks":
        source = lane.tree if w.config.setup else w.repository.root
        bound = [(source / name, lane.at / name) for name in lane.dependencies if _is_folder(source / name)]
        found += [Bind(source, at) for source, at in bound]
        found += [Bind(at, at, is_scratch=True) for at in scratch(bound)]
    return [*found, Bind(hooks, lane.at / ".git" / "hooks")] if lane.is_clean and hooks.is_dir() else found


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def run_settings(w: Workspace, lane: Lane) -> str:
    """The file of the settings that a lane's agent runs with, readable in there; "" where there are none."""
    settings = preset_of(w.config.agent.preset).settings
    if w.config.safety.level == MINIMAL or settings is None:
        return ""
    # Without a sandbox the checkout can be reached at its own path. The outbox lies in the folder of the feature.
    kept = [at for top in dict.fromkeys((lane.at, w.repository.root)) for at in (
        top / ".git", top / ".ralphy", *(top / w.feature.path / name for name in control_names())
    )]  # fmt: skip
    return str(settings.write(w.repository.checkout_dir / SETTINGS, f"{w.feature.name}-{lane.name}", kept))


@dataclass(slots=True)
class Outside:
    """Refs, configuration, hooks and documents before a run in a lane. Without a sandbox an agent can walk out of its
    lane: what changed meanwhile is said and flagged. Markers and edits of the feature's documents are set aside; the
    rest is not put back, for a person may have done it."""

    is_closed: bool
    before: Mapping[str, object] = field(default_factory=dict)
    edits: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def take(cls, w: Workspace, lane: Lane) -> Outside:
        return cls(True) if lane.is_mounted else cls(False, _seen(w), note_edits(w))

    def judged(self, w: Workspace) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(markers and documents that were set aside, what else changed outside of the lane during the run)."""
        if self.is_closed:
            return (), ()
        aside, now = set_markers_aside(w), _seen(w)
        seen = {**self.before, **{ref: to for ref, to in w.checkout.refs.moved.items() if now.get(ref) == to}}
        changed = sorted(name for name in {*seen, *now} if seen.get(name) != now.get(name))
        if aside:
            w.say(f"{', '.join(aside)}: made while an agent ran without a sandbox; set aside", WAITING)
        aside += set_edits_aside(w, self.edits)
        if changed:
            names = ", ".join(changed[:5])
            w.say(f"{names}: changed during the run, by you or, without a sandbox, by the agent", WAITING)
            w.record("stands", durable=False, by="agent", what=changed)
        return tuple(aside), tuple(changed)


def _seen(w: Workspace) -> dict[str, object]:
    common = w.repository.common_dir
    refs: dict[str, object] = {**refs_of(w.repository)}
    files = [common / "config", common / "info" / "exclude", common / "info" / "attributes", *_hooks(common)]
    own = {f".git/{path.relative_to(common)}": signature(path) for path in files}
    return {**refs, **own, **_other_features(w), **{str(path): signature(path) for path in _settings(w)}}


def _other_features(w: Workspace) -> dict[str, object]:
    """The documents and markers of the checkout's other features: an agent may have approved one."""
    top = w.repository.root / w.config.project.features_dir
    own = os.path.relpath(w.feature.folder, top)
    private = (f"{found.name}/.ralphy" for found in children(w.repository.root, top))
    return {
        f"{w.config.project.features_dir}/{found.path}": (found.stat.st_ino, found.stat.st_size, found.stat.st_ctime_ns)
        for found in walk(top, frozenset((own, *private)))
        if not found.is_folder
    }


def _settings(w: Workspace) -> list[Path]:
    """The person's settings of Git and of Ralphy, and what is noted of those that were accepted."""
    config = config_folder(w.env)
    of_git = config / "git" / "config" if config else None
    files = (Path(w.env.get("HOME", "/"), ".gitconfig"), of_git, user_file(w.env), record_path(w.env))
    return [file for file in files if file]


def _hooks(common: Path) -> list[Path]:
    folder = common / "hooks"
    return [path for path in folder.iterdir() if path.suffix != ".sample"] if folder.is_dir() else []
