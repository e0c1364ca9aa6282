"""The pictures of the dashboard in docs/pictures/: what Chromium shows, as PNG.

`python -m tests.cli.dashboard_pictures docs/pictures` draws them where Chromium is installed.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from ralphy.cli.dashboard.board import Board
from ralphy.cli.dashboard.web import Dashboard, bound
from ralphy.cli.options import Invocation
from ralphy.cli.output import Output
from tests.cli.a_board import a_board, at_the_gate
from tests.cli.chromium import Chromium, why_no_chromium


def a_call() -> Invocation:
    return Invocation(Path.cwd(), Output(quiet=True))


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


def always(board: Board) -> Callable[[Invocation, str], AsyncIterator[Board]]:
    """One board, which does not change."""

    async def boards(_: Invocation, __: str) -> AsyncIterator[Board]:
        yield board
        await asyncio.Event().wait()

    return boards


def draw(folder: Path) -> None:
    """The page in the sizes and colours that people have."""
    os.environ["TZ"] = "UTC"
    sizes = (("web-light", a_board(), (1280, 900), "light", False), ("web-dark", a_board(), (1280, 900), "dark", False),
             ("web-phone", at_the_gate(), (390, 844), "light", True))  # fmt: skip
    for name, board, (width, height), scheme, phone in sizes:
        with tempfile.TemporaryDirectory() as home, bound(0) as listening, Chromium(Path(home)) as browser:
            page = Dashboard(a_call(), listening.getsockname()[1], boards=always(board))
            with served(page, listening):
                browser.look(width, height, scheme, phone=phone)
                browser.open(page.address)
                browser.until("document.querySelector('#stories table') !== null")
                (folder / f"dashboard-{name}.png").write_bytes(browser.picture(whole=not phone))
                assert browser.errors == []


if __name__ == "__main__":
    if why := why_no_chromium():
        sys.stderr.write(f"the pictures of the dashboard are left as they are: {why}\n")
    else:
        draw(Path(sys.argv[1]))
