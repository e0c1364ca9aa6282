"""The stream-json writer: one JSON object a line, with the keys of the real CLI's lines in the same order."""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import suppress
from typing import Any

VERSION = "2.1.197"
TOOLS = ("Task", "Bash", "Edit", "Glob", "Grep", "NotebookEdit", "Read", "WebFetch", "WebSearch", "Write")
STDOUT = 1
INTERRUPTED = "[Request interrupted by user for tool use]"
REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file "
    "edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to "
    "tell you how to proceed."
)

Line = dict[str, Any]


class Stream:
    """What one run prints. `form` is the --output-format; `calls` counts the tool calls so far.

    The holder of `lock` is alone on stdout: an interrupt waits for it, so that no line is torn.
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
        self._kept: list[Line] = []
        self._open_call = ""
        self._message = ("", "")
        self._began = time.monotonic()

    def init(self, cwd: str, mode: str, tools: list[str]) -> None:
        """Print the line a run begins with."""
        memory = "".join(sign if sign.isalnum() else "-" for sign in cwd)
        config = os.environ.get("CLAUDE_CONFIG_DIR") or os.environ.get("HOME", "") + "/.claude"
        self.put({
            "type": "system", "subtype": "init", "cwd": cwd, "session_id": self.session, "tools": tools or list(TOOLS),
            "mcp_servers": [], "model": self.model, "permissionMode": mode,
            "slash_commands": ["clear", "compact", "context", "init", "review"],
            "apiKeySource": "ANTHROPIC_API_KEY" if os.environ.get("ANTHROPIC_API_KEY") else "none",
            "claude_code_version": VERSION, "output_style": "default",
            "agents": ["claude", "Explore", "general-purpose", "Plan"], "skills": [], "plugins": [],
            "analytics_disabled": True, "product_feedback_disabled": True, "uuid": new_uuid(),
            "memory_paths": {"auto": f"{config}/projects/{memory}/memory/"}, "fast_mode_state": "off",
        })  # fmt: skip

    def say(self, text: str) -> None:
        """Print a block of the model's text."""
        self._answer({"type": "text", "text": text})

    def think(self, text: str) -> None:
        """Print a block of the model's thinking, announced as the real CLI does."""
        size = max(1, len(text) // 4)
        self.event("system/thinking_tokens", estimated_tokens=size, estimated_tokens_delta=size)
        self._answer({"type": "thinking", "thinking": text, "signature": "c2ln"})

    def call(self, tool: str, arguments: dict[str, Any]) -> str:
        """Print a call of `tool` and return its id; it is open until `reply` or `refuse`."""
        with self.lock:
            self._open_call = new_id("toolu_")
            self.calls += 1
            self._answer({"type": "tool_use", "id": self._open_call, "name": tool, "input": arguments})
            return self._open_call

    def reply(self, call: str, content: str, detail: dict[str, Any]) -> None:
        """Print the result of a tool call that went well."""
        block: Line = {"tool_use_id": call, "type": "tool_result", "content": content}
        if "stdout" in detail:  # of the tools, only Bash says so
            block["is_error"] = False
        self._end_call(block, detail)

    def refuse(self, call: str, content: str, detail: str = "") -> None:
        """Print the result of a tool call that failed."""
        block = {"type": "tool_result", "content": content, "is_error": True, "tool_use_id": call}
        self._end_call(block, detail or f"Error: {content}")

    def event(self, kind: str, **members: Any) -> None:
        """Print a line of another type: `system/status`, `rate_limit_event`, …"""
        head, _, subtype = kind.partition("/")
        named = {"type": head, "subtype": subtype} if subtype else {"type": head}
        self.put({**named, **members, "uuid": new_uuid(), "session_id": self.session})

    def fail(self, text: str, error: str, request: str) -> None:
        """Print the line that the CLI itself writes in the model's place when a request failed."""
        nothing_used = {
            "input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
            "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0}, "service_tier": None,
            "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0}, "inference_geo": None,
            "iterations": None, "speed": None,
        }  # fmt: skip
        message = {
            "id": new_uuid(), "container": None, "model": "<synthetic>", "role": "assistant", "stop_details": None,
            "stop_reason": "stop_sequence", "stop_sequence": "", "type": "message", "usage": nothing_used,
            "content": [{"type": "text", "text": text}], "context_management": None,
        }  # fmt: skip
        last = {"error": error, **({"request_id": request} if request else {})}
        self.put(self._turn("assistant", message) | last)

    def interrupt(self) -> None:
        """Print what SIGINT leaves: the open tool call refused, and the request said to be interrupted."""
        if self._open_call:
            self.refuse(self._open_call, REJECTED, "User rejected tool use")
        self.put(self._user({"type": "text", "text": INTERRUPTED}))

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
        head = {"type": "result", "subtype": subtype, "duration_ms": took, "duration_api_ms": took // 2,
                "is_error": True, "num_turns": self.calls + extra_turns}  # fmt: skip
        self._close({**head, **self._tail("tool_use", reason), "errors": errors})

    def put(self, line: Line) -> None:
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

    def _answer(self, block: Line) -> None:
        """Print a block of the model's answer; what comes after a tool's result is a new answer."""
        if not self._message[0]:
            self._message = (new_id("msg_"), new_id("req_"))
        name, request = self._message
        message = {
            "id": name, "type": "message", "role": "assistant", "model": self.model.removesuffix("[1m]"),
            "content": [block], "stop_reason": None, "stop_sequence": None,
            "usage": {**self._input_usage(), "output_tokens": 1}, "context_management": None,
        }  # fmt: skip
        self.put(self._turn("assistant", message) | {"request_id": request})

    def _user(self, block: Line) -> Line:
        """What goes back to the model."""
        now = time.time()
        stamp = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now * 1000) % 1000:03d}Z"
        return self._turn("user", {"role": "user", "content": [block]}) | {"timestamp": stamp}

    def _turn(self, kind: str, message: Line) -> Line:
        return {"type": kind, "message": message, "parent_tool_use_id": None, "session_id": self.session,
                "uuid": new_uuid()}  # fmt: skip

    def _end_call(self, block: Line, detail: dict[str, Any] | str) -> None:
        with self.lock:
            self._open_call = ""
            self._message = ("", "")
            self.put({**self._user(block), "tool_use_result": detail})

    def _took_ms(self) -> int:
        return int((time.monotonic() - self._began) * 1000)

    def _head(self, is_error: bool, status: int | None, times: dict[str, int]) -> Line:
        took = self._took_ms()
        return {"type": "result", "subtype": "success", "is_error": is_error, "api_error_status": status,
                "duration_ms": took, "duration_api_ms": took // 2 if self.calls or times else 0, **times,
                "num_turns": self.calls + 1}  # fmt: skip

    def _tail(self, stop: str, reason: str) -> Line:
        usage = {
            **self._input_usage(), "output_tokens": self.tokens.get("output", 0),
            "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0}, "service_tier": "standard",
            "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0}, "inference_geo": "",
            "iterations": [], "speed": "standard",
        }  # fmt: skip
        of_model = {
            "inputTokens": self.tokens.get("input", 0), "outputTokens": self.tokens.get("output", 0),
            "cacheReadInputTokens": self.tokens.get("cache_read", 0),
            "cacheCreationInputTokens": self.tokens.get("cache_creation", 0), "webSearchRequests": 0,
            "costUSD": self.cost_usd, "contextWindow": 1_000_000 if self.model.endswith("[1m]") else 200_000,
            "maxOutputTokens": 64_000,
        }  # fmt: skip
        return {
            "stop_reason": stop, "session_id": self.session, "total_cost_usd": self.cost_usd, "usage": usage,
            "modelUsage": {self.model: of_model} if self.tokens else {}, "permission_denials": [],
            **({"terminal_reason": reason} if reason else {}), "fast_mode_state": "off", "uuid": new_uuid(),
        }  # fmt: skip

    def _input_usage(self) -> Line:
        """The part of a usage object that is known when an answer begins."""
        names = {"input": "input_tokens", "cache_creation": "cache_creation_input_tokens",
                 "cache_read": "cache_read_input_tokens"}  # fmt: skip
        return {name: self.tokens.get(kind, 0) for kind, name in names.items()}

    def _close(self, result: Line) -> None:
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


def new_uuid() -> str:
    """A random version 4 UUID (the uuid module costs a third of the start-up)."""
    bits = int.from_bytes(os.urandom(16), "big") & ~(0xF << 76) & ~(0x3 << 62) | 0x4 << 76 | 0x2 << 62
    text = f"{bits:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def new_id(prefix: str) -> str:
    """An id as the API gives them, e.g. `toolu_` and 24 hexadecimal digits."""
    return prefix + os.urandom(12).hex()
