"""A scriptable loopback stand-in for the Messages API, for a client such as the Claude Code CLI.

    with MessagesApi({"steps": [{"blocks": ["hello"]}]}) as api:
        subprocess.run([...], env={..., "ANTHROPIC_BASE_URL": api.url})
        assert api.messages()[0].model == "sonnet"

A scenario is an object, every key optional:
  steps    responses used in order, one per request; "repeat": N or "forever" answers more requests
  default  the response when the steps have run out (else the text "done")

A response is a string (a text block) or an object:
  blocks       a string, {"text"} or {"tool", "input", "id"}; stop_reason follows
  usage, model, headers ("@+3600" becomes the epoch second 3600 s from now), text_chunks (deltas per text)
  delay        seconds before the first byte; event_delay: before every further event
  status       not 200 makes an error, with "error" {"type", "message"} or a raw "body"
  hang         seconds of silence, then the connection is closed
  drop_after   N: after N events the connection is closed
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http.server import ThreadingHTTPServer
from types import TracebackType
from typing import Any

from tests.doubles.messages_wire import Answer

Response = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: `bytes` are those of its body, which is None unless bodies are kept.

    `auth` names the credential headers that came, without their values.
    """

    method: str
    path: str
    bytes: int = 0
    model: str = ""
    source: str = ""
    auth: tuple[str, ...] = ()
    body: Mapping[str, Any] | None = None

    @property
    def is_message(self) -> bool:
        return self.method == "POST" and self.path.split("?")[0].endswith("/v1/messages")


class MessagesApi:
    """The server on a loopback port; a context manager. `requests` is all that it was asked, in order."""

    def __init__(self, scenario: Mapping[str, Any] | None = None, *, keep_bodies: bool = False) -> None:
        self.scenario = dict(scenario or {})
        self.requests: list[Asked] = []
        self.keep_bodies = keep_bodies
        self.stopping = threading.Event()
        self.changed = threading.Condition()
        self._steps = [[step, _repeats(step)] for step in self.scenario.get("steps", [])]
        self._server = _Server(("127.0.0.1", 0), type("BoundAnswer", (Answer,), {"api": self}))
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

    def pick(self, path: str, request: Mapping[str, Any]) -> tuple[Response, str]:
        """The response to a request, and where it came from."""
        with self.changed:
            for number, slot in enumerate(self._steps):
                if slot[1] > 0:
                    slot[1] -= 1
                    return _response(slot[0]), f"step {number}"
        return _response(self.scenario.get("default", "done")), "default"

    def record(
        self, method: str, path: str, raw: bytes, request: Mapping[str, Any], headers: Mapping[str, str], source: str
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
    lower = {name.lower() for name in headers}
    return Asked(
        method=method,
        path=path,
        bytes=len(raw),
        model=str(request.get("model") or ""),
        source=source,
        auth=tuple(name for name in ("x-api-key", "authorization") if name in lower),
    )


def _response(given: Any) -> Response:
    return {"blocks": [given]} if isinstance(given, str) else dict(given)


def _repeats(step: Any) -> float:
    repeat = step.get("repeat", 1) if isinstance(step, dict) else 1
    return float("inf") if repeat == "forever" else int(repeat)
