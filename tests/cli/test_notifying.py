"""notify: who is not there is told once, by real programs and over real connections; none of them holds up a run."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import select
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from ralphy.notify import receivers
from tests.cli.conftest import Make
from tests.conftest import program
from tests.engine.building import PATIENCE_S, reports, story, works

KEEPS = ["sh", "-c", 'cat >> "$0"']
Got = list[tuple[dict[str, str], bytes]]


def told(path: Path) -> list[dict[str, Any]]:
    """The messages that a command has kept in a file, since the last look."""
    found = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    path.unlink(missing_ok=True)
    return found


@contextmanager
def listening(tmp_path: Path, answer: int = 204, *, tls: bool = False) -> Iterator[tuple[str, Got]]:
    """A receiver on this machine that answers so; its address, and what it got. A redirect leads to itself."""
    got: Got = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append((dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(answer)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        do_GET = do_POST  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        if tls:
            server.socket = tls_context(tmp_path).wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"{'https://localhost' if tls else 'http://127.0.0.1'}:{server.server_port}/hook", got
        server.shutdown()
        thread.join()


def tls_context(tmp_path: Path) -> ssl.SSLContext:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                    "-keyout", key, "-out", certificate], check=True, capture_output=True)  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


def test_each_thing_is_told_once_however_often_the_loop_is_called(made: Make, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    project, call = made(story("US-001"), notify={"command": [*KEEPS, str(kept)]})
    project.play(stories={"*": [works()]}, qa=[reports()])
    assert call("loop")[0] == 10
    notice = told(kept)[0]
    assert (notice["schema"], notice["event"], notice["title"]) == (
        "ralphy/notice@1", "gate", "login: waits for your approval")  # fmt: skip
    assert (notice["where"], notice["command"]) == ("docs/features/login/QA_REPORT.md", "ralphy approve login")
    assert call("loop")[0] == 10
    assert told(kept) == []
    assert call("reject", "-m", "again")[0] == 0
    assert call("loop")[0] == 10
    assert [notice["event"] for notice in told(kept)] == ["gate"], "the work went on: this is another document"
    assert call("approve")[0] == 0
    assert call("loop")[0] == 0
    assert [(notice["event"], notice["command"]) for notice in told(kept)] == [("ended", "ralphy report login")]
    assert call("loop")[0] == 0
    assert told(kept) == []


def test_a_webhook_gets_it_signed_and_over_a_connection_that_it_proves(
    made: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_SECRET", "Zq9-ab/cd+ef-12345")
    with listening(tmp_path, tls=True) as (address, got):
        _, call = made(story("US-001"), notify={"webhook": address, "webhook_secret_env": "HOOK_SECRET"})
        code, out, _ = call("notify", "--test")
        assert code == 5, "nobody has vouched for its certificate"
        assert out.startswith("webhook: ") and "delivered" not in out and got == []
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
        assert call("notify", "--test")[:2] == (0, "webhook: delivered\n")
        headers, body = got[-1]
        assert json.loads(body)["text"] == "This is a test: your messages arrive."
        signed = hmac.new(b"Zq9-ab/cd+ef-12345", headers["X-Ralphy-Timestamp"].encode() + b"." + body, hashlib.sha256)
        assert headers["X-Ralphy-Signature"] == f"sha256={signed.hexdigest()}"
        monkeypatch.delenv("HOOK_SECRET")
        assert (
            call("notify", "--test")[1]
            == "webhook: HOOK_SECRET is not set: it must hold the secret that signs the message\n"
        )
        assert len(got) == 1


def test_a_redirect_is_not_followed(made: Make, tmp_path: Path) -> None:
    with listening(tmp_path, 307) as (address, got):
        _, call = made(story("US-001"), notify={"webhook": address})
        assert call("notify", "--test")[:2] == (5, "webhook: the address answered 307\n")
        assert len(got) == 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_apprise_gets_title_and_text(made: Make, tmp_path: Path) -> None:
    with listening(tmp_path) as (address, got):
        _, call = made(story("US-001"), notify={"apprise": [address.replace("http:", "json:")]})
        assert call("notify", "--test")[:2] == (0, "apprise: delivered\n")
        assert json.loads(got[0][1])["message"] == "This is a test: your messages arrive.\nralphy status"


ADDRESSES = ("http://example.com/x", "https://me:pw@example.com/", "file:///etc/passwd",
             "http://127.0.0.1.example.com/", "https://a b/")  # fmt: skip


def test_an_address_that_is_not_https_is_no_setting(made: Make) -> None:
    project, call = made(story("US-001"))
    for address in ADDRESSES:
        project.configure(notify={"webhook": address})
        assert (address, call("notify")[0]) == (address, 3)


def test_receivers_that_hang_fail_or_are_gone_hold_up_nothing_and_are_named_once(
    made: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receivers, "TIMEOUT_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        at = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        notify = {"webhook": at, "command": ["sh", "-c", "sleep 600 & wait"], "apprise": ["x"]}
        project, call = made(story("US-001"), story("US-002"), limits={"max_attempts": 1}, notify=notify)
        project.play(stories={"*": [{"say": "no", "exit_signal": False}]})
        code, _, err = call("loop")
    assert code == 11
    assert err.count("notify.webhook: not delivered: ") == 1
    assert err.count("notify.command: not delivered: ") == 1
    assert err.count("notify.apprise: not delivered: ") == 1


def test_a_person_is_reminded_once_while_the_gate_waits(made: Make, tmp_path: Path) -> None:
    pipe = tmp_path / "told"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    project, _ = made(story("US-001"), notify={"command": [*KEEPS, str(pipe)], "remind_after_s": 0.2})
    project.play(stories={"*": [works()]}, qa=[reports()])
    with project.start("start", "login") as process:
        rows: list[dict[str, Any]] = []
        while len(rows) < 2:
            assert select.select([reader], [], [], PATIENCE_S)[0], rows
            rows += map(json.loads, os.read(reader, 65536).splitlines())
        process.terminate()
        process.communicate(timeout=PATIENCE_S)
    os.close(reader)
    assert process.returncode == 143
    assert [row["is_reminder"] for row in rows] == [False, True]
    assert {row["event"] for row in rows} == {"gate"}


def test_in_quiet_hours_nobody_is_told_and_an_error_is_told_at_any_other_time(
    made: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept"
    project, call = made(story("US-001"), notify={"command": [*KEEPS, str(kept)]})
    monkeypatch.setenv("RALPHY_NOTIFY_QUIET_HOURS", "00:00-23:59")
    (project.repo / ".git" / "index").write_bytes(b"torn")
    assert call("loop")[0] not in (0, 10)
    assert told(kept) == []
    monkeypatch.delenv("RALPHY_NOTIFY_QUIET_HOURS")
    assert call("loop")[0] not in (0, 10)
    assert [(notice["event"], notice["title"]) for notice in told(kept)] == [("ended", "Ralphy ended with an error")]


def test_without_a_receiver_it_says_what_to_set(made: Make) -> None:
    _, call = made(story("US-001"))
    for words in (("notify",), ("notify", "--test")):
        code, out, _ = call(*words)
        assert (code, "/ralphy/config.yaml: notify: {webhook: https://example.org/ralphy}" in out) == (0, True)


def test_a_receiver_that_only_the_repository_sets_is_said_not_to_be_accepted(made: Make) -> None:
    project, call = made(story("US-001"))
    project.git("update-ref", "refs/remotes/origin/main", "HEAD")
    (project.repo / ".ralphy" / "config.yaml").write_text("notify: {command: [cat]}\n", encoding="utf-8")
    code, out, _ = call("notify")
    assert (code, "sets notify.command, which you have not accepted" in out, "ralphy trust" in out) == (0, True, True)
    assert call("trust")[0] == 0
    assert call("notify")[1] == "command: set\n"


def test_what_the_server_says_of_a_refused_push_is_shown_everywhere_line_by_line(made: Make, tmp_path: Path) -> None:
    kept, hub = tmp_path / "kept", tmp_path / "hub.git"
    lines = ["error: GH013: Repository rule violations found", *(f"- Required check {n} is missing" for n in range(20)),
             "Review the rules at https://github.com/somebody/shop/rules"]  # fmt: skip
    gates = {"spec": "auto", "qa": "auto"}
    project, call = made(story("US-001"), notify={"command": [*KEEPS, str(kept)]}, gates=gates)
    project.add_remote(hub)
    project.git("config", "--global", "color.remote", "always")
    (hub / "said").write_text("\n".join([*lines, ""]), encoding="utf-8")
    hook = program(hub / "hooks" / "pre-receive", "cat said >&2\nexit 1")

    code, _, console = call("loop", "login")
    _, status, _ = call("status", "login")
    _, report, _ = call("report", "login")
    messages = "\n".join(message["text"] + message["command"] for message in told(kept))

    assert code == 4
    for place in (console, project.read("REPORT.md"), report, messages, json.dumps(call.json("status", "login")[1])):
        assert [line for line in lines if line.replace("_", "\\_") not in place and line not in place] == [], place
        assert "ralphy loop login" in place
    assert "was refused" in status
    hook.unlink()
    assert call("loop", "login")[0] == 0
    assert "was refused" not in call("status", "login")[1]
