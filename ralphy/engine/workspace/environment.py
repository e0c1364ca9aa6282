"""The environments that others run in: what an agent may see, and what a check needs."""

from __future__ import annotations

from collections.abc import Mapping

from ralphy.agents.presets import preset_of
from ralphy.engine.workspace.workspace import Workspace
from ralphy.processes.command import REPO_MARKER, RUN_MARKER
from ralphy.processes.program_paths import find
from ralphy.secrets.known_values import is_secret_name

_NO_PUSH = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_SSH_COMMAND": "false",
    "GIT_ASKPASS": "false",
    # no helper gives a password, and every address that is pushed to means nothing
    "GIT_CONFIG_COUNT": "4",
    "GIT_CONFIG_KEY_0": "credential.helper",
    "GIT_CONFIG_VALUE_0": "",
    "GIT_CONFIG_KEY_1": "url.ralphy-pushes-itself://.pushInsteadOf",
    "GIT_CONFIG_VALUE_1": "",
    # git logs tags and replacements too: whose they are can then be told
    "GIT_CONFIG_KEY_2": "core.logAllRefUpdates",
    "GIT_CONFIG_VALUE_2": "always",
    # what signs is out of reach in the sandbox, and would ask a person elsewhere
    "GIT_CONFIG_KEY_3": "commit.gpgSign",
    "GIT_CONFIG_VALUE_3": "false",
}
_CREDENTIALS = ("GIT_TERMINAL_PROMPT", "GIT_SSH_COMMAND", "GIT_ASKPASS")
SETUP = "setup"
_BENDING = (
    "MAKEFLAGS",
    "MFLAGS",
    "MAKELEVEL",
    "MAKEOVERRIDES",
    "PYTHONSTARTUP",
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
    "NODE_OPTIONS",
)


def agent_environment(w: Workspace, run: str, more: Mapping[str, str]) -> dict[str, str]:
    """An allow-list of the user's environment, the run's marker, and no way to push."""
    own = preset_of(w.config.agent.preset).variables
    inherited = {k: v for k, v in w.env.items() if own.is_passed(k, w.config.agent.env)}
    return {**inherited, **_NO_PUSH, **own.fixed, **_markers(w, run), **more}


def check_environment(w: Workspace, run: str) -> dict[str, str]:
    """The user's environment without what is named like a secret (but for `agent.env`) and without what bends runners.

    An agent writes what runs there: it must not find there what is kept from the agent.
    """
    named = w.config.agent.env
    inherited = {k: v for k, v in w.env.items() if k not in _BENDING and (k in named or not is_secret_name(k))}
    return {
        **inherited,
        "PYTHONNOUSERSITE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        **_unable_to_push(w, inherited, run),
        **_markers(w, run),
    }


def _unable_to_push(w: Workspace, env: Mapping[str, str], run: str) -> dict[str, str]:
    """No credentials, and no way to the addresses of this repository's remotes: tests may push to others, of their own.

    `setup` keeps the credentials: it may fetch private dependencies.
    """
    settings = [("core.logAllRefUpdates", "always"), ("commit.gpgSign", "false")]
    settings += [(f"url.ralphy-pushes-itself://{at}.pushInsteadOf", url)
                 for at, url in enumerate(w.checkout.push_addresses)]  # fmt: skip
    locked = {} if run == SETUP else {name: _NO_PUSH[name] for name in _CREDENTIALS}
    settings += [] if run == SETUP else [("credential.helper", "")]
    count = env.get("GIT_CONFIG_COUNT", "")
    first = int(count) if count.isdecimal() else 0
    pairs = {f"GIT_CONFIG_{kind}_{first + at}": value for at, row in enumerate(settings)
             for kind, value in zip(("KEY", "VALUE"), row, strict=True)}  # fmt: skip
    return {**locked, **pairs, "GIT_CONFIG_COUNT": str(first + len(settings))}


def agent_command(w: Workspace) -> tuple[str, ...]:
    """The agent's command line; a program that is only named is not looked for in the checkout first."""
    name, *words = w.config.agent.command
    return ("/" not in name and find(name, w.env, str(w.repository.root))) or name, *words


def _markers(w: Workspace, run: str) -> dict[str, str]:
    return {RUN_MARKER: run, REPO_MARKER: w.repository.token}
