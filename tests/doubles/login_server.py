"""The provider's server for logins, on loopback: Claude Code reaches it through a proxy, by its real name.

    with LoginServer(folder) as server:
        environment = server.environment      # HTTPS_PROXY and the certificates to trust

A refresh token is good for one renewal, as the provider's are; each gives a new pair. What is asked for besides gets an
empty object.
"""

from __future__ import annotations

import json
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

LOGIN_HOST = "platform.claude.com"
_LATER_MS = 4_102_444_800_000


def credentials(number: int, *, expires_ms: int = _LATER_MS) -> str:
    """The file of a login, `.credentials.json`."""
    login = {"accessToken": access(number), "refreshToken": f"sk-ant-ort01-{number}", "expiresAt": expires_ms,
             "scopes": ["user:inference", "user:profile"], "subscriptionType": "max"}  # fmt: skip
    return json.dumps({"claudeAiOauth": login})


def access(number: int) -> str:
    return f"sk-ant-oat01-{number}"


class LoginServer:
    """`renewed` are the numbers of the logins that were renewed; `refuses` says that none is renewed any more."""

    def __init__(self, folder: Path) -> None:
        self.renewed: list[int] = []
        self.refuses = False
        self._certificate = _certificates(folder)
        self._authority = folder / "ca.pem"
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))

    def __enter__(self) -> LoginServer:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def environment(self) -> dict[str, str]:
        return {"HTTPS_PROXY": f"http://127.0.0.1:{self._server.server_port}", "NO_PROXY": "127.0.0.1,localhost",
                "NODE_EXTRA_CA_CERTS": str(self._authority)}  # fmt: skip

    def context(self) -> ssl.SSLContext:
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.load_cert_chain(self._certificate)
        return made

    def answer(self, path: str, asked: dict[str, object]) -> tuple[int, dict[str, object]]:
        """Renew a login whose refresh token was not used yet."""
        token = str(asked.get("refresh_token", ""))
        if not path.endswith("/oauth/token"):
            return 200, {}
        number = int(token.rpartition("-")[2] or 0)
        if self.refuses or number in self.renewed:
            return 400, {"error": "invalid_grant", "error_description": "refresh token is not valid"}
        self.renewed.append(number)
        return 200, {"access_token": access(number + 1), "refresh_token": f"sk-ant-ort01-{number + 1}",
                     "expires_in": 28800, "scope": "user:inference user:profile", "token_type": "Bearer"}  # fmt: skip


def _handler(server: LoginServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        owner: ClassVar[LoginServer] = server

        def do_CONNECT(self) -> None:
            """Any other host is not there."""
            if self.path.partition(":")[0] != LOGIN_HOST:
                self.send_error(403)
                return
            self.send_response(200)
            self.end_headers()
            self.connection = self.owner.context().wrap_socket(self.connection, server_side=True)
            self.rfile = self.connection.makefile("rb")
            self.wfile = self.connection.makefile("wb", buffering=0)
            self.close_connection = False

        def finish(self) -> None:
            super().finish()
            self.connection.close()

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or b"{}")
            self._say(*self.owner.answer(self.path, asked))

        def do_GET(self) -> None:
            self._say(*self.owner.answer(self.path, {}))

        def _say(self, status: int, value: dict[str, object]) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            return

    return Handler


def _certificates(folder: Path) -> Path:
    """An authority of the test's own, and what it says of the host."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "names").write_text(f"subjectAltName=DNS:{LOGIN_HOST}\nextendedKeyUsage=serverAuth\n")
    new = ("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    for words in (
        (*new, "-x509", "-days", "2", "-subj", "/CN=Test authority", "-keyout", "ca.key", "-out", "ca.pem"),
        (*new, "-subj", f"/CN={LOGIN_HOST}", "-keyout", "host.key", "-out", "host.csr"),
        ("x509", "-req", "-in", "host.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
         "-extfile", "names", "-out", "host.crt"),
    ):  # fmt: skip
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)
    (folder / "host.pem").write_text((folder / "host.crt").read_text() + (folder / "host.key").read_text())
    return folder / "host.pem"
