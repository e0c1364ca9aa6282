"""The way out of a closed sandbox: who is let through, and what the others are told."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from ralphy.errors import EnvironmentProblem
from ralphy.sandbox.proxy import AllowProxy, host_of


class Answers(BaseHTTPRequestHandler):
    """Says which address it was asked for."""

    def do_GET(self) -> None:
        body = self.path.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in http.server
        """Nobody reads it."""


@pytest.fixture
def server() -> Iterator[int]:
    """The port of a web server."""
    with HTTPServer(("127.0.0.1", 0), Answers) as running:
        threading.Thread(target=running.serve_forever, args=(0.05,), daemon=True).start()
        yield running.server_port
        running.shutdown()


@pytest.fixture
def proxy(server: int) -> Iterator[AllowProxy]:
    running = AllowProxy([("127.0.0.1", server)], "a test")
    yield running
    running.close()


def said(proxy: AllowProxy, request: bytes) -> bytes:
    """What the proxy answers, to the end."""
    with socket.socket(socket.AF_UNIX) as near:
        near.settimeout(60)
        near.connect(str(proxy.socket))
        near.sendall(request)
        near.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: near.recv(1 << 16), b""))


def test_an_allowed_host_is_reached_by_its_address(proxy: AllowProxy, server: int) -> None:
    request = b"GET http://127.0.0.1:%d/some/path?q=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % server
    assert said(proxy, request).endswith(b"/some/path?q=1")


def test_an_allowed_host_is_reached_through_a_tunnel(proxy: AllowProxy, server: int) -> None:
    request = b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n" % server
    with socket.socket(socket.AF_UNIX) as near:
        near.settimeout(60)
        near.connect(str(proxy.socket))
        near.sendall(request)
        assert near.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        near.sendall(b"GET /inside HTTP/1.0\r\n\r\n")
        answer = http.client.HTTPResponse(near)
        answer.begin()
        assert answer.read() == b"/inside"


REFUSED = [
    b"CONNECT evil.example.org:443 HTTP/1.1", b"CONNECT 127.0.0.1:1 HTTP/1.1",
    b"GET http://evil.example.org/ HTTP/1.1", b"GET http://127.0.0.1@evil.example.org/ HTTP/1.1", b"GET / HTTP/1.1",
    b"CONNECT [::1]:443 HTTP/1.1", b"CONNECT evil.example.org.:443 HTTP/1.1",
    b"CONNECT 127.0.0.1\revil.example.org:443 HTTP/1.1", b"GET http://evil.example.org/ HTTP/1.1\r\nHost: 127.0.0.1",
    b"\x16\x03\x01 not http",
]  # fmt: skip


@pytest.mark.attempt(5)
def test_every_other_host_is_refused(proxy: AllowProxy) -> None:
    for request_line in REFUSED:
        assert said(proxy, request_line + b"\r\n\r\n").startswith(b"HTTP/1.1 403 "), request_line


def test_a_host_that_is_down_is_said_to_be() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        proxy = AllowProxy([("127.0.0.1", port)], "a test")
        assert said(proxy, b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n" % port).startswith(b"HTTP/1.1 502 ")
        proxy.close()


def test_it_is_for_its_own_user_and_leaves_nothing(proxy: AllowProxy) -> None:
    assert proxy.folder.stat().st_mode & 0o777 == 0o700
    proxy.close()
    assert not proxy.folder.exists()


def test_a_temporary_folder_with_too_long_a_path_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / ("x" * 120)
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    with pytest.raises(EnvironmentProblem, match="cannot create a socket") as raised:
        AllowProxy([("127.0.0.1", 1)], "a test")
    assert "TMPDIR" in raised.value.hint
    assert not list(long.glob("**/proxy"))


def test_a_host_has_a_port() -> None:
    assert host_of("Api.Example.org") == ("api.example.org", 443)
    assert host_of("pypi.org:8443") == ("pypi.org", 8443)
