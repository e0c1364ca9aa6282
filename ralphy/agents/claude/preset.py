"""Claude Code as a kind of agent: its models, variables, settings and folder, and the reader of its output."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ralphy.agents.claude.run_settings import write_settings
from ralphy.agents.claude.variables import VARIABLES
from ralphy.agents.preset import OwnFolder, Preset
from ralphy.agents.protocol import Agent, Log

if TYPE_CHECKING:
    from ralphy.agents.program import Conditions


def _agent(command: tuple[str, ...], at: Conditions) -> Agent:
    from ralphy.agents.claude.cli import Claude

    return Claude(command, at)


def _log() -> Log:
    from ralphy.agents.claude.stream import Transcript

    return Transcript()


def _sessions(cwd: str) -> str:
    """The folder of a working folder's sessions. For a long path its name has a hash, so those are not shared."""
    return f"projects/{re.sub('[^a-zA-Z0-9]', '-', cwd)}"


FOLDER = OwnFolder(
    ".claude",
    "CLAUDE_CONFIG_DIR",
    # The person's next session sources a snapshot of the shell, and reads the rest of an old session.
    state=frozenset((
        "projects", "sessions", "session-env", "shell-snapshots", "todos", "tasks", "teams", "plans", "jobs", "ide",
        "file-history", "paste-cache", "history.jsonl", "debug", "statsig", "telemetry", "backups", "cache", "uploads",
        "downloads", "usage-data", "stats-cache.json", ".credentials.json", ".oauth_refresh.lock",
    )),
    login=".credentials.json",
    sessions=_sessions,
)  # fmt: skip


CLAUDE = Preset(
    command=("claude",),
    make=_agent,
    log=_log,
    models=re.compile(r"(sonnet|opus|haiku|claude-[a-z0-9.\-]{1,60}(\[1m\])?)"),
    variables=VARIABLES,
    write_settings=write_settings,
    settings_at=".claude/settings.json",
    folder=FOLDER,
    keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
    login="claude setup-token, then: export CLAUDE_CODE_OAUTH_TOKEN=…",
    asks_login=("auth", "status"),
    address="ANTHROPIC_BASE_URL",
    hosts=("api.anthropic.com:443",),
    memory="CLAUDE.md",
    install="npm install -g @anthropic-ai/claude-code",
)
