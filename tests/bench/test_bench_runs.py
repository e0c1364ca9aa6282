"""`python -m bench` measures what it is asked for; of the figures only sizes are judged here, never times."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE_S = 300


def bench(*words: str, module: str = "bench") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", module, *words], cwd=ROOT, env=dict(os.environ),
        capture_output=True, encoding="utf-8", timeout=PATIENCE_S, check=False,
    )  # fmt: skip


def test_a_quick_run_measures_prompts_and_the_store() -> None:
    ended = bench("--quick", "--json", "prompt", "store")
    assert ended.returncode == 0, ended.stderr
    figures = {figure["name"]: figure for figure in json.loads(ended.stdout)["figures"]}
    prompts = {"prompt, 10 stories", "prompt, 1000 stories", "prompt, hostile sizes"}
    assert prompts < set(figures)
    assert all(figure["median"] > 0 and figure["baseline"] for figure in figures.values())
    assert {figures[name]["verdict"] for name in prompts} == {"ok"}, figures


def test_a_name_that_is_none_is_refused_with_those_that_there_are() -> None:
    ended = bench("--quick", "speed")
    assert ended.returncode == 2
    assert "there is no speed" in ended.stderr
    assert "reaction" in ended.stderr
