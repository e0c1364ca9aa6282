"""How the Messages double speaks: HTTP, server-sent events, and every way of breaking off."""

from __future__ import annotations

import contextlib
import json
import socket
import time
import uuid
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.doubles.messages_api import MessagesApi

Node = dict[str, Any]

ERRORS: Mapping[int, tuple[str, str]] = {
    400: ("invalid_request_error", "Bad request"),
    401: ("authentication_error", "invalid x-api-key"),
    403: ("permission_error", "Your API key does not have permission to use the specified resource."),
    404: ("not_found_error", "model: not found"),
    413: ("request_too_large", "Request exceeds the maximum size"),
    429: ("rate_limit_error", "This request would exceed your organization's rate limit."),
    500: ("api_error", "Internal server error"),
    503: ("api_error", "Service unavailable"),
    504: ("timeout_error", "Request timed out"),
    529: ("overloaded_error", "Overloaded"),
}
USAGE: Mapping[str, int] = {
    "input_tokens": 100,
    "cache_creation_input_tokens": 2000,
    "cache_read_input_tokens": 10000,
    "output_tokens": 20,
}


class Answer(BaseHTTPRequestHandler):
    """One connection. `api` is the double that it belongs to."""

    protocol_version = "HTTP/1.1"
    api: MessagesApi

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Say nothing: a test's output is its own."""

    def do_HEAD(self) -> None:
        self._note(b"", {}, "")
        self._plain(200 if self.command == "HEAD" else 404)

    def do_GET(self) -> None:
        self.do_HEAD()

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        request = _json(raw)
        path = self.path.split("?")[0]
        if not path.endswith("/v1/messages"):
            self._note(raw, request, "")
            is_count = path.endswith("/v1/messages/count_tokens")
            return self._plain(200 if is_count else 404, json.dumps({"input_tokens": len(raw) // 4}).encode())
        response, source = self.api.pick(self.path, request)
        self._note(raw, request, source)
        return self._answer(response, request)

    def _note(self, raw: bytes, request: Node, source: str) -> None:
        self.api.record(self.command, self.path, raw, request, dict(self.headers.items()), source)

    def _plain(self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _answer(self, response: Mapping[str, Any], request: Node) -> None:
        self.api.stopping.wait(response.get("delay", 0))
        if "hang" in response:
            self.api.stopping.wait(response["hang"])
            return self._hang_up()
        headers = _headers(response)
        if response.get("status", 200) != 200:
            return self._plain(response["status"], _error_body(response), headers)
        message = message_of(response, request)
        if not request.get("stream"):
            return self._plain(200, json.dumps(message).encode(), headers)
        return self._stream(response, message, headers)

    def _stream(self, response: Mapping[str, Any], message: Node, headers: Mapping[str, str]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        for number, event in enumerate(events_of(message, max(1, response.get("text_chunks", 1)))):
            if response.get("drop_after") == number:
                return self._hang_up()
            if number:
                self.api.stopping.wait(response.get("event_delay", 0))
            self._event(event)
        self.wfile.write(b"0\r\n\r\n")
        return None

    def _event(self, event: Node) -> None:
        data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _hang_up(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)


def text_of(content: Any) -> str:
    """The text of a system prompt or of a message's content, whatever its shape."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(block.get("text", "")) for block in content if isinstance(block, dict))
    return ""


def message_of(response: Mapping[str, Any], request: Mapping[str, Any]) -> Node:
    """The whole message, as an answer that isn't streamed has it."""
    blocks = [_block(block) for block in response.get("blocks", ["done"])]
    calls = any(block["type"] == "tool_use" for block in blocks)
    return {
        "id": f"msg_{uuid.uuid4().hex[:24]}",
        "type": "message",
        "role": "assistant",
        "model": response.get("model") or request.get("model"),
        "content": blocks,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {**USAGE, **response.get("usage", {})},
    }


def events_of(message: Node, text_chunks: int) -> Iterator[Node]:
    """The message as the events of a stream."""
    usage = {**message["usage"], "output_tokens": 1}
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None, "usage": usage}}
    for index, block in enumerate(message["content"]):
        start, deltas = _opening(block), _deltas(block, text_chunks)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
        "usage": {"output_tokens": message["usage"]["output_tokens"]},
    }
    yield {"type": "message_stop"}


def _block(given: Any) -> Node:
    block = {"text": given} if isinstance(given, str) else given
    if "tool" in block:
        name = block.get("id") or f"toolu_{uuid.uuid4().hex[:24]}"
        return {"type": "tool_use", "id": name, "name": block["tool"], "input": block.get("input", {})}
    return {"type": "text", "text": block["text"]}


def _opening(block: Node) -> Node:
    empty: Mapping[str, Node] = {"text": {"text": ""}, "tool_use": {"input": {}}}
    return {**block, **empty[block["type"]]}


def _deltas(block: Node, text_chunks: int) -> list[Node]:
    if block["type"] == "tool_use":
        return [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
    text = block["text"]
    size = -(-len(text) // text_chunks) or 1
    return [{"type": "text_delta", "text": text[at : at + size]} for at in range(0, len(text), size)]


def _headers(response: Mapping[str, Any]) -> dict[str, str]:
    headers = {"request-id": f"req_{uuid.uuid4().hex[:24]}"}
    for name, given in response.get("headers", {}).items():
        value = str(given)
        headers[name] = str(int(time.time()) + int(value[2:])) if value.startswith("@+") else value
    return headers


def _error(status: int, response: Mapping[str, Any]) -> Node:
    kind, message = ERRORS.get(status, ("api_error", "error"))
    return {"type": kind, "message": message, **response.get("error", {})}


def _error_body(response: Mapping[str, Any]) -> bytes:
    body = response.get("body")
    return (
        body if body is not None else json.dumps({"type": "error", "error": _error(response["status"], response)})
    ).encode()


def _json(raw: bytes) -> Node:
    try:
        given = json.loads(raw or b"{}")
    except ValueError:
        return {}
    return given if isinstance(given, dict) else {}
