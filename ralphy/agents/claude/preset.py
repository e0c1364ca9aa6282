"""Claude Code as a kind of agent: its models, its variables, its guard, and what reads its output."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ralphy.agents.claude.variables import VARIABLES
from ralphy.agents.preset import Conditions, Guard, Preset
from ralphy.agents.protocol import Agent, Log


def _agent(command: tuple[str, ...], at: Conditions) -> Agent:
    from ralphy.agents.claude.cli import Claude

    return Claude(command, at.supervisor, startup_s=at.startup_s, thresholds=at.thresholds, allowed=at.allowed,
                  sandbox=at.sandbox, should_stop=at.should_stop)  # fmt: skip


def _log() -> Log:
    from ralphy.agents.claude.stream import Transcript

    return Transcript()


def _write_settings(folder: Path, name: str, policy: dict[str, Any]) -> Path:
    from ralphy.agents.claude.guard_settings import write_settings

    return write_settings(folder, name, policy)


CLAUDE = Preset(
    command=("claude",),
    make=_agent,
    log=_log,
    models=re.compile(r"(sonnet|opus|haiku|claude-[a-z0-9.\-]{1,60}(\[1m\])?)"),
    variables=VARIABLES,
    guard=Guard(_write_settings, Path(__file__).with_name("guard.py"), ".claude/settings.json"),
    keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
    login="claude setup-token, then: export CLAUDE_CODE_OAUTH_TOKEN=…",
    asks_login=("auth", "status"),
    address="ANTHROPIC_BASE_URL",
    hosts=("api.anthropic.com:443",),
    memory="CLAUDE.md",
    install="npm install -g @anthropic-ai/claude-code",
)
