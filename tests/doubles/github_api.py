"""A loopback stand-in for GitHub's API, as far as `gh` needs it.

In a test:

    with GitHubApi(tmp_path / "gh.sock") as github:
        github.configure(config_dir)            # GH_CONFIG_DIR: gh then talks to the socket
        github.fail("createPullRequest", status=502)
        ...
        assert len(github.world.prs) == 1

The token `bad` is answered 401. The host stays github.com: gh sends every request through the socket.
"""

from __future__ import annotations

import json
import re
import socket
import socketserver
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.doubles import graphql
from tests.doubles.github_world import World

GH_CONFIG = 'version: "1"\nprompt: disabled\nhttp_unix_socket: {socket}\n'


@dataclass(slots=True)
class Fault:
    """What goes wrong with the next `times` requests whose operation, path or query holds `match`.

    `after` does the work and then hangs up (a lost answer); otherwise the answer is `status` with `body`, after
    `delay` seconds.
    """

    match: str
    status: int = 502
    times: int = 1
    delay: float = 0.0
    body: Any = field(default_factory=lambda: {"message": "injected"})
    headers: Mapping[str, str] = field(default_factory=dict)
    after: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, without its credentials."""

    method: str
    path: str
    operation: str
    variables: Mapping[str, Any]


class GitHubApi:
    """The server on a unix socket; a context manager. `requests` lists what it was asked."""

    def __init__(self, path: Path, world: World | None = None) -> None:
        self.path = path
        self.world = world or World()
        self.requests: list[Asked] = []
        self.faults: list[Fault] = []
        self.stopping = threading.Event()
        self.lock = threading.RLock()
        path.unlink(missing_ok=True)
        self._server = _Server(str(path), type("Answer", (_Answer,), {"api": self}))

    def __enter__(self) -> GitHubApi:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self.path.unlink(missing_ok=True)

    def configure(self, config_dir: Path) -> None:
        """Make `config_dir` a GH_CONFIG_DIR whose gh talks to this socket."""
        config_dir.mkdir(parents=True, exist_ok=True)
        (config_dir / "config.yml").write_text(GH_CONFIG.format(socket=self.path), encoding="utf-8")

    def fail(self, match: str, **how: Any) -> None:
        """Inject a fault; `how` are the fields of `Fault`."""
        with self.lock:
            self.faults.append(Fault(match, **how))

    def operations(self) -> list[str]:
        return [asked.operation for asked in self.requests if asked.operation]

    def fault_for(self, asked: Asked, query: str) -> Fault | None:
        """The fault that this request meets, used up by one."""
        for fault in self.faults:
            if fault.match in f"{asked.operation} {asked.path} {query}":
                fault.times -= 1
                if fault.times <= 0:
                    self.faults.remove(fault)
                return fault
        return None


@contextmanager
def loopback_github(world: World | None = None) -> Iterator[GitHubApi]:
    """A GitHub on a socket of its own, outside of tmp_path: a socket's path has about a hundred characters at most."""
    with tempfile.TemporaryDirectory(prefix="gh-") as folder, GitHubApi(Path(folder) / "s", world) as running:
        yield running


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is an ordinary event here."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    api: GitHubApi

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Say nothing: a test's output is its own."""

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        given = _json(raw)
        path = self.path.split("?")[0]
        query = str(given.get("query") or "")
        named = re.search(r"\b(?:query|mutation)\s+(\w+)", query)
        asked = Asked(self.command, path, named.group(1) if named else "", given.get("variables") or {})
        with self.api.lock:
            self.api.requests.append(asked)
            fault = self.api.fault_for(asked, query)
        if fault and not self._survives(fault):
            return None
        with self.api.lock:
            status, answer = self._work(path, given)
        return self._hang_up() if fault and fault.after else self._reply(status, answer)

    def do_GET(self) -> None:
        self.do_POST()

    def _survives(self, fault: Fault) -> bool:
        self.api.stopping.wait(fault.delay)
        if not fault.after:
            self._reply(fault.status, fault.body, fault.headers)
        return fault.after

    def _work(self, path: str, given: Mapping[str, Any]) -> tuple[int, Any]:
        if self.headers.get("Authorization", "").split(" ")[-1] in ("", "bad"):
            return 401, {"message": "Bad credentials"}
        if path == "/graphql":
            return 200, _answer(self.api.world, given)
        world = self.api.world
        if path == "/":
            return 200, {"current_user_url": f"https://api.{world.server}/user"}
        if path == "/user":
            return 200, {"login": world.viewer, "id": 1, "type": "User"}
        if path == f"/repos/{world.owner}/{world.name}":
            return 200, {"id": 1, "name": world.name, "default_branch": "main", "permissions": {"push": True}}
        if found := re.fullmatch(rf"/repos/{world.owner}/{world.name}/branches/([^/]+)", path):
            return 200, world.branch(found[1])
        if path == f"/repos/{world.owner}/{world.name}/issues":
            return 200, self._page(world.open_issues(self._asked_for("labels", "")))
        if found := re.fullmatch(rf"/repos/{world.owner}/{world.name}/issues/(\d+)", path):
            issue = next((one for one in world.issues if one["number"] == int(found[1])), None)
            return (200, issue) if issue else (404, {"message": "Not Found"})
        return 404, {"message": "Not Found"}

    def _page(self, rows: list[Any]) -> list[Any]:
        """The rows of the page that is asked for: 30 on each as GitHub has it, 100 at most."""
        size, page = min(100, int(self._asked_for("per_page", "30"))), int(self._asked_for("page", "1"))
        return rows[(page - 1) * size : page * size]

    def _asked_for(self, name: str, default: str) -> str:
        return parse_qs(urlsplit(self.path).query).get(name, [default])[0]

    def _reply(self, status: int, answer: Any, headers: Mapping[str, str] | None = None) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-OAuth-Scopes", "repo, read:org, workflow, gist")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


def _json(raw: bytes) -> dict[str, Any]:
    try:
        given = json.loads(raw or b"{}")
    except ValueError:
        return {}
    return given if isinstance(given, dict) else {}


def _answer(world: World, given: Mapping[str, Any]) -> dict[str, Any]:
    try:
        document = graphql.parse(str(given.get("query")))
        roots = world.query() if document.kind == "query" else world.mutation()
        data = graphql.execute(roots, document, given.get("variables") or {})
    except graphql.RefusedError as refused:
        error = {"type": refused.kind, "path": [refused.path], "message": str(refused)}
        return {"data": None, "errors": [error]}
    except (ValueError, KeyError, TypeError) as problem:
        return {"data": None, "errors": [{"type": "DOUBLE", "message": f"{type(problem).__name__}: {problem}"}]}
    if "repository" in data and data["repository"] is None:
        error = {"type": "NOT_FOUND", "path": ["repository"], "message": "Could not resolve to a Repository"}
        return {"data": data, "errors": [error]}
    return {"data": data}
