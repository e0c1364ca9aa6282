"""What the proof of a story costs: runs of the checks and seconds, beside one full run of the project's tests."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from bench.ground import CannotRun, Effort, Ground, story, write
from bench.report import Figure, Judged, Limit, each

if TYPE_CHECKING:
    from ralphy.engine.workspace.workspace import Workspace

_MOST_NEW, _MOST_EDITED = 1.1, 2.2  # full runs in all, that of the story among them
_CODE = "def add(a, b):\n    return a + b\n"
_PYPROJECT = '[tool.pytest.ini_options]\npythonpath = ["."]\naddopts = "-q -p no:cacheprovider"\n'
_TEST = "from calc import add\n\n\ndef test_{n}():\n{waits}    assert add({n}, 1) == {n} + 1\n"
_MUL = "\n\ndef mul(a, b):\n    return a * b\n"
_EDITED = ""  # the file as it is, with one expectation changed
_STORIES: Mapping[str, Mapping[str, str]] = {
    "new tests": {
        "calc.py": _CODE + _MUL,
        "tests/test_mul.py": "from calc import mul\n\n\ndef test_mul():\n    assert mul(2, 3) == 6\n",
    },
    "edited tests": {"calc.py": _CODE.replace("a + b", "float(a) + b"), "tests/test_0.py": _EDITED},
}
_LIMITS = {"new tests": _MOST_NEW, "edited tests": _MOST_EDITED}


def measure(ground: Ground, effort: Effort) -> Iterator[Figure]:
    """A project of 600 tests in 60 files, and a slow one; of each a story with new tests and one with edited ones."""
    turns = effort.pick(full=5, quick=1)
    for name, files, waits_s in (("600 tests", 60, 0.0), ("a slow suite", 20, effort.pick(full=300, quick=100) / 1000)):
        root = _project(ground, name.replace(" ", "-"), files, 600 // files if not waits_s else 1, waits_s)
        for kind, change in _STORIES.items():
            taken = [_judged(ground, root, change) for _ in range(turns)]
            full = each(full_s for _, _, full_s in taken)
            note = f"{taken[0][1]:.0f} runs of a check beside the first; the baseline is one full run"
            yield Figure(f"a story with {kind}, {name}", "s", each(took_s for took_s, _, _ in taken), full,
                         Limit(Judged.RATIO, _LIMITS[kind]), note)  # fmt: skip


def _project(ground: Ground, name: str, files: int, tests: int, waits_s: float) -> Path:
    root = ground.repository(name, {"proof": {"prd.json": _prd()}})
    write(root / "calc.py", _CODE)
    write(root / "pyproject.toml", _PYPROJECT)
    write(root / ".gitignore", "__pycache__/\n")
    waits = f"    __import__('time').sleep({waits_s})\n" if waits_s else ""
    for number in range(files):
        each_test = (_TEST.format(n=number * tests + n, waits=waits) for n in range(tests))
        first, *others = [text.split("\n\n\n") for text in each_test]
        write(root / f"tests/test_{number}.py", "\n\n\n".join([*first, *(body for _, body in others)]))
    write(root / ".ralphy" / "config.yaml", json.dumps({
        "checks": [{"name": "test", "run": f"{sys.executable} -m pytest"}], "lanes": {"probe": "off"},
        "agent": {"command": ground.stand_in.command}, "safety": {"sandbox": "none"},
    }))  # fmt: skip
    ground.git(root, "add", "-A")
    ground.git(root, "commit", "-q", "-m", "a project")
    return root


def _prd() -> str:
    return json.dumps({"project": "bench", "branchName": "main", "description": "Proof", "userStories": [story(1)]})


def _files(w: Workspace, change: Mapping[str, str]) -> Mapping[str, str]:
    """What a story writes, with the text of the file that it edits."""
    if "tests/test_0.py" not in change:
        return change
    entry = w.objects.at(w.objects.tree_of("HEAD"), "tests/test_0.py")
    text = (w.objects.read(entry.oid) or b"").decode() if entry else ""
    edited = text.replace("assert add(0, 1) == 0 + 1", "assert repr(add(0, 1)) == '1.0'")
    return {**change, "tests/test_0.py": edited}


def _judged(ground: Ground, root: Path, change: Mapping[str, str]) -> tuple[float, float, float]:
    """(seconds to judge a story, runs of checks beside the first, seconds of a full run), as `ralphy prove` does."""
    from bench.judged import ask_before, candidate, opened
    from ralphy.engine.verify.verify import judge_tree
    from ralphy.engine.workspace.subject import Subject, working_on
    from ralphy.pipeline.model import Story

    with opened(root, "proof", ground.env) as w:
        began = time.perf_counter()
        ask_before(w)
        full_s = time.perf_counter() - began
        taken = candidate(w, _files(w, change))
        about = Subject("US-00001")
        began = time.perf_counter()
        with working_on(about):
            told = judge_tree(w, Story.of(story(1), 0), taken)
        took_s = time.perf_counter() - began
    if told.failure:
        raise CannotRun(f"an honest story was rejected: {told.failure}")
    return took_s, float(sum(about.check_runs.values()) - about.check_runs["candidate"]), full_s
