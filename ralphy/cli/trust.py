"""trust: accept settings that came with a repository."""

from __future__ import annotations

import os

import click

from ralphy.cli.options import Invocation, with_options


@click.command("trust")
@with_options
def trust(call: Invocation) -> int:
    """Accept the settings in .ralphy/config.yaml that came with the repository.

    Ralphy ignores settings that somebody else committed and that weaken your protection (safety, gates, verify,
    agent.command, agent.env, setup), and starts no agent, until you accept them here. Read the file first. A changed
    setting must be accepted again.
    """
    from ralphy.config.load import load
    from ralphy.config.trust import accept

    root = call.repository().root
    found = load(root, None, env=os.environ)
    accept(root, found.loosening, os.environ)
    accepted = list(found.untrusted.values())
    lines = [f"accepted {said}" for said in accepted] or ["no settings to accept"]
    return call.output.answer("trust", "\n".join(lines), accepted=sorted(found.untrusted))
