"""The dashboard's server: one page, a stream of boards, and the person's actions, on the loopback alone.

Who knows the token in the address is the person. `Guard` also refuses other host names (DNS rebinding) and requests
from other pages. Imported only by the command: starlette is an extra.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ralphy.cli.dashboard import gate
from ralphy.cli.dashboard.agents import log_of
from ralphy.cli.dashboard.board import Board, again
from ralphy.cli.dashboard.feed import boards
from ralphy.cli.dashboard.page import parts_of, title_of
from ralphy.cli.options import Invocation
from ralphy.cli.output import error_body
from ralphy.errors import Conflict, EnvironmentProblem, InvalidInput, NotFound, RalphyError
from ralphy.files.read import read_regular
from ralphy.resources import template_root

LOOPBACK = "127.0.0.1"
_MOST_BODY = 100_000
_FILES = {
    "": ("index.html", "text/html"),
    "style.css": ("style.css", "text/css"),
    "app.js": ("app.js", "text/javascript"),
}
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_STATUS = {NotFound: 404, InvalidInput: 400, Conflict: 409}


@dataclass(frozen=True, slots=True)
class Guard:
    """Passes on requests with the token to one of the `hosts`, from its own page; all others get 403."""

    app: ASGIApp
    token: str
    hosts: frozenset[str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        why = self.why_refused(scope)
        app = PlainTextResponse(f"Refused: {why}\n", 403) if why else self.app
        await app(scope, receive, guarded)

    def why_refused(self, scope: Scope) -> str:
        """Why the request is refused; "" if it is not."""
        headers = Headers(scope=scope)
        given = str(scope["path"]).lstrip("/").partition("/")[0]
        if headers.get("host", "").lower() not in self.hosts:
            return "unknown host name (see --allow-host)"
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() not in self.hosts:
            return "the request comes from another page"
        if scope["method"] == "POST" and origin is None:
            return "the request has no Origin header"
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            return "open the address that `ralphy dashboard` printed: the token in it is the key"
        return ""


@dataclass(slots=True)
class Dashboard:
    """A dashboard on a port of the loopback; `address` is where a person opens it."""

    call: Invocation
    port: int
    more_hosts: Collection[str] = ()
    boards: Callable[[Invocation, str], AsyncIterator[Board]] = boards
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self.port}/{self.token}/"

    def app(self) -> ASGIApp:
        """The application behind its guard."""
        routes = [
            Route("/{token}/", self._file),
            Route("/{token}/events", self._events),
            Route("/{token}/document", self._document),
            Route("/{token}/log", self._log),
            Route("/{token}/do/{act}", self._do, methods=["POST"]),
            Route("/{token}/{name}", self._file),
        ]
        hosts = {f"{name}:{self.port}" for name in (LOOPBACK, "localhost")} | {host.lower() for host in self.more_hosts}
        app = Starlette(routes=routes, exception_handlers={RalphyError: _refused})
        return Guard(app, self.token, frozenset(hosts))

    def _file(self, request: Request) -> Response:
        asset = _FILES.get(request.path_params.get("name", ""))
        if asset is None:
            return PlainTextResponse("not found\n", 404)
        data = read_regular(template_root() / "dashboard" / asset[0])
        return Response(data, media_type=f"{asset[1]}; charset=utf-8")

    def _document(self, request: Request) -> Response:
        asked = request.query_params
        return PlainTextResponse(gate.document(again(self.call), asked.get("feature", ""), asked.get("name", "")))

    def _log(self, request: Request) -> Response:
        asked = request.query_params
        return PlainTextResponse("\n".join(log_of(again(self.call), asked.get("feature", ""), asked.get("story", ""))))

    async def _do(self, request: Request) -> Response:
        """Approve, reject, answer or abort, as the person asks."""
        body = await _body(request)
        done = await run_in_threadpool(self._act, request.path_params["act"], body)
        return JSONResponse({"ok": True, "said": done})

    def _act(self, act: str, body: dict[str, str]) -> str:
        call, feature, text, seen = again(self.call), body["feature"], body["text"], body["seen"]
        if act in ("approve", "reject") and not seen:
            raise InvalidInput("the request does not say what was seen: reload the page")
        if act == "approve":
            return gate.approve(call, feature, seen)
        if act == "reject":
            return gate.reject(call, feature, text, seen)
        if act == "answer":
            return gate.answer(call, feature, body["key"], text)
        if act == "abort":
            return gate.abort(call, feature)
        raise NotFound(f"unknown action {act!r}")

    def _events(self, request: Request) -> Response:
        stream = self._boards(request.query_params.get("feature", ""))
        return StreamingResponse(stream, media_type="text/event-stream", headers={"x-accel-buffering": "no"})

    async def _boards(self, feature: str) -> AsyncIterator[str]:
        """Events with all parts of the page, then with those that change; a comment where none does."""
        sent: dict[str, str] = {}
        async for board in self.boards(self.call, feature):
            parts = await run_in_threadpool(parts_of, board)
            changed = {name: html for name, html in parts.items() if sent.get(name) != html}
            update = {"at": board["at"], "feature": board["feature"], "title": title_of(board), "parts": changed}
            yield f"data: {json.dumps(update)}\n\n" if changed else ": still here\n\n"
            sent = parts


async def _body(request: Request) -> dict[str, str]:
    """The fields of a request; InvalidInput if it is too long or not a JSON object."""
    data = b""
    async for piece in request.stream():
        data += piece
        if len(data) > _MOST_BODY:
            raise InvalidInput(f"the request is too long: at most {_MOST_BODY} bytes")
    try:
        body = json.loads(data)
    except ValueError:
        body = None
    if request.headers.get("content-type", "").partition(";")[0] != "application/json" or not isinstance(body, dict):
        raise InvalidInput("the request body is not JSON")
    return {name: str(body.get(name) or "") for name in ("feature", "text", "seen", "key")}


def _refused(_: Request, error: Exception) -> Response:
    """The answer to a request that raised a RalphyError."""
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 500)
    return JSONResponse({"ok": False, "error": error_body(error)}, status)


def bound(port: int) -> socket.socket:
    """A socket on the loopback; port 0 is a free one."""
    try:
        return socket.create_server((LOOPBACK, port))
    except OSError as error:
        raise EnvironmentProblem(f"cannot listen on port {port}: {error.strerror}",
                                 hint="choose another with --port N, or leave --port out") from error  # fmt: skip


def serve(dashboard: Dashboard, listening: socket.socket) -> None:
    """Serve until a signal. Raises KeyboardInterrupt on Ctrl-C."""
    config = uvicorn.Config(dashboard.app(), log_level="critical", access_log=False, lifespan="off", ws="none",
                            proxy_headers=False, server_header=False, timeout_graceful_shutdown=1)  # fmt: skip
    uvicorn.Server(config).run(sockets=[listening])
