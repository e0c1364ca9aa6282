"""A real Chromium without a window, driven over two pipes (its own protocol, JSON between NUL bytes)."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import time
from pathlib import Path
from types import TracebackType
from typing import Any

_PATIENCE_S = 60.0
_FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions", "--mute-audio",
          "--disable-background-networking", "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
          "--disable-component-update", "--disable-sync")  # fmt: skip


def why_no_chromium() -> str:
    """Why there is none to drive; "" if there is."""
    return "" if _program() else "Chromium is not installed (make browser, as root)"


def _program() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Chromium:
    """One page of a browser of its own, with an empty profile."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> Chromium:
        (theirs, self._to), (self._from, written) = os.pipe(), os.pipe()
        high = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, 20) for one in (theirs, written)]
        program = _program()
        assert program
        argv = [program, *_FLAGS, f"--user-data-dir={self._folder}", "about:blank"]
        env = {**os.environ, "HOME": str(self._folder)}
        actions: list[tuple[Any, ...]] = [(os.POSIX_SPAWN_OPEN, n, os.devnull, os.O_RDWR, 0) for n in (0, 1, 2)]
        actions += [(os.POSIX_SPAWN_DUP2, one, n) for n, one in enumerate(high, 3)]
        self._pid = os.posix_spawn(program, argv, env, file_actions=actions, setsid=True)
        for one in (theirs, written, *high):
            os.close(one)
        self._data, self._number, self._session, self.errors = b"", 0, "", list[str]()
        pages = [one for one in self._ask("Target.getTargets")["targetInfos"] if one["type"] == "page"]
        target = pages[0]["targetId"] if pages else self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._ask(f"{domain}.enable")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._session = ""
        try:
            self._ask("Browser.close")
        except (AssertionError, OSError):
            os.kill(self._pid, signal.SIGKILL)
        os.close(self._to)
        os.close(self._from)
        os.waitpid(self._pid, 0)

    def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        asked = {"id": self._number, "method": method, "params": params}
        if self._session:
            asked["sessionId"] = self._session
        os.write(self._to, json.dumps(asked).encode() + b"\0")
        while True:
            told = self._next()
            if told.get("id") == self._number:
                assert "error" not in told, told
                found: dict[str, Any] = told["result"]
                return found

    def _next(self) -> dict[str, Any]:
        """The next message; what went wrong in the page is noted."""
        while b"\0" not in self._data:
            assert select.select([self._from], [], [], _PATIENCE_S)[0], "Chromium is silent"
            piece = os.read(self._from, 1 << 20)
            assert piece, "Chromium has ended"
            self._data += piece
        message, _, self._data = self._data.partition(b"\0")
        told: dict[str, Any] = json.loads(message)
        if told.get("method") == "Runtime.exceptionThrown":
            self.errors.append(str(told["params"]["exceptionDetails"]))
        if told.get("method") == "Log.entryAdded" and told["params"]["entry"]["level"] == "error":
            self.errors.append(told["params"]["entry"]["text"])
        return told

    def look(self, width: int, height: int, scheme: str = "light", *, phone: bool = False) -> None:
        """The size of the window, and the person's colours."""
        self._ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self._ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, address: str) -> None:
        self._ask("Page.navigate", url=address)

    def value(self, expression: str) -> Any:
        """What a line of JavaScript gives in the page."""
        told = self._ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def until(self, expression: str) -> Any:
        """Wait until it is true."""
        end = time.monotonic() + _PATIENCE_S
        while not (found := self.value(expression)):
            assert time.monotonic() < end, f"not true: {expression}: {self.value('document.body.innerText')}"
            time.sleep(0.05)
        return found

    def click(self, text: str) -> None:
        """Click the button that says so."""
        button = f"[...document.querySelectorAll('button')].find((one) => one.textContent === {json.dumps(text)})"
        box = self.until(
            f"(() => {{ const it = {button}; if (!it) return null; it.scrollIntoView({{block: 'center'}}); "
            "const r = it.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self._ask("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self._ask("Input.insertText", text=text)

    def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self._ask("Input.dispatchKeyEvent", type=kind, key=key, text=key if kind == "keyDown" else "")

    def picture(self, *, whole: bool = False) -> bytes:
        """The page as PNG; the `whole` of it, or what the window shows."""
        told = self._ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(told["data"])
