"""The real Claude Code CLI for tests: where it is, why it may be missing, and a private world for it."""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ralphy.agents.claude.versions import TESTED

# Read when tests are collected: every test itself starts without any RALPHY_* variable.
_NAMED = os.environ.get("RALPHY_TEST_CLAUDE", "")
_CACHE = Path(__file__).resolve().parents[2] / ".cache"

TOOLS = "Bash,Read,Edit,Write,Glob,Grep"
# The flags that every agent run of Ralphy has, but for its session and its system prompt.
FRAME = (
    "-p",
    "--output-format",
    "stream-json",
    "--verbose",
    "--dangerously-skip-permissions",
    "--model",
    "sonnet",
    "--include-partial-messages",
    "--tools",
    TOOLS,
    "--setting-sources",
    "user",
    "--strict-mcp-config",
)
# What the CLI needs before it prints anything at all.
PLAIN = FRAME[:7]


@dataclass(frozen=True, slots=True)
class Run:
    """How a run ended. `lines` are the objects of the stream."""

    returncode: int
    lines: tuple[Mapping[str, Any], ...]
    stderr: str

    def of(self, kind: str, subtype: str = "") -> list[Mapping[str, Any]]:
        return [line for line in self.lines if line["type"] == kind and subtype in ("", line.get("subtype"))]

    @property
    def result(self) -> Mapping[str, Any]:
        """The last result line: a run may have several."""
        return self.of("result")[-1]


@dataclass(frozen=True, slots=True)
class Expected:
    """What differs between the tested versions and is no business of Ralphy's.

    `lean_share` is the most that the first request of a run may take of what it takes by default, `more_tools` are
    sent beside those that were asked for, `memory` begins the part of the prompt on the CLI's own memory, and
    `budget_usd` is more than one scripted answer of the double costs and less than two. Newer versions count what a
    rule denied to Write, and listen for messages of other sessions.
    """

    sonnet: str
    lean_share: float
    more_tools: frozenset[str]
    memory: str
    budget_usd: float
    rules_count_for_write: bool
    listens_for_sessions: bool


EXPECTED = {
    "2.1.197": Expected(
        sonnet="claude-sonnet-5",
        lean_share=1 / 3,
        more_tools=frozenset(),
        memory="# auto memory",
        budget_usd=0.015,
        rules_count_for_write=False,
        listens_for_sessions=False,
    ),
    "2.1.330": Expected(
        sonnet="claude-sonnet-5-5",
        lean_share=0.35,
        more_tools=frozenset({"DeferredToolPlaceholder"}),
        memory="# Memory",
        budget_usd=0.01,
        rules_count_for_write=True,
        listens_for_sessions=True,
    ),
}
EXPECTED["2.1.332"] = EXPECTED["2.1.330"]


def program() -> Path:
    """The CLI that RALPHY_TEST_CLAUDE names (a path, or a version below .cache/), else the newest tested one there."""
    if os.sep in _NAMED:
        return Path(_NAMED)
    folders = [f"claude-{version}" for version in ((_NAMED,) if _NAMED else reversed(TESTED))]
    found = [_CACHE / name / "node_modules" / ".bin" / "claude" for name in (*folders, "claude")]
    return next((path for path in found if path.exists()), found[0])


@cache
def version() -> str:
    """What the CLI calls itself: `2.1.330`."""
    said = subprocess.run([program(), "--version"], capture_output=True, encoding="utf-8", check=True).stdout
    return said.split()[0]


def expected() -> Expected:
    """The row of this version; of a version that was never tested, that of the newest."""
    return EXPECTED.get(version(), EXPECTED[TESTED[-1]])


def why_missing() -> str | None:
    """Why no test can drive the CLI, in words for a skip; None when it is there."""
    if os.access(program(), os.X_OK):
        return None
    return f"the Claude Code CLI is not there: {program()} is no program (make tools installs it)"


real_claude = [
    pytest.mark.real_claude,
    pytest.mark.skipif(why_missing() is not None, reason=str(why_missing())),
]


def environment(home: Path, url: str) -> dict[str, str]:
    """All that the CLI is given: a private home, a fake key, and the loopback API at `url`."""
    return {
        "HOME": str(home),
        "PATH": f"{program().parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "LANG": "C.UTF-8",
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "sk-test",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",  # without it the CLI refuses to skip permissions as root
    }


def with_subscription(env: Mapping[str, str]) -> dict[str, str]:
    """The same as somebody who is logged in to a subscription: limits are reported only then."""
    kept = {name: value for name, value in env.items() if name != "ANTHROPIC_API_KEY"}
    return {**kept, "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-test"}


def start(flags: Sequence[str], prompt: str, *, cwd: Path, env: Mapping[str, str]) -> subprocess.Popen[str]:
    """Start the CLI and give it the prompt through its stdin."""
    process = subprocess.Popen(
        [str(program()), *flags],
        cwd=cwd,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    assert process.stdin is not None
    process.stdin.write(prompt)
    process.stdin.close()
    process.stdin = None
    return process


def finish(process: subprocess.Popen[str], *, timeout_s: float = 60.0) -> Run:
    """Wait for the end and read the stream; the CLI is killed when it is late."""
    with process:
        try:
            out, err = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return Run(process.returncode, tuple(json.loads(line) for line in out.splitlines()), err)


def run(flags: Sequence[str], prompt: str, *, cwd: Path, env: Mapping[str, str]) -> Run:
    return finish(start(flags, prompt, cwd=cwd, env=env))


def frame(folder: Path, *, session: str = "") -> list[str]:
    """Ralphy's flags with a session of their own and a system prompt file made in `folder`."""
    system = folder / "system-prompt.md"
    system.write_text("You work for Ralphy, one story at a time.\n", encoding="utf-8")
    session = session or str(uuid.uuid4())
    return [*FRAME, "--session-id", session, "--append-system-prompt-file", str(system)]
