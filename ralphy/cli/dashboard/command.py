"""dashboard: a night on a page in a browser."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec

import click

from ralphy.cli.dashboard.board import WatchedFeature
from ralphy.cli.options import Invocation, WholeNumber, feature_argument, with_options
from ralphy.cli.report import open_in_browser
from ralphy.errors import EnvironmentProblem, ExitCode


@click.command("dashboard")
@feature_argument
@click.option("--port", type=WholeNumber(0, 65535), default=0, metavar="N", help="The port; default: a free one.")
@click.option("--allow-host", "hosts", multiple=True, metavar="HOST[:PORT]",
              help="A name by which your own tunnel reaches the page; can be repeated.")  # fmt: skip
@click.option("--open", "opens", is_flag=True, help="Open the page in your browser.")
@with_options
def dashboard(
    call: Invocation, feature: str | None, port: int, hosts: Sequence[str], opens: bool
) -> int:  # fmt: skip
    """You can approve, reject, answer and stop from there. Serves the page on 127.0.0.1 and prints its address, until
    Ctrl-C. It needs the extra web. --json prints what the page shows, once.
    """
    call.repository()  # or there is none to show
    name = call.feature(feature).name if feature else ""
    if call.output.as_json:
        call.output.data("", WatchedFeature(call, name).board())
        return ExitCode.DONE
    for module in ("starlette", "uvicorn"):
        if find_spec(module) is None:
            raise EnvironmentProblem(f"the dashboard needs {module}, which is not installed",
                                     hint="in a clone of Ralphy: pip install '.[web]'")  # fmt: skip
    return _serve(call, name, port, hosts, opens=opens)


def _serve(call: Invocation, name: str, port: int, hosts: Sequence[str], *, opens: bool) -> int:
    from ralphy.cli.dashboard.web import Dashboard, bound, serve  # needs the extra

    with bound(port) as listening:
        page = Dashboard(call, listening.getsockname()[1], hosts)
        address = f"{page.address}#{name}" if name else page.address

        with suppress(KeyboardInterrupt):
            call.output.verbatim(f"{address}\n")
            call.output.note("Whoever has this address can approve; Ctrl-C ends it.")
            if opens:
                open_in_browser(call, address)
            serve(page, listening)  # the socket listens already: who comes before waits
    return ExitCode.DONE
