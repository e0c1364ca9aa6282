"""What a run cost that Ralphy did not live to see the end of: its kept stream says so, or nobody knows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ralphy.agents.claude.stream import Transcript, parse
from ralphy.agents.protocol import AgentResult
from ralphy.engine.workspace.workspace import Workspace
from ralphy.files.atomic import read_regular

_MOST = 80 << 20


def with_known_cost(w: Workspace, run: str, result: AgentResult) -> AgentResult:
    """The result with the cost and tokens of the stream's last result line; unknown if the agent had worked already."""
    transcript = Transcript()
    for line in _stream(w.feature.private / "runs", run).splitlines():
        if b'"result"' in line or b'"assistant"' in line:
            event = parse(line)
            transcript.feed(event, 0.0) if event else None
    return replace(result, cost_usd=transcript.cost_usd, tokens=transcript.tokens, cost_known=transcript.knows_its_cost)


def _stream(runs: Path, run: str) -> bytes:
    folder = next(runs.glob(f"{run}*"), None) if run else None
    return (read_regular(folder / "stream.ndjson", _MOST) or b"") if folder else b""
