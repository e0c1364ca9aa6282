"""What people install: the wheel, and the checkout's front door."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from ralphy import __version__

ROOT = Path(__file__).parents[2]
SETUP_NEEDS = {"pyproject.toml", "requirements.lock"}


def run(*argv: str | Path, cwd: Path = Path("/")) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(argv, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, f"{argv}: {done.stdout}{done.stderr}"
    return done


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of a fresh environment with the wheel; its dependencies are borrowed from this one."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed: no wheel can be built without a network (make setup brings it)")
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "--isolated", "--disable-pip-version-check", "--no-cache-dir")
    run(*pip, "wheel", "-qq", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", folder, ROOT)
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv")
    python = folder / "venv" / "bin" / "python"
    wheel = next(folder.glob("*.whl"))
    run(*pip, "--python", python, "install", "-qq", "--no-deps", "--no-index", wheel)
    # A path in a .pth file is searched, but the .pth files in it are not read: no editable install comes along.
    libraries = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip()
    borrowed = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    Path(libraries, "borrowed.pth").write_text("\n".join(sorted(borrowed)) + "\n", encoding="utf-8")
    return python.parent


def test_the_installed_commands_run_from_anywhere(installed: Path) -> None:
    said = run(installed / "ralphy", "--help").stdout
    assert "ralphy" in said and "doctor" in said
    assert __version__ in run(installed / "ralphy", "--version").stdout
    assert "rehearsal" in run(installed / "ralphy-rehearsal", "--version").stdout


def test_schemas_templates_and_example_are_those_of_the_wheel(installed: Path) -> None:
    program = (
        "import ralphy.resources as r, json;"
        "print(json.dumps([str(r.template_root()), r.schema('prd')['$id'], len(r.example())]))"
    )
    root, schema_id, length = json.loads(run(installed / "python", "-c", program).stdout)
    assert Path(root).is_relative_to(installed.parent)
    assert schema_id
    assert length == (ROOT / "prd.json.example").stat().st_size
    names = {str(path.relative_to(ROOT / "templates")) for path in (ROOT / "templates").rglob("*") if path.is_file()}
    there = {str(path.relative_to(root)) for path in Path(root).rglob("*") if path.is_file()}
    assert {name for name in names if not name.endswith(".pyc")} <= there


def test_make_alone_lists_its_targets() -> None:
    listed = {line.split()[1] for line in run("make", cwd=ROOT).stdout.splitlines()}
    assert {"setup", "test", "fast", "lint", "type", "check", "demo", "bench", "docs", "tools", "wheel"} <= listed


def test_make_n_shows_the_commands_and_an_old_python_is_said_before_anything_is_made(tmp_path: Path) -> None:
    for name in SETUP_NEEDS:
        (tmp_path / name).touch()
    said = run("make", "-f", ROOT / "Makefile", "-n", "demo", "AGENT=claude", cwd=tmp_path).stdout
    assert "-m ralphy demo --agent claude" in said
    assert {path.name for path in tmp_path.iterdir()} == SETUP_NEEDS
    done = subprocess.run(
        ["make", "-f", ROOT / "Makefile", "setup", "PYTHON="], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "Python 3.11 or later is needed" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == SETUP_NEEDS
