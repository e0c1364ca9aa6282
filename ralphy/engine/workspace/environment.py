"""The environments of agents, which see little, and of checks, which need more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ralphy.agents.presets import preset_of
from ralphy.engine.workspace.workspace import Workspace
from ralphy.processes.command import REPO_MARKER, RUN_MARKER
from ralphy.processes.program_paths import find
from ralphy.secrets.known_values import is_secret_name

_NO_CREDENTIALS = {"GIT_TERMINAL_PROMPT": "0", "GIT_SSH_COMMAND": "false", "GIT_ASKPASS": "false"}
_NO_HELPER = ("credential.helper", "")
_GIT_SETTINGS = (
    ("core.logAllRefUpdates", "always"),  # of tags and replacements too: whose they are can then be told
    ("commit.gpgSign", "false"),  # what signs is out of reach in the sandbox, and would ask a person elsewhere
)
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


def agent_environment(w: Workspace, run: str) -> dict[str, str]:
    """An allow-list of the user's environment, the run's marker, and no way to push."""
    variables = preset_of(w.config.agent.preset).variables
    inherited = {k: v for k, v in w.env.items() if variables.is_passed(k, w.config.agent.env)}
    settings = _git_settings([*_GIT_SETTINGS, _NO_HELPER, _no_push_to("")])  # to no address at all
    return {**inherited, **_NO_CREDENTIALS, **settings, **variables.fixed, **_markers(w, run)}


def check_environment(w: Workspace, run: str) -> dict[str, str]:
    """The user's environment without names of secrets (but `agent.env`) and without variables that bend runners.

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
    settings = [*_GIT_SETTINGS, *(_no_push_to(url, at) for at, url in enumerate(w.checkout.push_addresses))]
    count = env.get("GIT_CONFIG_COUNT", "")
    first = int(count) if count.isdecimal() else 0
    if run == SETUP:
        return _git_settings(settings, first)
    return {**_NO_CREDENTIALS, **_git_settings([*settings, _NO_HELPER], first)}


def _no_push_to(address: str, number: int = 0) -> tuple[str, str]:
    """The setting by which every address that begins so is replaced, for a push, by one that means nothing."""
    return f"url.ralphy-pushes-itself://{number}.pushInsteadOf", address


def _git_settings(settings: Sequence[tuple[str, str]], first: int = 0) -> dict[str, str]:
    """The variables by which Git takes these settings, behind the `first` ones that the environment has."""
    pairs = {f"GIT_CONFIG_{kind}_{number}": word for number, row in enumerate(settings, first)
             for kind, word in zip(("KEY", "VALUE"), row, strict=True)}  # fmt: skip
    return {**pairs, "GIT_CONFIG_COUNT": str(first + len(settings))}


def agent_command(w: Workspace) -> tuple[str, ...]:
    """The agent's command line; a program that is only named is not looked for in the checkout first."""
    name, *words = w.config.agent.command
    return ("/" not in name and find(name, w.env, str(w.repository.root))) or name, *words


def _markers(w: Workspace, run: str) -> dict[str, str]:
    return {RUN_MARKER: run, REPO_MARKER: w.repository.token}
