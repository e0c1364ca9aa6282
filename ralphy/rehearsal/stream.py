"""The writer of stdout: stream-json, one object a line, with those keys of the CLI's lines that a reader needs."""

from __future__ import annotations

import json
import os
import time
import uuid
from argparse import Namespace
from contextlib import suppress
from typing import Any

from ralphy.rehearsal.context import Context
from ralphy.rehearsal.flags import VERSION
from ralphy.rehearsal.signals import SignalHandler

TOOLS = ["Task", "Bash", "Edit", "Glob", "Grep", "NotebookEdit", "Read", "WebFetch", "WebSearch", "Write"]
STDOUT = 1
INTERRUPTED = "[Request interrupted by user for tool use]"
REJECTED = "The user doesn't want to proceed with this tool use. The tool use was rejected."

Line = dict[str, Any]


class Stream:
    """What one run prints. `calls` counts the tool calls so far; it `is_open` from the first line to the result."""

    def __init__(self, flags: Namespace, signals: SignalHandler) -> None:
        self.session: str = flags.session_id
        self.model: str = flags.model
        self.calls = 0
        self.tokens: dict[str, int] = {}
        self.cost_usd = 0.0
        self.is_open = False
        self._is_text: bool = flags.output_format == "text"
        self._signals = signals
        self._open_call = ""
        self._message = ""
        self._began = time.monotonic()

    def init(self, context: Context, flags: Namespace) -> None:
        """Print the line a run begins with."""
        self.is_open = True
        self.event(
            "system/init",
            cwd=str(context.cwd),
            tools=flags.tools or TOOLS,
            mcp_servers=[],
            model=self.model,
            permissionMode=flags.permission_mode,
            apiKeySource="ANTHROPIC_API_KEY" if os.environ.get("ANTHROPIC_API_KEY") else "none",
            claude_code_version=VERSION,
        )

    def say(self, text: str) -> None:
        """Print a block of the model's text."""
        self._answer({"type": "text", "text": text})

    def think(self, text: str) -> None:
        """Print a block of the model's thinking."""
        self._answer({"type": "thinking", "thinking": text})

    def call(self, tool: str, **arguments: Any) -> str:
        """Print a call of `tool` and return its id; it is open until `reply`."""
        self._signals.check()
        self._open_call = _new_id("toolu_")
        self.calls += 1
        self._answer({"type": "tool_use", "id": self._open_call, "name": tool, "input": arguments})
        return self._open_call

    def reply(self, call: str, content: str, is_error: bool = False) -> None:
        """Print the result of a tool call; what the model says after it is a new message."""
        block = {"type": "tool_result", "tool_use_id": call, "content": content}
        self._open_call = self._message = ""
        self._turn("user", {"role": "user", "content": [{**block, "is_error": True} if is_error else block]})

    def event(self, kind: str, **members: Any) -> None:
        """Print a line of another type: `system/status`, `rate_limit_event`, …"""
        head, _, subtype = kind.partition("/")
        named = {"type": head, "subtype": subtype} if subtype else {"type": head}
        self._put({**named, **members, "session_id": self.session, "uuid": _new_uuid()})

    def fail(self, text: str, error: str, status: int | None, reason: str = "completed") -> None:
        """Print the end of a failed request: the message that the CLI writes for the model, and the result."""
        message = {"type": "message", "role": "assistant", "model": "<synthetic>",
                   "content": [{"type": "text", "text": text}]}  # fmt: skip
        self._turn("assistant", message, error=error)
        self._close("success", reason, is_error=True, api_error_status=status, result=text)

    def interrupt(self) -> None:
        """Print the end after SIGINT: the refused tool call, if one is open, the interrupted request, and a result."""
        if self._open_call:
            self.reply(self._open_call, REJECTED, is_error=True)
        self._turn("user", {"role": "user", "content": [{"type": "text", "text": INTERRUPTED}]})
        self.abort("error_during_execution", "the request was interrupted", "aborted_tools")

    def succeed(self, text: str) -> None:
        """Print the result of a finished run."""
        self._close("success", "completed", is_error=False, stop_reason="end_turn", result=text)

    def abort(self, subtype: str, error: str, reason: str) -> None:
        """Print the result of a run that was cut off: no result text, but errors."""
        self._close(subtype, reason, is_error=True, errors=[error])

    def put_bytes(self, data: bytes) -> None:
        """Write to stdout unchanged. A closed pipe is ignored, as the real CLI does."""
        view = memoryview(data)
        with suppress(BrokenPipeError):
            while view:
                view = view[os.write(STDOUT, view) :]

    def _put(self, line: Line) -> None:
        """Print the line; the format `text` has the result's words alone."""
        if not self._is_text:
            self.put_bytes(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
        elif line["type"] == "result":
            text = line.get("result") or "; ".join(line.get("errors", ()))
            self.put_bytes(f"{text}\n".encode())

    def _answer(self, block: Line) -> None:
        """Print a block of the model's answer."""
        self._message = self._message or _new_id("msg_")
        message = {"id": self._message, "type": "message", "role": "assistant",
                   "model": self.model.removesuffix("[1m]"), "content": [block],
                   "usage": {**self._usage(), "output_tokens": 1}}  # fmt: skip
        self._turn("assistant", message)

    def _turn(self, kind: str, message: Line, **members: Any) -> None:
        self.event(kind, message=message, parent_tool_use_id=None, **members)

    def _close(self, subtype: str, reason: str, **members: Any) -> None:
        """Print the result line; `reason` "" leaves out why the run ended."""
        usage, model = self._usage(), {}
        if self.tokens:
            model[self.model] = {
                "inputTokens": usage["input_tokens"],
                "outputTokens": usage["output_tokens"],
                "cacheReadInputTokens": usage["cache_read_input_tokens"],
                "cacheCreationInputTokens": usage["cache_creation_input_tokens"],
                "costUSD": self.cost_usd,
            }
        took_ms = int((time.monotonic() - self._began) * 1000)
        ended = {"terminal_reason": reason} if reason else {}
        self.is_open = False
        self.event(f"result/{subtype}", duration_ms=took_ms, num_turns=self.calls + 1, usage=usage,
                   total_cost_usd=self.cost_usd, modelUsage=model, permission_denials=[], **ended,
                   **members)  # fmt: skip

    def _usage(self) -> Line:
        return {
            "input_tokens": self.tokens.get("input", 0),
            "output_tokens": self.tokens.get("output", 0),
            "cache_read_input_tokens": self.tokens.get("cache_read", 0),
            "cache_creation_input_tokens": self.tokens.get("cache_creation", 0),
        }


def _new_id(prefix: str) -> str:
    """An id as the API gives them: `toolu_` and 24 hexadecimal digits."""
    return prefix + os.urandom(12).hex()


def _new_uuid() -> str:
    return str(uuid.uuid4())
