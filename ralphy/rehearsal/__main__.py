"""Run the rehearsal agent: `python -m ralphy.rehearsal …`, or this file by its path."""

import sys

if not __package__:
    # Started by path: Python put this folder in front, but the package is found two folders up.
    from pathlib import Path

    sys.path[0] = str(Path(__file__).resolve().parents[2])

from ralphy.rehearsal.agent import main

if __name__ == "__main__":
    main()
