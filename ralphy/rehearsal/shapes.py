"""The lines of stream-json as the real CLI writes them: the same keys, in the same order."""

from __future__ import annotations

import os
import time
from typing import Any

VERSION = "2.1.197"
TOOLS = ("Task", "Bash", "Edit", "Glob", "Grep", "NotebookEdit", "Read", "WebFetch", "WebSearch", "Write")

Line = dict[str, Any]


def new_uuid() -> str:
    """A random version 4 UUID (the uuid module costs a third of the start-up)."""
    bits = int.from_bytes(os.urandom(16), "big") & ~(0xF << 76) & ~(0x3 << 62) | 0x4 << 76 | 0x2 << 62
    text = f"{bits:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def new_id(prefix: str) -> str:
    """An id as the API gives them, e.g. `toolu_` and 24 hexadecimal digits."""
    return prefix + os.urandom(12).hex()


def timestamp() -> str:
    now = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03d}Z"


def init(session: str, cwd: str, model: str, mode: str, tools: list[str], key_source: str) -> Line:
    """The first line of a run."""
    memory = "".join(sign if sign.isalnum() else "-" for sign in cwd)
    config = os.environ.get("CLAUDE_CONFIG_DIR") or os.environ.get("HOME", "") + "/.claude"
    return {
        "type": "system",
        "subtype": "init",
        "cwd": cwd,
        "session_id": session,
        "tools": tools or list(TOOLS),
        "mcp_servers": [],
        "model": model,
        "permissionMode": mode,
        "slash_commands": ["clear", "compact", "context", "init", "review"],
        "apiKeySource": key_source,
        "claude_code_version": VERSION,
        "output_style": "default",
        "agents": ["claude", "Explore", "general-purpose", "Plan"],
        "skills": [],
        "plugins": [],
        "analytics_disabled": True,
        "product_feedback_disabled": True,
        "uuid": new_uuid(),
        "memory_paths": {"auto": f"{config}/projects/{memory}/memory/"},
        "fast_mode_state": "off",
    }


def assistant(session: str, model: str, message: str, request: str, block: Line, usage: Line) -> Line:
    """One content block of an answer of the model; blocks of one answer share `message` and `request`."""
    return {
        "type": "assistant",
        "message": {
            "id": message,
            "type": "message",
            "role": "assistant",
            "model": model.removesuffix("[1m]"),
            "content": [block],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {**usage, "output_tokens": 1},
            "context_management": None,
        },
        "parent_tool_use_id": None,
        "session_id": session,
        "uuid": new_uuid(),
        "request_id": request,
    }


def synthetic(session: str, text: str, error: str, request: str) -> Line:
    """The line that the CLI itself writes in the model's place when a request failed."""
    line: Line = {
        "type": "assistant",
        "message": {
            "id": new_uuid(),
            "container": None,
            "model": "<synthetic>",
            "role": "assistant",
            "stop_details": None,
            "stop_reason": "stop_sequence",
            "stop_sequence": "",
            "type": "message",
            "usage": {
                "input_tokens": 0,
                "output_tokens": 0,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
                "service_tier": None,
                "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
                "inference_geo": None,
                "iterations": None,
                "speed": None,
            },
            "content": [{"type": "text", "text": text}],
            "context_management": None,
        },
        "parent_tool_use_id": None,
        "session_id": session,
        "uuid": new_uuid(),
        "error": error,
    }
    return {**line, "request_id": request} if request else line


def user(session: str, block: Line) -> Line:
    """What goes back to the model."""
    return {
        "type": "user",
        "message": {"role": "user", "content": [block]},
        "parent_tool_use_id": None,
        "session_id": session,
        "uuid": new_uuid(),
        "timestamp": timestamp(),
    }


def usage(tokens: dict[str, int]) -> Line:
    """The usage object of a result line."""
    return {
        **input_usage(tokens),
        "output_tokens": tokens.get("output", 0),
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "service_tier": "standard",
        "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
        "inference_geo": "",
        "iterations": [],
        "speed": "standard",
    }


def input_usage(tokens: dict[str, int]) -> Line:
    """The part of a usage object that is known when an answer begins."""
    return {
        "input_tokens": tokens.get("input", 0),
        "cache_creation_input_tokens": tokens.get("cache_creation", 0),
        "cache_read_input_tokens": tokens.get("cache_read", 0),
    }


def model_usage(model: str, tokens: dict[str, int], cost_usd: float) -> Line:
    """Tokens and cost by model, as a result line has them."""
    return {
        model: {
            "inputTokens": tokens.get("input", 0),
            "outputTokens": tokens.get("output", 0),
            "cacheReadInputTokens": tokens.get("cache_read", 0),
            "cacheCreationInputTokens": tokens.get("cache_creation", 0),
            "webSearchRequests": 0,
            "costUSD": cost_usd,
            "contextWindow": 1_000_000 if model.endswith("[1m]") else 200_000,
            "maxOutputTokens": 64_000,
        }
    }
