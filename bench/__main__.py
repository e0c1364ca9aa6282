"""`python -m bench [--quick] [--json] [NAME…]`: measure, and print a table. It judges, but it fails nobody."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module

from bench.ground import CannotRun, Effort, Ground, ground
from bench.report import Figure, as_value, table

NAMES = ("startup", "store", "prompt", "stream", "gap", "reaction", "idle", "lane", "crew", "proof")

Measure = Callable[[Ground, Effort], Iterator[Figure]]


def main(words: Sequence[str] | None = None) -> int:
    """0 when everything that was asked for could be measured, whatever came out; else 1."""
    asked = _arguments(words)
    figures: list[Figure] = []
    troubles = 0
    effort = Effort.QUICK if asked.quick else Effort.FULL
    began = time.monotonic()
    with ground() as place:
        for name in asked.names or NAMES:
            _note(f"{name} …")
            start = time.monotonic()
            try:
                figures += _measure(name)(place, effort)
                _note(f"{name}: measured in {time.monotonic() - start:.0f} s")
            except (CannotRun, OSError, subprocess.SubprocessError) as error:
                troubles += 1
                _note(f"{name} could not be measured: {error}")
            except KeyboardInterrupt:  # what was measured until then is printed
                troubles += 1
                _note(f"{name} was interrupted; the rest is not measured")
                break
        setting = {**_machine(), "effort": effort.value, "agent": place.stand_in.kind}
    setting["seconds"] = round(time.monotonic() - began)
    sys.stdout.write(_as_json(setting, figures) if asked.json else _as_text(setting, figures))
    return 1 if troubles else 0


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Ralphy beside bare baselines.")
    parser.add_argument("--quick", action="store_true", help="few samples: does it work, roughly how fast")
    parser.add_argument("--json", action="store_true", help="all samples, as JSON")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which (all): {', '.join(NAMES)}")
    asked = parser.parse_args(words)
    unknown = sorted(set(asked.names) - set(NAMES))
    if unknown:
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(NAMES)}")
    return asked


def _measure(name: str) -> Measure:
    found: Measure = import_module(f"bench.{name}").measure
    return found


def _machine() -> dict[str, object]:
    load = os.getloadavg()[0]
    return {"cores": os.cpu_count(), "load": round(load, 1), "python": platform.python_version(),
            "system": f"{platform.system()} {platform.machine()}"}  # fmt: skip


def _as_text(setting: dict[str, object], figures: Sequence[Figure]) -> str:
    about = ", ".join(f"{name} {value}" for name, value in setting.items())
    return f"{table(figures)}\n({about})\n"


def _as_json(setting: dict[str, object], figures: Sequence[Figure]) -> str:
    value = {"schema": "ralphy/bench@1", "setting": setting, "figures": [as_value(figure) for figure in figures]}
    return json.dumps(value, indent=1) + "\n"


def _note(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
