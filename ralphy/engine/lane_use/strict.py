"""The level `strict`: a closed sandbox, and everything that it requires, checked before the first agent."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from ralphy.agents.preset import Preset
from ralphy.agents.presets import preset_of
from ralphy.engine.workspace.environment import agent_command
from ralphy.engine.workspace.safety_level import expanded
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import EnvironmentProblem
from ralphy.lanes.pool import SYSTEM
from ralphy.processes.program_paths import OUTSIDE, UNSET, installed_in, python_path_in
from ralphy.sandbox.bubblewrap import FORWARD, View, find, interpreter, program_at, why_not
from ralphy.sandbox.proxy import AllowProxy, Host, host_of


def missing(lacking: Sequence[tuple[str, str]]) -> EnvironmentProblem:
    what = "; ".join(what for what, _ in lacking)
    return EnvironmentProblem(f"safety.level strict is not possible: {what}", hint="; ".join(fix for _, fix in lacking))


def require_closed(w: Workspace) -> str:
    """Where bubblewrap is. EnvironmentProblem names everything that a closed sandbox lacks."""
    program = find(w.env, w.repository.root)
    why, fix = why_not(program)
    if program is None:
        raise missing([(why, fix), *_no_key(w), *_switched_off(w)])
    lacking = [*_switched_off(w), *_no_key(w), *_own_place(w)]
    lacking += [(why, fix)] if why else [*_out_of_sight(w)]
    if lacking:
        raise missing(lacking)
    return program


def view_of(w: Workspace, settings: str = "", *, networked: bool) -> View:
    """What a closed sandbox around a lane shows; `settings` is the agent's settings file, "" for none."""
    safety = w.config.safety
    own = [Path(sys.base_prefix), Path(interpreter()).parent, FORWARD.parent]
    readable = [*own, *expanded(w, safety.ro_paths)]
    links = []
    if program := _agent_program(w):
        real = program.resolve()
        readable.append(_installation(real))
        if program != real and not any(program.is_relative_to(folder) for folder in (*readable, w.repository.root)):
            links.append((program, real))
    proxy = _proxy(w).folder if networked else None
    visible = [path for path in readable if not any(path.is_relative_to(system) for system in SYSTEM)]
    links = [link for link in links if not any(link[0].is_relative_to(system) for system in SYSTEM)]
    agent_settings = (Path(settings), _preset(w).settings_at) if settings else None
    return View(tuple(dict.fromkeys(visible)), expanded(w, safety.writable), tuple(links), agent_settings, proxy)


def _preset(w: Workspace) -> Preset:
    return preset_of(w.config.agent.preset)


def _agent_program(w: Workspace) -> Path | None:
    return program_at(agent_command(w)[0], w.repository.root, w.env)


def _installation(real: Path) -> Path:
    """The folder that a program needs: for an npm package the packages beside it, else the program itself."""
    modules = [folder for folder in real.parents if folder.name == "node_modules"]
    return modules[-1] if modules else real


def _proxy(w: Workspace) -> AllowProxy:
    """The one way out, shared by all features of a checkout; it ends with the checkout."""
    hosts = frozenset(_hosts(w))
    if hosts not in w.checkout.proxies:
        w.checkout.proxies[hosts] = AllowProxy(hosts, w.repository.token)
    return w.checkout.proxies[hosts]


def _hosts(w: Workspace) -> Iterator[Host]:
    yield from (host_of(name) for name in w.config.safety.network)
    name = _preset(w).address
    try:
        base = urlsplit(w.env.get(name, ""))
        port = base.port or (80 if base.scheme == "http" else 443)
    except ValueError as error:  # it is not shown: a password may stand in it
        raise EnvironmentProblem(f"{name} is not an address with host and port") from error
    if base.hostname:
        yield base.hostname, port


def _switched_off(w: Workspace) -> Iterator[tuple[str, str]]:
    if w.config.safety.sandbox == "none":
        yield "safety.sandbox is none", "set safety.sandbox: auto"


def _own_place(w: Workspace) -> Iterator[tuple[str, str]]:
    """A Ralphy that agents can edit would run their code outside of the sandbox at its next start."""
    for place in installed_in(str(w.repository.root))[:1]:
        yield f"Ralphy itself runs from {place}, which agents can change", OUTSIDE
    for place in python_path_in(str(w.repository.root), w.env)[:1]:
        yield f"PYTHONPATH leads to {place}, which agents can change", UNSET


def _no_key(w: Workspace) -> Iterator[tuple[str, str]]:
    """The person's login stays outside: an agent that could read it could use it elsewhere."""
    own = _preset(w)
    is_own = Path(w.config.agent.command[0]).name == own.command[0]
    if is_own and own.keys and not any(w.env.get(name) for name in own.keys):
        yield "the agent has no key of its own", own.login


def _out_of_sight(w: Workspace) -> Iterator[tuple[str, str]]:
    """Programs of the checks that the sandbox does not show."""
    visible = (*SYSTEM, w.repository.root, Path(sys.base_prefix),
             *expanded(w, w.config.safety.ro_paths), *expanded(w, w.config.safety.writable))  # fmt: skip
    for check in w.checks:
        program = program_at(shlex.split(check.run)[0], w.repository.root, w.env)
        if program and not any(program.is_relative_to(folder) for folder in visible):
            yield f"the check {check.name} needs {program}", f"safety.ro_paths: [{program.parent.parent}]"
