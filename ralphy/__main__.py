"""`python -m ralphy` and the console script."""

from __future__ import annotations

import sys


def main() -> None:
    """Answer at once what can be, else load the command line; end the process with the exit code."""
    from ralphy.cli.quick import answer

    code = answer(sys.argv[1:])
    if code is None:
        from ralphy.cli.main import main as run

        code = run()
    sys.exit(code)


if __name__ == "__main__":
    main()
