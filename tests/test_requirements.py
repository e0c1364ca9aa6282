"""requirements.lock: all that the environment is made of, at versions that pyproject.toml allows, with hashes."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PYTHONS = ("3.11.0", "3.12.0", "3.13.0", "3.14.0")


def locked() -> dict[str, list[Requirement]]:
    """The lines of the lock by name: a package has several where versions of Python need different ones."""
    found: dict[str, list[Requirement]] = {}
    for line in re.findall(r"^(\w[^\\\n]+?) \\$", LOCK, re.M):
        found.setdefault(canonicalize_name(Requirement(line).name), []).append(Requirement(line))
    return found


def asked() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    return [Requirement(line) for line in (*project["dependencies"], *extras["dev"], *extras["docs"])]


def test_the_lock_has_what_pyproject_asks_for_on_every_python() -> None:
    lines = locked()
    for wanted in asked():
        found = lines.get(canonicalize_name(wanted.name), [])
        for python in PYTHONS:
            here = {"python_full_version": python, "python_version": python.rpartition(".")[0]}
            versions = [
                str(one.specifier).removeprefix("==") for one in found if not one.marker or one.marker.evaluate(here)
            ]
            assert len(versions) == 1, f"{wanted} on Python {python}: {versions} (make lock)"
            assert Version(versions[0]) in wanted.specifier, f"{wanted}: {versions[0]} is locked (make lock)"


def test_every_package_of_the_lock_has_hashes_and_no_address() -> None:
    packages = re.split(r"^(?=\w)", LOCK, flags=re.M)[1:]
    assert len(packages) > 40
    for package in packages:
        assert "--hash=sha256:" in package, package
    assert not re.search(r"://|^--|\bindex\b", LOCK, re.M)
