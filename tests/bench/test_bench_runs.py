"""`python -m bench` measures what it is asked for; of the figures only sizes are judged here, never times."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.__main__ import main
from bench.mutants import TESTS, fastest_first, mutants_of

ROOT = Path(__file__).parents[2]
PATIENCE_S = 300


def bench(*words: str, module: str = "bench") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", module, *words], cwd=ROOT, env=dict(os.environ),
        capture_output=True, encoding="utf-8", timeout=PATIENCE_S, check=False,
    )  # fmt: skip


def measured(*names: str) -> dict[str, dict[str, Any]]:
    """The figures of a quick run, by name."""
    ended = bench("--quick", "--json", *names)
    assert ended.returncode == 0, ended.stderr
    figures = {figure["name"]: figure for figure in json.loads(ended.stdout)["figures"]}
    assert all(figure["median"] > 0 and figure["baseline"] for figure in figures.values())
    return figures


def test_prompts_are_measured_and_stay_small() -> None:
    figures = measured("prompt")
    assert set(figures) == {"prompt, 10 stories", "prompt, 1000 stories", "prompt, hostile sizes"}
    assert {figure["verdict"] for figure in figures.values()} == {"ok"}, figures


@pytest.mark.soak
def test_the_store_is_measured() -> None:
    assert any("1,000 stories" in name for name in measured("store"))


def test_a_mutant_is_one_change_of_what_a_module_does() -> None:
    source = (
        b'"""0"""\n\n\ndef f(n: int, x: bool = True) -> int:\n    if n > 1 and x:\n        print(f"{n + 1} of {n}")\n'
        b'    w.milestone("landed")\n    return n\n'
    )
    found = list(mutants_of("a.py", source))
    assert sorted(one.text for one in found) == sorted([
        "(n >= 1)", "(n > 1 or x)", "(not (n > 1 and x))", "(2)", "(0)", "(False)", "pass", "return None"])  # fmt: skip
    assert len({one.applied_to(source) for one in found} - {source}) == len(found)
    assert all(compile(one.applied_to(source), "a.py", "exec") for one in found)
    assert found[0].as_diff(source).startswith("a.py:4\n    - True\n    + (False)")


def test_the_fastest_tests_are_the_first_to_notice_a_mutant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    (tmp_path / "conftest.py").write_text("import hypothesis\n\nhypothesis.settings.register_profile('fast')\n")
    (tmp_path / "test_a.py").write_text("def test_slow():\n    sum(range(5_000_000))\n\n\ndef test_fast():\n    pass\n")
    assert fastest_first(tmp_path, ["test_a.py"])[0] == ["test_a.py::test_fast", "test_a.py::test_slow"]


def test_each_module_that_decides_judges_or_lands_has_tests_that_are_to_notice() -> None:
    named = {name for _, names in TESTS for name in names.split()}
    assert [name for name in named if not (ROOT / "tests" / f"{name}.py").is_file()] == []
    assert [start for start, _ in TESTS if not list(ROOT.glob(f"{start}*"))] == []


def test_a_name_that_is_none_is_refused_with_those_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--quick", "speed"])
    said = capsys.readouterr().err
    assert "there is no speed" in said and "reaction" in said
