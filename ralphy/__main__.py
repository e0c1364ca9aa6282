"""`python -m ralphy` and the console script."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and end the process with its exit code."""
    from ralphy.cli.main import main as run

    sys.exit(run())


if __name__ == "__main__":
    main()
