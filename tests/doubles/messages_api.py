"""A scriptable loopback stand-in for the Messages API, for a client such as the Claude Code CLI.

    with MessagesApi({"steps": [{"blocks": ["hello"]}]}) as api:
        subprocess.run([...], env={..., "ANTHROPIC_BASE_URL": api.url})
        assert api.requests[0].tools == 6

or `python -m tests.doubles.messages_api --scenario s.json`, which prints its URL.

A scenario is an object, every key optional:
  steps    responses used in order, one per request; "repeat": N or "forever" answers more requests
  default  the response when the steps have run out (else the text "done")
  rules    [{"match": {...}, "respond": RESPONSE or [RESPONSE, ...]}], tried first, in order; a request that
           matches uses up no step, and of a list the last stays. Match keys, all must hold: model, system,
           user (first user message), last (last message), any, path (patterns); tools, stream (booleans)

A response is a string (a text block) or an object:
  blocks       a string, {"text"}, {"thinking"} or {"tool", "input", "id"}; stop_reason follows unless "stop"
  usage, model, headers ("@+3600" becomes the epoch second 3600 s from now), text_chunks (deltas per text)
  delay        seconds before the first byte; event_delay: before every further event
  status       not 200 makes an error, with "error" {"type", "message"} or a raw "body"
  hang         seconds of silence, then the connection is closed
  drop         "reset" or "close" before any byte
  drop_after, stall_after, error_after   N: after N events close, fall silent ("stall" s), send an error event
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from http.server import ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.doubles.messages_wire import Answer, text_of
from tests.doubles.serving import until_interrupted

Response = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: sizes are bytes of compact JSON; `body` is None unless bodies are kept.

    `auth` names the credential headers that came, without their values.
    """

    method: str
    path: str
    at: float
    bytes: int = 0
    model: str = ""
    messages: int = 0
    tools: int = 0
    tools_bytes: int = 0
    system_bytes: int = 0
    is_stream: bool = False
    source: str = ""
    auth: tuple[str, ...] = ()
    headers: Mapping[str, str] | None = None
    body: Mapping[str, Any] | None = None

    @property
    def is_message(self) -> bool:
        return self.method == "POST" and self.path.split("?")[0].endswith("/v1/messages")


class MessagesApi:
    """The server on a loopback port; a context manager. `requests` is all that it was asked, in order."""

    def __init__(self, scenario: Mapping[str, Any] | None = None, *, port: int = 0, keep_bodies: bool = False) -> None:
        self.scenario = dict(scenario or {})
        self.requests: list[Asked] = []
        self.keep_bodies = keep_bodies
        self.stopping = threading.Event()
        self.changed = threading.Condition()
        self._rule_hits: dict[int, int] = {}
        self._steps = [[step, _repeats(step)] for step in self.scenario.get("steps", [])]
        self._server = _Server(("127.0.0.1", port), type("BoundAnswer", (Answer,), {"api": self}))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> MessagesApi:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()

    def messages(self) -> list[Asked]:
        """The requests for a message: not the probes before them, nor those that count tokens."""
        return [asked for asked in self.requests if asked.is_message]

    def wait_for(self, holds: Callable[[list[Asked]], bool], timeout_s: float = 30.0) -> bool:
        """Whether `holds(messages)` becomes true in time: to act in the middle of a run."""
        with self.changed:
            return self.changed.wait_for(lambda: holds(self.messages()), timeout_s)

    def pick(self, path: str, request: Mapping[str, Any]) -> tuple[Response, str]:
        """The response to a request, and where it came from."""
        with self.changed:
            for number, rule in enumerate(self.scenario.get("rules", [])):
                if _matches(rule.get("match", {}), path, request):
                    return self._of_rule(number, rule["respond"]), f"rule {number}"
            for number, slot in enumerate(self._steps):
                if slot[1] > 0:
                    slot[1] -= 1
                    return _response(slot[0]), f"step {number}"
        return _response(self.scenario.get("default", "done")), "default"

    def _of_rule(self, number: int, answers: Any) -> Response:
        listed = answers if isinstance(answers, list) else [answers]
        hit = self._rule_hits.get(number, 0)
        self._rule_hits[number] = hit + 1
        return _response(listed[min(hit, len(listed) - 1)])

    def record(
        self,
        method: str,
        path: str,
        raw: bytes,
        request: Mapping[str, Any],
        headers: Mapping[str, str],
        source: str,
    ) -> None:
        """Keep a request: sizes, and names of what is secret; `source` says which answer it got."""
        asked = _asked(method, path, raw, request, headers, source)
        with self.changed:
            self.requests.append(replace(asked, body=request) if self.keep_bodies else asked)
            self.changed.notify_all()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is an ordinary event here."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def _asked(
    method: str, path: str, raw: bytes, request: Mapping[str, Any], headers: Mapping[str, str], source: str
) -> Asked:
    secret = ("x-api-key", "authorization")
    lower = {name.lower(): value for name, value in headers.items()}
    tools = request.get("tools") or []
    return Asked(
        method=method,
        path=path,
        at=time.time(),
        bytes=len(raw),
        model=str(request.get("model") or ""),
        messages=len(request.get("messages") or []),
        tools=len(tools),
        tools_bytes=_size(tools),
        system_bytes=_size(request.get("system") or ""),
        is_stream=bool(request.get("stream")),
        source=source,
        auth=tuple(name for name in secret if name in lower),
        headers={name: value for name, value in lower.items() if name not in secret},
    )


def _size(value: Any) -> int:
    return len(json.dumps(value, separators=(",", ":")).encode())


def _response(given: Any) -> Response:
    return {"blocks": [given]} if isinstance(given, str) else dict(given)


def _repeats(step: Any) -> float:
    repeat = step.get("repeat", 1) if isinstance(step, dict) else 1
    return float("inf") if repeat == "forever" else int(repeat)


# Where each kind of pattern is looked for.
_HAYSTACKS: Mapping[str, Callable[[str, Mapping[str, Any]], str]] = {
    "model": lambda path, request: str(request.get("model", "")),
    "system": lambda path, request: text_of(request.get("system")),
    "user": lambda path, request: text_of(_messages(request)[0].get("content")),
    "last": lambda path, request: json.dumps(_messages(request)[-1]),
    "any": lambda path, request: json.dumps(request),
    "path": lambda path, request: path,
}


def _messages(request: Mapping[str, Any]) -> list[Any]:
    return request.get("messages") or [{}]


def _matches(match: Mapping[str, Any], path: str, request: Mapping[str, Any]) -> bool:
    return all(
        bool(request.get(key)) is want
        if key in ("tools", "stream")
        else re.search(want, _HAYSTACKS[key](path, request), re.DOTALL)
        for key, want in match.items()
    )


def main(arguments: list[str] | None = None) -> int:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="A scriptable loopback stand-in for the Messages API")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--scenario", type=Path, help="scenario file (JSON); without it every answer is 'done'")
    chosen = parser.parse_args(arguments)
    scenario = json.loads(chosen.scenario.read_text(encoding="utf-8")) if chosen.scenario else {}
    with MessagesApi(scenario, port=chosen.port) as api:
        return until_interrupted(api.url)


if __name__ == "__main__":
    sys.exit(main())
