"""The pictures of the dashboards in docs/pictures/: what textual draws as SVG, what Chromium shows as PNG.

`python -m tests.cli.dashboard_pictures docs/pictures` draws them; those of the page only where Chromium is installed.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from ralphy.cli.dashboard.board import Board
from ralphy.cli.dashboard.terminal import Terminal
from ralphy.cli.dashboard.web import Dashboard, bound
from ralphy.cli.options import Invocation
from ralphy.cli.output import Output
from tests.cli.a_board import NOW, FixedFeed, a_board, at_the_gate
from tests.cli.chromium import Chromium, why_no_chromium

_FONT_FACE = re.compile(r"@font-face \{.*?\}", re.S)  # of a host elsewhere


def a_call() -> Invocation:
    return Invocation(str(Path.cwd()), Output(quiet=True))


async def drawn(board: Board, columns: int, lines: int, *keys: str) -> str:
    """The terminal of that size after these keys, as SVG."""
    app = Terminal(a_call(), FixedFeed(board), clock=lambda: NOW)
    async with app.run_test(size=(columns, lines)) as pilot:
        await pilot.pause()
        await pilot.press(*keys)
        await pilot.pause()
        return _FONT_FACE.sub("", app.export_screenshot(title="ralphy dashboard", simplify=True))


@contextmanager
def served(dashboard: Dashboard, listening: object) -> Iterator[None]:
    """Answers in a thread of its own."""
    config = uvicorn.Config(
        dashboard.app(), log_level="critical", lifespan="off", ws="none", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(10)


def pages(folder: Path) -> None:
    """The page in the sizes and colours that people have."""
    os.environ["TZ"] = "UTC"
    sizes = (("web-light", a_board(), (1280, 900), "light", False), ("web-dark", a_board(), (1280, 900), "dark", False),
             ("web-phone", at_the_gate(), (390, 844), "light", True))  # fmt: skip
    for name, board, (width, height), scheme, phone in sizes:
        with tempfile.TemporaryDirectory() as home, bound(0) as listening, Chromium(Path(home)) as browser:
            page = Dashboard(a_call(), FixedFeed(board), listening.getsockname()[1])
            with served(page, listening):
                browser.look(width, height, scheme, phone=phone)
                browser.open(page.address)
                browser.until("document.querySelector('#stories table') !== null")
                (folder / f"dashboard-{name}.png").write_bytes(browser.picture(whole=not phone))
                assert browser.errors == []


def draw(folder: Path) -> None:
    views = (("80x24", a_board(), 80, 24, ()), ("200x50", a_board(), 200, 50, ()),
             ("gate", at_the_gate(), 100, 30, ("a",)))  # fmt: skip
    for name, board, columns, lines, keys in views:
        (folder / f"dashboard-{name}.svg").write_text(
            asyncio.run(drawn(board, columns, lines, *keys)), encoding="utf-8"
        )
    if why := why_no_chromium():
        sys.stderr.write(f"the pictures of the page are left as they are: {why}\n")
    else:
        pages(folder)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
