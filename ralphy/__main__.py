"""`python -m ralphy` and the console script."""

from __future__ import annotations

import os
import signal
import sys

from ralphy.processes.program_paths import leave_checkout


def main() -> None:
    """Run the command line; end the process with the exit code."""
    _fill_closed_streams()
    leave_checkout()  # before anything is loaded that a file of the checkout could stand in for
    from ralphy.cli.main import main as run
    from ralphy.cli.terminal import speak_ascii

    speak_ascii(sys.stdout, sys.stderr)
    code = run()
    _be_done()
    sys.exit(code)


def _be_done() -> None:
    """The answer stands: Ctrl-C has nothing left to end, and would only print where Python clears up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _fill_closed_streams() -> None:
    """A stream that the caller closed (`>&-`) leads nowhere; else the next file that is opened takes its place."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w", encoding="utf-8"))


if __name__ == "__main__":
    main()
