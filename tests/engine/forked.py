"""A call of `ralphy` as a process of its own without its longest part, the imports: they were made in this process.

It has its own session, environment, folder and streams, like any program that is started; it never returns to pytest.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import TracebackType

from ralphy.cli.commands import COMMANDS

Main = Callable[[], int]


class Started(subprocess.Popen[str]):
    """A process that is killed where a test fails beside it, and not waited for."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is not None:
            self.kill()
        super().__exit__(kind, error, traceback)


@cache
def import_commands() -> None:
    """Import here what any command needs: each child would do it again, which takes longer than most calls."""
    for module, _ in COMMANDS.values():
        import_module(f"ralphy.cli.{module}")


def forked(
    main: Main, *, cwd: Path, env: Mapping[str, str], stdout: int, stderr: int, stdin: int = subprocess.DEVNULL
) -> Started:
    """Start a process that is this one, and does `main`."""
    import_commands()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which the child does not have
        return Started(
            [sys.executable],  # never executed: `become` does not return
            preexec_fn=lambda: become(main, env),
            cwd=cwd,
            start_new_session=True,
            restore_signals=False,  # a program of Python ignores SIGPIPE
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            encoding="utf-8",
        )


def become(main: Main, env: Mapping[str, str]) -> None:
    """Run `main` in this child, and end it with the code."""
    code = 1
    try:
        gc.freeze()  # what pytest has left must not close files that are opened here
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        os.environ.clear()
        os.environ.update(env)
        tempfile.tempdir = None  # asks TMPDIR again
        time.tzset()
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)
        code = main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # as Python ends a program: pytest's handlers must not see it
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)
