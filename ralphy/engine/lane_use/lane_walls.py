"""The sandbox around agents and checks in their lanes, and what changes outside of a lane during a run."""

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
from ralphy.config.values import MINIMAL, STRICT
from ralphy.engine.feature.edits_in_a_run import note_edits, set_edits_aside
from ralphy.engine.lane_use.open_lanes import lanes_of
from ralphy.engine.lane_use.strict import view_of
from ralphy.engine.workspace.safety_level import SETTINGS, control_names, expanded
from ralphy.engine.workspace.set_aside import set_markers_aside
from ralphy.files.read import signature
from ralphy.files.tree_walk import children, walk
from ralphy.files.user_folders import config_folder
from ralphy.git.commands import refs_of
from ralphy.lanes.bring import scratch
from ralphy.lanes.lane_sandbox import Bind
from ralphy.sandbox.bubblewrap import Sandbox
from ralphy.sandbox.machine import AgentFolder, Machine, is_temporary
from ralphy.text.first_few import first_few
from ralphy.text.tone import WAITING

if TYPE_CHECKING:
    from ralphy.engine.workspace.workspace import Workspace
    from ralphy.lanes.lane import Lane


def sandbox_of(w: Workspace, lane: Lane, whose: str, outbox: Path | None = None) -> Sandbox | None:
    """The sandbox around `checks` or an `agent` in a lane, which may write its `outbox`; None without bubblewrap."""
    if w.config.safety.level == STRICT:
        networked = whose == "agent" or w.config.safety.checks_network
        box = lanes_of(w).sandbox(view_of(w, run_settings(w, lane), networked=networked))
    else:
        pool = lanes_of(w)
        box = pool.sandbox(machine=_machine(w, pool.caches, whose))
    binds = [*_binds(w, lane, whose), *([Bind(outbox, outbox, is_writable=True)] if outbox else [])]
    return box.around(lane.home, binds=binds) if box else None


def _machine(w: Workspace, caches: Path, whose: str) -> Machine:
    """What the open sandbox shows of the machine. Only an agent sees the login and the lane's sessions in its own
    folder."""
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
    """Programs of commands below /tmp, where the sandbox has a folder of its own, with the files beside them."""
    checks = (word for check in w.checks for word in shlex.split(check.run))
    for word in (*w.config.agent.command, *checks):
        if is_temporary(program := Path(word)) and program.is_file():
            yield program.parent if is_temporary(program.parent) else program


def login_file(w: Workspace) -> Path | None:
    """The agent's login file that the open sandbox shows; None if the agent keeps it in no file."""
    folder = preset_of(w.config.agent.preset).folder
    return folder.path(w.env) / folder.login if folder and w.config.safety.level != STRICT else None


def _binds(w: Workspace, lane: Lane, whose: str) -> list[Bind]:
    """For agents the settings of runs; for checks and the hook the dependencies, of the checkout or, with `setup`, of
    the lane; in the clean lane the person's hooks."""
    settings, hooks = w.repository.checkout_dir / SETTINGS, w.repository.common_dir / "hooks"
    binds = [Bind(settings, settings)] if whose == "agent" and settings.is_dir() else []
    if whose == "checks" or (lane.is_clean and not w.config.setup):
        source = lane.tree if w.config.setup else w.repository.root
        bound = [(source / name, lane.at / name) for name in lane.dependencies if _is_folder(source / name)]
        binds += [Bind(source, at) for source, at in bound]
        binds += [Bind(at, at, is_scratch=True) for at in scratch(bound)]
    return [*binds, Bind(hooks, lane.at / ".git" / "hooks")] if lane.is_clean and hooks.is_dir() else binds


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def run_settings(w: Workspace, lane: Lane) -> str:
    """The settings file that a lane's agent runs with, readable in its sandbox; "" for none."""
    write_settings = preset_of(w.config.agent.preset).write_settings
    if w.config.safety.level == MINIMAL or write_settings is None:
        return ""
    # Without a sandbox the checkout can be reached at its own path. The outbox lies in the folder of the feature.
    denied = [at for top in dict.fromkeys((lane.at, w.repository.root)) for at in (
        top / ".git", top / ".ralphy", *(top / w.feature.path / name for name in control_names())
    )]  # fmt: skip
    return str(write_settings(w.repository.checkout_dir / SETTINGS, f"{w.feature.name}-{lane.name}", denied))


@dataclass(slots=True)
class Outside:
    """Refs, configuration, hooks and documents before a run in a lane. Without a sandbox an agent can leave its lane:
    what changed during the run is reported and flagged. Markers and edits of the feature's documents are set aside; the
    rest stays as it is, for a person may have changed it."""

    is_closed: bool
    before: Mapping[str, object] = field(default_factory=dict)
    edits: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def before_run(cls, w: Workspace, lane: Lane) -> Outside:
        return cls(True) if lane.is_mounted else cls(False, _state(w), note_edits(w))

    def after_run(self, w: Workspace) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(markers and documents that were set aside, what else changed outside of the lane during the run)."""
        if self.is_closed:
            return (), ()
        aside, now = set_markers_aside(w), _state(w)
        before = {**self.before, **{ref: to for ref, to in w.checkout.refs.moved.items() if now.get(ref) == to}}
        changed = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
        if aside:
            w.say(f"{', '.join(aside)}: made while an agent ran without a sandbox; set aside", WAITING)
        aside += set_edits_aside(w, self.edits)
        if changed:
            names = first_few(changed, 5)
            w.say(f"{names}: changed during the run, by you or, without a sandbox, by the agent", WAITING)
            w.record("stands", durable=False, by="agent", what=changed)
        return tuple(aside), tuple(changed)


def _state(w: Workspace) -> dict[str, object]:
    common = w.repository.common_dir
    refs: dict[str, object] = {**refs_of(w.repository)}
    files = [common / "config", common / "info" / "exclude", common / "info" / "attributes", *_hooks(common)]
    own = {f".git/{path.relative_to(common)}": signature(path) for path in files}
    return {**refs, **own, **_other_features(w), **{str(path): signature(path) for path in _settings(w)}}


def _other_features(w: Workspace) -> dict[str, object]:
    """The documents and markers of the checkout's other features: an agent may have approved one."""
    top = w.repository.root / w.config.project.features_dir
    own = os.path.relpath(w.feature.folder, top)
    private = (f"{entry.name}/.ralphy" for entry in children(w.repository.root, top))
    return {
        f"{w.config.project.features_dir}/{entry.path}": (entry.stat.st_ino, entry.stat.st_size, entry.stat.st_ctime_ns)
        for entry in walk(top, frozenset((own, *private)))
        if not entry.is_folder
    }


def _settings(w: Workspace) -> list[Path]:
    """The person's settings of Git and of Ralphy, and the record of the settings that they trust."""
    config = config_folder(w.env)
    of_git = config / "git" / "config" if config else None
    files = (Path(w.env.get("HOME", "/"), ".gitconfig"), of_git, user_file(w.env), record_path(w.env))
    return [file for file in files if file]


def _hooks(common: Path) -> list[Path]:
    folder = common / "hooks"
    return [path for path in folder.iterdir() if path.suffix != ".sample"] if folder.is_dir() else []
