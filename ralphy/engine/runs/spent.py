"""What a run cost that Ralphy did not live to see the end of: its kept stream says so, or nobody knows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ralphy.agents.presets import preset_of
from ralphy.agents.protocol import AgentResult
from ralphy.engine.workspace.workspace import Workspace
from ralphy.files.atomic import read_regular
from ralphy.pipeline.history import Entry
from ralphy.text.json_coerce import text_of

_MOST = 80 << 20


def with_known_cost(w: Workspace, run: Entry, result: AgentResult) -> AgentResult:
    """The result with the cost and tokens that the stream tells of; unknown if the agent had worked already."""
    log = preset_of(run.get("agent")).log()
    for line in _stream(w.feature.private / "runs", text_of(run.get("run"))).splitlines():
        log.read(line)
    return replace(result, cost_usd=log.cost_usd, tokens=log.tokens, cost_known=log.knows_its_cost)


def _stream(runs: Path, run: str) -> bytes:
    folder = next(runs.glob(f"{run}*"), None) if run else None
    return (read_regular(folder / "stream.ndjson", _MOST) or b"") if folder else b""
