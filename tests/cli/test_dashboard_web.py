"""The dashboard's page: who is let in, what it is told, and what a person does on it, in a real browser too."""

from __future__ import annotations

import json
import re
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import psutil
import pytest

from ralphy.cli.dashboard.web import Dashboard, bound
from ralphy.cli.options import Invocation
from ralphy.cli.output import Output
from ralphy.documents.questions import answers, asked
from tests.cli.chromium import Chromium, why_no_chromium
from tests.cli.conftest import Make
from tests.cli.dashboard_pictures import served
from tests.engine.building import PATIENCE_S, ROOT, Project, build, reports, story, works
from tests.engine.nights import played_once


class Site:
    """A dashboard that answers, and a project whose review waits for a person."""

    def __init__(self, project: Project, page: Dashboard) -> None:
        self.project = project
        self.page = page
        self.host = f"127.0.0.1:{page.port}"

    def ask(self, path: str, body: Any = None, token: str | None = None, **headers: str) -> tuple[HTTPResponse, bytes]:
        """What comes of a request; with a body it is a POST. `Host=…` and the like replace what a browser sends."""
        connection = HTTPConnection("127.0.0.1", self.page.port, timeout=PATIENCE_S)
        data = None if body is None else json.dumps(body)
        sent = {"Content-Type": "application/json", "Origin": f"http://{self.host}"} if data else {}
        prefix = self.page.token if token is None else token
        connection.request("POST" if data else "GET", f"/{prefix}/{path}", data, {**sent, **headers})
        answer = connection.getresponse()
        found = answer.read()
        connection.close()
        return answer, found

    def do(self, act: str, **said: str) -> tuple[int, dict[str, Any]]:
        answer, data = self.ask(f"do/{act}", {"feature": "login", **said})
        return answer.status, json.loads(data)


class Stream:
    """The events of a page, as they come."""

    def __init__(self, site: Site) -> None:
        self._socket = socket.create_connection(("127.0.0.1", site.page.port))
        asked_for = f"GET /{site.page.token}/events?feature=login HTTP/1.1\r\nHost: {site.host}\r\n\r\n"
        self._socket.sendall(asked_for.encode())
        self._text = ""

    def until(self, wanted: str) -> str:
        while wanted not in self._text:
            assert select.select([self._socket], [], [], PATIENCE_S)[0], f"nothing comes after {self._text!r}"
            piece = self._socket.recv(1 << 20)
            assert piece, "the stream has ended"
            self._text += piece.decode()
        return self._text

    def close(self) -> None:
        self._socket.close()


@played_once
def reviewed(place: Path) -> Project:
    project = build(place, story("US-001"))
    project.play(stories={"*": [works()]}, qa=[reports()])
    assert project.loop().code == 10
    return project


@pytest.fixture
def site(reviewed: Project) -> Iterator[Site]:
    call = Invocation(reviewed.repo, Output(quiet=True))
    with bound(0) as listening:
        page = Dashboard(call, listening.getsockname()[1], ["Ralphy.Example.org"])
        with served(page, listening):
            yield Site(reviewed, page)


def test_only_who_knows_the_token_and_comes_from_the_page_itself_is_answered(site: Site) -> None:
    home, page = site.ask("")
    assert home.status == 200 and b"app.js" in page
    policy = home.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert home.headers["Referrer-Policy"] == "no-referrer" and home.headers["X-Content-Type-Options"] == "nosniff"
    for name in ("style.css", "app.js"):
        assert b"http:" not in site.ask(name)[1]
    refused = [
        site.ask("", token=""), site.ask("", token="x" * 32), site.ask("events", token=site.page.token[:-1]),
        site.ask("", Host="evil.example"), site.ask("", Host=f"evil.example:{site.page.port}"),
        site.ask("log", Origin="http://evil.example"), site.ask("log", Origin="null"),
        site.ask("do/approve", {"feature": "login"}, Origin="https://evil.example"),
        site.ask("do/approve", {"feature": "login"}, token="guess"),
    ]  # fmt: skip
    assert [answer.status for answer, _ in refused] == [403] * len(refused)
    assert not any(b"login" in data for _, data in refused)
    bare = HTTPConnection("127.0.0.1", site.page.port, timeout=PATIENCE_S)
    bare.request("POST", f"/{site.page.token}/do/abort", b"{}", {"Content-Type": "application/json"})  # no Origin
    assert bare.getresponse().status == 403
    bare.close()
    assert site.ask("", Host="ralphy.example.org")[0].status == 200
    assert site.ask("app.js", Host="ralphy.example.org", Origin="https://ralphy.example.org")[0].status == 200
    assert site.ask("nosuch")[0].status == 404


def test_what_a_person_says_is_written_and_told_to_who_watches(site: Site) -> None:
    stream = Stream(site)
    found = re.search(r"id=.{1,2}approve.*?data-seen=.{1,2}([\w+]+)", stream.until("Send back with remarks"))
    assert found
    seen = found[1]
    assert site.ask("document?feature=login&name=QA_REPORT.md")[1].startswith(b"---\nverdict: pass")
    assert site.ask("document?feature=login&name=changes")[1].startswith(b"diff --git a/src/us_001.py")
    assert site.ask("document?feature=login&name=../../../check.py")[0].status == 404
    assert b"US-001" in site.ask("log?feature=login&story=US-001")[1]
    assert site.do("approve")[0] == 400
    assert site.do("approve", seen="something else")[0] == 409
    assert site.do("reject", seen=seen, text="")[0] == 400
    assert site.do("nosuch", seen=seen)[0] == 404
    assert site.do("reject", seen=seen, text="Name the risks.") == (
        200, {"ok": True, "said": "sent qa of login back with your remarks"}
    )  # fmt: skip
    assert site.project.read("REJECTED") == "Name the risks."
    (site.project.folder / "REJECTED").unlink()
    site.project.write("QUESTIONS.md", asked("", "US-001", "Story", "Which colour?"))
    stream.until("Which colour?")
    assert site.do("answer", key="US-001", text="Blue.")[1]["ok"]
    assert answers(site.project.read("QUESTIONS.md"))[0].text == "Blue."
    site.project.write("QUESTIONS.md", "")
    assert site.do("approve", seen=seen)[1]["ok"]
    assert (site.project.folder / "APPROVED").exists()
    (site.project.folder / "APPROVED").unlink()
    site.project.write("QA_REPORT.md", site.project.read("QA_REPORT.md") + "\nMore.\n")
    assert site.do("approve", seen=seen)[0] == 409
    assert not (site.project.folder / "APPROVED").exists()
    assert site.do("abort")[1]["error"]["message"] == "Ralphy is not running in this checkout"
    answer, data = site.ask("do/approve", ["x" * 200_000])
    assert answer.status == 400 and b"too long" in data
    stream.close()


def test_the_command_prints_the_address_and_ends_with_ctrl_c(made: Make) -> None:
    project, _ = made(story("US-001"))
    argv = [sys.executable, "-P", "-m", "ralphy", "dashboard", "login"]
    env = {**project.env, "PYTHONPATH": str(ROOT)}
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(argv, cwd=project.repo, env=env, text=True, **pipes) as process:
        assert process.stdout
        assert select.select([process.stdout], [], [], PATIENCE_S)[0]
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:") and address.endswith("/#login")
        port = int(address.split(":")[2].partition("/")[0])
        heard = [one for one in psutil.Process(process.pid).net_connections() if one.status == psutil.CONN_LISTEN]
        assert [(one.laddr.ip, one.laddr.port) for one in heard] == [("127.0.0.1", port)]
        with socket.create_connection(("127.0.0.1", port), 5):
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, said
    assert "Traceback" not in said


@pytest.mark.skipif(bool(why_no_chromium()), reason=why_no_chromium())
def test_a_person_reads_answers_and_approves_in_a_browser(site: Site, tmp_path: Path) -> None:
    site.project.write("PRD.md", "# <script>document.title = 'x'</script>\n")
    with Chromium(tmp_path / "profile") as browser:
        browser.look(390, 844, "dark", phone=True)
        browser.open(f"{site.page.address}#login")
        browser.until("document.querySelector('#approve') !== null")
        assert browser.value("document.documentElement.scrollWidth <= innerWidth"), "wider than a phone"
        assert browser.value("[...document.querySelectorAll('textarea')].every((one) => one.labels.length === 1)")
        assert browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"
        browser.click("Read QA_REPORT.md")
        browser.until("document.querySelector('#document pre')?.textContent.includes('verdict: pass')")
        browser.press("r")
        browser.type("Half a sentence")
        site.project.write("QUESTIONS.md", asked("", "US-001", "Story", "<b>Which</b> colour?"))
        browser.until("document.body.innerText.includes('<b>Which</b> colour?')")
        assert browser.value("document.querySelector('#remarks').value") == "Half a sentence"
        browser.value("document.querySelector('#answer-US-001').focus()")
        browser.type("Blue.")
        browser.click("Answer US-001")
        browser.until("document.querySelector('#said').textContent === 'answered US-001'")
        assert answers(site.project.read("QUESTIONS.md"))[0].text == "Blue."
        (site.project.folder / "QUESTIONS.md").unlink()
        browser.look(1280, 900)
        browser.until("document.querySelector('#approve') && !document.querySelector('#answer-US-001')")
        browser.press("a")
        assert browser.value("document.activeElement.id") == "approve"
        browser.click("Approve QA_REPORT.md")
        browser.until("document.querySelector('#said').textContent === 'approved qa of login'")
        assert (site.project.folder / "APPROVED").exists()
        assert browser.errors == []
