"""trust: accept what a person did not make: settings that came with a repository, a feature that appeared in a run."""

from __future__ import annotations

import os

import click

from ralphy.cli.options import Invocation, feature_argument, with_options
from ralphy.errors import ExitCode


@click.command("trust")
@feature_argument
@with_options
def trust(call: Invocation, feature: str | None) -> int:
    """Accept the settings in .ralphy/config.yaml that came with the repository, or a FEATURE.

    Ralphy ignores settings that somebody else committed and that loosen what guards you (safety, gates, verify,
    agent.command, agent.env, setup), and starts no agent, until you accept them here. Read the file first. A setting
    that changes later has to be accepted again.

    With FEATURE, accept a feature that appeared while an agent or a check was running outside of a sandbox.
    """
    return _settings(call) if feature is None else _feature(call, feature)


def _feature(call: Invocation, name: str) -> int:
    from ralphy.state.held_features import release

    repository = call.repository()
    found = call.feature(repository, name)
    was_held = release(repository.state_dir, found.name)
    said = f"accepted {found.path}" if was_held else f"{found.path} does not wait to be accepted"
    call.output.data(said, {"schema": "ralphy/trust@1", "ok": True, "accepted": [found.path] if was_held else []})
    return ExitCode.DONE


def _settings(call: Invocation) -> int:
    from ralphy.config.load import load
    from ralphy.config.trust import accept

    root = call.repository().root
    found = load(root, None, env=os.environ)
    accept(root, found.loosening, os.environ)
    accepted = list(found.untrusted.values())
    lines = [f"accepted {said}" for said in accepted] or ["no settings wait to be accepted"]
    value = {"schema": "ralphy/trust@1", "ok": True, "accepted": sorted(found.untrusted)}
    call.output.data("\n".join(lines), value)
    return ExitCode.DONE
