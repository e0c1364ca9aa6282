"""A flood of stream-json through the Claude adapter: speed beside a bare read, and memory.

Each sample is a fresh process, `python -m bench.stream WHAT KIND MEGABYTES FOLDER`, which prints what it took.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from bench.ground import CannotRun, Effort, Ground
from bench.report import Figure, Judged, Limit, each

_LONG_LINE_MB = 10
_SMALL_MB = 20
_numbers = count()

# The agent: it prepares a megabyte of lines once and prints it again and again, then a result.
_FLOOD = r"""
import json, os, sys
kind, megabytes = sys.argv[1], int(sys.argv[2])
def line(event): return json.dumps(event).encode() + b"\n"
def result_of_tool(size):
    content = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "x = 1; y = 'two'\n" * (size // 17)}]
    return line({"type": "user", "message": {"role": "user", "content": content}, "session_id": "s"})
def said(text):
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
               "content": [{"type": "text", "text": text}], "usage": {"input_tokens": 3, "output_tokens": 5}}
    return line({"type": "assistant", "message": message, "session_id": "s"})
def put(data):
    view = memoryview(data)
    while view: view = view[os.write(1, view):]
put(line({"type": "system", "subtype": "init", "session_id": "s", "model": "m", "tools": []}))
if kind == "lines":
    block = (result_of_tool(8000) + said("I look at the next file. " * 20)) * 120
    for _ in range(megabytes * 1000000 // len(block)): put(block)
else:
    put(result_of_tool(megabytes * 1000000))
put(line({"type": "result", "subtype": "success", "is_error": False, "result": "done", "session_id": "s",
          "num_turns": 1, "terminal_reason": "completed", "total_cost_usd": 0.01,
          "usage": {"input_tokens": 1, "output_tokens": 1}}))
"""


def measure(ground: Ground, effort: Effort) -> Iterator[Figure]:
    """Intake, a line of 10 MB, and what memory grows by."""
    size = effort.pick(full=200, quick=60)
    rounds = range(effort.pick(full=5, quick=2))
    taken = [(_fresh(ground, "adapter", "lines", size), _fresh(ground, "bare", "lines", size)) for _ in rounds]
    yield Figure(f"stream intake, {size} MB", "MB/s", each(size / ours["seconds"] for ours, _ in taken),
                 each(size / bare["seconds"] for _, bare in taken), Limit(Judged.LEAST, 80.0),
                 "lines of 8.3 and 0.7 KB, the file of the run written; "
                 "the baseline reads lines from the pipe and parses each with json")  # fmt: skip
    small = [_fresh(ground, "adapter", "lines", _SMALL_MB) for _ in rounds]
    growth = each(max(0.0, ours["peak_mb"] - less["peak_mb"]) for (ours, _), less in zip(taken, small, strict=True))
    yield Figure(f"peak memory, {size} MB against {_SMALL_MB} MB", "MB more", growth, (), Limit(Judged.MEDIAN, 4.0))
    yield from _long_line(ground, rounds)


def _long_line(ground: Ground, rounds: range) -> Iterator[Figure]:
    taken = [(_fresh(ground, "adapter", "long", _LONG_LINE_MB), _fresh(ground, "bare", "long", _LONG_LINE_MB))
             for _ in rounds]  # fmt: skip
    yield Figure(f"a line of {_LONG_LINE_MB} MB", "ms", each(ours["seconds"] * 1000 for ours, _ in taken),
                 each(bare["seconds"] * 1000 for _, bare in taken), None,
                 "accepted; from the start of the agent, a Python of its own, to its end")  # fmt: skip
    grown = (each(sample["grown_mb"] for sample in side) for side in zip(*taken, strict=True))
    yield Figure(f"peak memory for a line of {_LONG_LINE_MB} MB", "MB more", next(grown), next(grown))


def _fresh(ground: Ground, what: str, kind: str, megabytes: int) -> dict[str, float]:
    folder = ground.folder / f"stream-{next(_numbers)}"
    folder.mkdir()
    argv = [sys.executable, "-m", "bench.stream", what, kind, str(megabytes), str(folder)]
    ended = subprocess.run(argv, env=ground.env, capture_output=True, check=False)
    if ended.returncode:
        raise CannotRun(ended.stderr.decode()[-600:])
    taken: dict[str, float] = json.loads(ended.stdout)
    for path in folder.rglob("stream.ndjson"):
        path.unlink()
    return taken


def _adapter(command: tuple[str, ...], folder: Path) -> float:
    """Seconds of a whole run, from the start of the agent to its judged end."""
    from ralphy.agents.claude.cli import Claude
    from ralphy.agents.program import Conditions
    from ralphy.agents.protocol import AgentRequest, Outcome

    request = AgentRequest(run="run", cwd=str(folder), run_dir=str(folder / "run"), model="m",
                           deadline_s=120.0, session="s", env=dict(os.environ))  # fmt: skip
    began = time.perf_counter()
    result = Claude(command, Conditions()).prepared(request, lambda _: None)("go")
    took = time.perf_counter() - began
    if result.outcome is not Outcome.SUCCEEDED:
        sys.exit(f"the run ended as {result.outcome.value}: {result.detail}")
    return took


def _bare(command: tuple[str, ...], _: Path) -> float:
    began = time.perf_counter()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        assert process.stdout
        for line in process.stdout:
            json.loads(line)
    return time.perf_counter() - began


def _peak_mb() -> float:
    """The most that was resident; not getrusage's, which begins with what the parent held at the fork."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1000


def _main(what: str, kind: str, megabytes: str, folder: str) -> None:
    command = (sys.executable, "-I", "-S", "-c", _FLOOD, kind, megabytes)
    before = _peak_mb()
    seconds = {"adapter": _adapter, "bare": _bare}[what](command, Path(folder))
    peak = _peak_mb()
    sys.stdout.write(json.dumps({"seconds": seconds, "peak_mb": peak, "grown_mb": peak - before}))


if __name__ == "__main__":
    _main(*sys.argv[1:])
