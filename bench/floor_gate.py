"""The bare reactor: look for APPROVED, commit on a new branch, start the agent.

A script of its own: `python -m bench.floor_gate AGENT...` in the repository to work in. It reads the names of
features' folders from stdin, one a line, says "ready", and "done" when the agent has ended.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from bench.floor import rewrite, run


def main(*agent: str) -> None:
    for line in sys.stdin:
        folder = Path(line.strip())
        say("ready")
        while not (folder / "APPROVED").exists():
            time.sleep(0.001)
        begin(folder)
        run(agent, "the story")
        say("done")


def begin(folder: Path) -> None:
    """What Ralphy does, too: the word recorded in prd.json, the marker taken, a branch, a commit."""
    document = json.loads((folder / "prd.json").read_bytes())
    document["approved"] = True
    rewrite(str(folder / "prd.json"), document)
    (folder / "APPROVED").unlink()
    subprocess.run(["git", "switch", "-q", "-c", f"bare/{folder.name}"], check=True)
    subprocess.run(["git", "add", str(folder)], check=True)
    subprocess.run(["git", "commit", "-q", "-m", f"chore: {folder.name} approved"], check=True)


def say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
