"""What the proof of a story costs: runs of the checks and seconds, beside one full run of the project's tests."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.ground import CannotRun, Effort, Ground, story, write
from bench.report import Figure, Judged, Limit, each

_MOST_WHOLE, _MOST_NARROWED = 2, 3  # runs of a check
_CODE = "def add(a, b):\n    return a + b\n"
_PYPROJECT = '[tool.pytest.ini_options]\npythonpath = ["."]\naddopts = "-q -p no:cacheprovider"\n'
_TEST = "from calc import add\n\n\ndef test_{n}():\n{waits}    assert add({n}, 1) == {n} + 1\n"
_MUL = "\n\ndef mul(a, b):\n    return a * b\n"
_TEST_OF_MUL = "\n\ndef test_mul():\n    assert mul(2, 3) == 6\n"
_OLD = "tests/test_0.py"


def _edited(text: str) -> str:
    """A file of tests with one expectation changed."""
    return text.replace("assert add(0, 1) == 0 + 1", "assert repr(add(0, 1)) == '1.0'")


def _added(text: str) -> str:
    """A file of tests with one more."""
    return text.replace("import add", "import add, mul") + _TEST_OF_MUL


# What a story writes; of _OLD what it makes of the text.
_STORIES: Mapping[str, tuple[str, Mapping[str, str], Callable[[str], str] | None]] = {
    "new tests": (_CODE + _MUL, {"tests/test_mul.py": f"from calc import mul\n{_TEST_OF_MUL}"}, None),
    "a test in an old file": (_CODE + _MUL, {}, _added),
    "edited tests": (_CODE.replace("a + b", "float(a) + b"), {}, _edited),
}


@dataclass(frozen=True, slots=True)
class _Taken:
    """How long it took to judge a story, and to run the checks once; and how often they ran for it."""

    seconds: float
    full_s: float
    runs: Mapping[str, Any]


def measure(ground: Ground, effort: Effort) -> Iterator[Figure]:
    """A project of 600 tests, and a slow one; of each a story with new tests, and two that touch old ones."""
    turns = effort.pick(full=5, quick=1)
    for name, files, waits_s in (("600 tests", 60, 0.0), ("a slow suite", 20, effort.pick(full=300, quick=100) / 1000)):
        root = _project(ground, name.replace(" ", "-"), files, 600 // files if not waits_s else 1, waits_s)
        for kind in _STORIES:
            taken = [_judged(ground, root, kind) for _ in range(turns)]
            title = f"a story with {kind}, {name}"
            yield Figure(title, "s", each(one.seconds for one in taken), each(one.full_s for one in taken),
                         note="the baseline is one whole run")  # fmt: skip
            for what, most in (("whole", _MOST_WHOLE), ("narrowed", _MOST_NARROWED)):
                runs = each(float(one.runs[what]) for one in taken)
                yield Figure(f"{what} runs of {title}", "", runs, limit=Limit(Judged.MOST, most))


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


def _files(root: Path, kind: str) -> Mapping[str, str]:
    """What a story writes."""
    code, tests, edit = _STORIES[kind]
    edited = {_OLD: edit((root / _OLD).read_text(encoding="utf-8"))} if edit else {}
    return {"calc.py": code, **tests, **edited}


def _judged(ground: Ground, root: Path, kind: str) -> _Taken:
    """Judge a story as `ralphy prove` does."""
    from bench.judged import ask_before, candidate, opened
    from ralphy.engine.verify.verify import judge_tree
    from ralphy.engine.workspace.subject import Subject, working_on
    from ralphy.pipeline.model import Story

    with opened(root, "proof", ground.env) as w:
        began = time.perf_counter()
        ask_before(w)
        full_s = time.perf_counter() - began
        taken = candidate(w, _files(root, kind))
        about = Subject("US-00001")
        began = time.perf_counter()
        with working_on(about):
            told = judge_tree(w, Story.of(story(1), 0), taken)
        took_s = time.perf_counter() - began
    if told.failure:
        raise CannotRun(f"an honest story was rejected: {told.failure}")
    return _Taken(took_s, full_s, about.runs)
