"""The stream-json writer: one JSON object a line on stdout, shaped like those of the real CLI."""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import suppress
from typing import Any

from ralphy.rehearsal import shapes

STDOUT = 1
INTERRUPTED = "[Request interrupted by user for tool use]"
REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file "
    "edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to "
    "tell you how to proceed."
)


class Stream:
    """What one run prints. `form` is the --output-format; `calls` counts the tool calls so far.

    Whoever holds `lock` is alone on stdout: an interrupt waits for it, so that no line is torn.
    """

    def __init__(self, session: str, model: str, form: str = "stream-json", full: bool = True) -> None:
        self.session = session
        self.model = model
        self.calls = 0
        self.tokens: dict[str, int] = {}
        self.cost_usd = 0.0
        self.is_closed = False
        self.lock = threading.RLock()
        self._form = form
        self._full = full
        self._kept: list[shapes.Line] = []
        self._open_call = ""
        self._message = ("", "")
        self._began = time.monotonic()

    def init(self, cwd: str, mode: str, tools: list[str]) -> None:
        """Print the line a run begins with."""
        source = "ANTHROPIC_API_KEY" if os.environ.get("ANTHROPIC_API_KEY") else "none"
        self.put(shapes.init(self.session, cwd, self.model, mode, tools, source))

    def say(self, text: str) -> None:
        """Print a block of the model's text."""
        self._answer({"type": "text", "text": text})

    def think(self, text: str) -> None:
        """Print a block of the model's thinking, announced as the real CLI does."""
        size = max(1, len(text) // 4)
        estimate = {"estimated_tokens": size, "estimated_tokens_delta": size}
        self.put({"type": "system", "subtype": "thinking_tokens", **estimate, **self._signature()})
        self._answer({"type": "thinking", "thinking": text, "signature": "c2ln"})

    def call(self, tool: str, arguments: dict[str, Any]) -> str:
        """Print a call of `tool` and return its id; it is open until `reply` or `refuse`."""
        with self.lock:
            self._open_call = shapes.new_id("toolu_")
            self.calls += 1
            self._answer({"type": "tool_use", "id": self._open_call, "name": tool, "input": arguments})
            return self._open_call

    def reply(self, call: str, content: str, detail: dict[str, Any]) -> None:
        """Print the result of a tool call that went well."""
        block = {"tool_use_id": call, "type": "tool_result", "content": content}
        if "stdout" in detail:  # of the tools, only Bash says so
            block["is_error"] = False  # type: ignore[assignment]
        self._end_call(block, detail)

    def refuse(self, call: str, content: str, detail: str = "") -> None:
        """Print the result of a tool call that failed."""
        block = {"type": "tool_result", "content": content, "is_error": True, "tool_use_id": call}
        self._end_call(block, detail or f"Error: {content}")

    def event(self, kind: str, **members: Any) -> None:
        """Print a line of another type: `system/status`, `rate_limit_event`, …"""
        head, _, subtype = kind.partition("/")
        named = {"type": head, "subtype": subtype} if subtype else {"type": head}
        self.put({**named, **members, **self._signature()})

    def fail(self, text: str, error: str, request: str) -> None:
        """Print the line that stands in the model's place when a request failed."""
        self.put(shapes.synthetic(self.session, text, error, request))

    def interrupt(self) -> None:
        """Print what SIGINT leaves: the open tool call refused, and the request said to be interrupted."""
        if self._open_call:
            self.refuse(self._open_call, REJECTED, "User rejected tool use")
        self.put(shapes.user(self.session, {"type": "text", "text": INTERRUPTED}))

    def succeed(self, text: str) -> None:
        """Print the result of a finished run."""
        took = self._took_ms()
        times = {"ttft_ms": took, "ttft_stream_ms": took, "time_to_request_ms": took}
        self._close({**self._head(False, None, times), "result": text, **self._tail("end_turn", "completed")})

    def give_up(self, text: str, status: int | None, reason: str) -> None:
        """Print the result of a run that an API error ended: subtype success, but is_error."""
        self._close({**self._head(True, status, {}), "result": text, **self._tail("stop_sequence", reason)})

    def abort(self, subtype: str, errors: list[str], reason: str, extra_turns: int = 1) -> None:
        """Print the result of a run that was cut off: no result text, but errors."""
        took = self._took_ms()
        times = {"duration_ms": took, "duration_api_ms": took // 2}
        head = {"type": "result", "subtype": subtype, **times, "is_error": True}
        turns = {"num_turns": self.calls + extra_turns}
        self._close({**head, **turns, **self._tail("tool_use", reason), "errors": errors})

    def put(self, line: shapes.Line) -> None:
        """Print one line, or keep it where the output format wants the lines at the end."""
        if self._form != "stream-json":
            self._kept.append(line)
            return
        self.put_bytes(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")

    def put_bytes(self, data: bytes) -> None:
        """Write to stdout just as given. A reader that has gone away stops nothing, as with the real CLI."""
        view = memoryview(data)
        with self.lock, suppress(BrokenPipeError):
            while view:
                view = view[os.write(STDOUT, view) :]

    def _answer(self, block: shapes.Line) -> None:
        """Print a block of the model's answer; what comes after a tool's result is a new answer."""
        if not self._message[0]:
            self._message = (shapes.new_id("msg_"), shapes.new_id("req_"))
        started = shapes.input_usage(self.tokens)
        self.put(shapes.assistant(self.session, self.model, *self._message, block, started))

    def _end_call(self, block: shapes.Line, detail: dict[str, Any] | str) -> None:
        with self.lock:
            self._open_call = ""
            self._message = ("", "")
            self.put({**shapes.user(self.session, block), "tool_use_result": detail})

    def _signature(self) -> shapes.Line:
        return {"uuid": shapes.new_uuid(), "session_id": self.session}

    def _took_ms(self) -> int:
        return int((time.monotonic() - self._began) * 1000)

    def _head(self, is_error: bool, status: int | None, times: dict[str, int]) -> shapes.Line:
        took = self._took_ms()
        head = {"type": "result", "subtype": "success", "is_error": is_error, "api_error_status": status}
        spent = {"duration_ms": took, "duration_api_ms": took // 2 if self.calls or times else 0}
        return {**head, **spent, **times, "num_turns": self.calls + 1}

    def _tail(self, stop: str, reason: str) -> shapes.Line:
        models = shapes.model_usage(self.model, self.tokens, self.cost_usd) if self.tokens else {}
        return {
            "stop_reason": stop,
            "session_id": self.session,
            "total_cost_usd": self.cost_usd,
            "usage": shapes.usage(self.tokens),
            "modelUsage": models,
            "permission_denials": [],
            **({"terminal_reason": reason} if reason else {}),
            "fast_mode_state": "off",
            "uuid": shapes.new_uuid(),
        }

    def _close(self, result: shapes.Line) -> None:
        """Print the result line in whichever output format was asked for."""
        with self.lock:
            self.is_closed = True
            if self._form == "text":
                text = result.get("result") or "; ".join(result.get("errors", ()))
                self.put_bytes(f"{text}\n".encode())
                return
            self.put(result)
            if self._form == "json":
                whole = self._kept if self._full else result
                self.put_bytes(json.dumps(whole, ensure_ascii=False).encode() + b"\n")
