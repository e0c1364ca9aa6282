"""The board: what the dashboard shows of a feature, as plain values.

It has what `ralphy status`, `report` and `logs` read, without the values of the environment's secrets. Nothing is
written.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ralphy.cli.dashboard.agents import Agents
from ralphy.cli.options import Invocation
from ralphy.cli.output import Output, error_body, without_secrets
from ralphy.cli.report import past_now, report_on
from ralphy.cli.run.clarifying import asked_in_questions
from ralphy.cli.run.live import evidence_of
from ralphy.cli.status.inbox import SECTIONS, command_of, section_of
from ralphy.cli.status.look import standing_or_error
from ralphy.cli.status.moments import minute
from ralphy.documents.questions import key_of
from ralphy.documents.report_text import tables_of
from ralphy.engine.person.at_gate import documents_to_read, gate_digest
from ralphy.engine.view.status import decided
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import RalphyError
from ralphy.pipeline.decide import waiting_gate
from ralphy.pipeline.model import Snapshot
from ralphy.pipeline.steps.step import CODE
from ralphy.pipeline.steps.table import step_of

Board = dict[str, Any]
_INBOX = ("feature", "phase", "tasks_completed", "tasks_total", "next", "waiting_until", "cost_usd")


def again(call: Invocation) -> Invocation:
    """The same call with nothing remembered, which prints nothing."""
    return Invocation(call.directory, Output(quiet=True), call.flags)


class WatchedFeature:
    """The named feature ("": the one that needs a person first), with its agents from one look to the next."""

    def __init__(self, call: Invocation, name: str) -> None:
        self.name = name
        self._call = call
        self._board: Board = {}
        self._agents: Agents | None = None

    def board(self) -> Board:
        """The board as it is now."""
        call = again(self._call)
        self._board = board_of(call, self.name or None)
        name = self._board["feature"]
        if not name or "error" in self._board["status"]:
            self._agents = None
        else:
            if self._agents is None or self._agents.name != name:
                self._agents = Agents(call, name)
            with call.workspace(name) as w:
                self._agents.look(w)
        return self.read_on()

    def read_on(self) -> Board:
        """The last board, with what the agents do now."""
        return {**self._board, "agents": self._agents.read() if self._agents else []}


def board_of(call: Invocation, feature: str | None) -> Board:
    """All features, and the details of the named one, or of the one that needs a person first."""
    values = [standing_or_error(call, location.feature.name) for location in call.features()]
    inbox = [_inbox_row(value) for value in values]
    inbox.sort(key=lambda row: list(SECTIONS).index(row["section"]))
    name = feature or (inbox[0]["feature"] if inbox else "")
    known = next((value for value in values if value["feature"] == name), None)
    if known is None and feature:
        known = standing_or_error(call, feature)
    board: Board = {"schema": "ralphy/dashboard@1", "ok": True, "at": time.time(), "features": inbox,
                    "feature": known["feature"] if known else "", "status": known or {}}  # fmt: skip
    if known and "error" not in known:
        try:
            board |= _detail(call, known["feature"])
        except RalphyError as error:
            board["status"] = {**known, "error": error_body(error)}
    return cleared(board)


def cleared(board: Board) -> Board:
    """The same without the values of the environment's secrets."""
    data = json.dumps(board, ensure_ascii=False).encode("utf-8", "replace")
    clean_board: Board = json.loads(without_secrets(data))
    return clean_board


def _inbox_row(value: Mapping[str, Any]) -> dict[str, Any]:
    row = {field: value.get(field) for field in _INBOX}
    row["next"] = value["error"]["message"] if "error" in value else value["next"]
    section = section_of(value)
    return {**row, "section": section, "title": SECTIONS[section][0], "command": command_of(value)}


def _detail(call: Invocation, name: str) -> Board:
    """What the page shows of one feature besides its status."""
    location, workspace = call.opened(name)
    with workspace as w:
        snapshot, decision, _ = decided(w, location)
        report = report_on(w, snapshot, decision, past_now(w))
        asked, gate = _questions(w, snapshot), gate_of(w, snapshot)
        question_keys = {one["key"] for one in asked}  # with room for an answer
        waits = [
            need for need in report.waits if need.story not in question_keys and not (gate and need.do == report.next)
        ]
        return {
            "waits": [asdict(need) for need in waits],
            "gate": gate,
            "questions": asked,
            "budget": _budget(w, snapshot),
            "report": tables_of(report, minute),
            "jobs": w.config.lanes.jobs,
            "next_command": report.next,
        }  # fmt: skip


def gate_of(w: Workspace, s: Snapshot) -> dict[str, Any] | None:
    """The gate that waits for a person: its documents, and the digest that an approval names."""
    gate = waiting_gate(s, w.config)
    if not gate:
        return None
    step = step_of(gate)
    return {"gate": gate, "document": step.document, "documents": documents_to_read(w, gate),
            "has_changes": CODE in step.inputs, "seen": gate_digest(w, s, gate),
            "notes": [note for note in step.notes(s) if note]}  # fmt: skip


def _questions(w: Workspace, s: Snapshot) -> list[dict[str, str]]:
    """The open questions of QUESTIONS.md, each with the title of what asks."""
    titles = {story.id: story.title for story in s.prd.stories}
    return [
        {"key": key_of(asked), "question": asked.question,
         "title": titles.get(asked.story, "") or f"the {asked.step} step"}
        for asked in asked_in_questions(w)
    ]  # fmt: skip


def _budget(w: Workspace, s: Snapshot) -> dict[str, Any]:
    evidence = evidence_of(w)
    return {"cost_usd": round(s.history.cost_usd, 4), "max_cost_usd": evidence.budget_usd,
            "calls_left": evidence.calls_left, "runs": s.history.iterations,
            "max_runs": w.config.limits.max_iterations}  # fmt: skip
