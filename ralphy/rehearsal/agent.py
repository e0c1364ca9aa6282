"""The rehearsal agent: plays one run with this process's arguments."""

from __future__ import annotations

import sys
from typing import NoReturn

from ralphy.rehearsal.run import play
from ralphy.rehearsal.scenario import load_scenario


def main() -> NoReturn:
    """Play one run, and end the process."""
    sys.exit(play(sys.argv[1:], load_scenario))
