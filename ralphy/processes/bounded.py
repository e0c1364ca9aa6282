"""Runs a small program without a supervisor: to its end or a time limit, at which its whole session ends."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path


def run_bounded(
    argv: Sequence[str], *, cwd: Path | str, env: Mapping[str, str], timeout_s: float, stdin: bytes = b"",
    pass_fds: Sequence[int] = (), output: int = subprocess.PIPE,
) -> subprocess.CompletedProcess[bytes]:  # fmt: skip
    """Run a program in a session of its own: without a terminal it cannot ask anybody.

    Raises OSError if it cannot be started, and TimeoutExpired at the limit. Any exception, Ctrl-C included, kills the
    program and what it has started in its session.
    """
    with subprocess.Popen(
        argv, cwd=cwd, env=env, start_new_session=True, pass_fds=pass_fds,
        stdin=subprocess.PIPE, stdout=output, stderr=output,
    ) as process:  # fmt: skip
        try:
            out, err = process.communicate(stdin, timeout_s)
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(argv, process.returncode, out, err)
