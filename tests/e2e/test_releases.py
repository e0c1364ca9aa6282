"""Releases of a real package, replayed as stories: each lands, and its proof is what a person finds by hand."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.test_prove import cloned, proved
from tests.engine.building import ROOT, Act, Project, build, story

PACKAGE = "cachetools"
RELEASES = ("4.1.1", "4.2.0", "4.2.1", "4.2.2", "4.2.3", "4.2.4", "5.0.0", "5.1.0", "5.2.0", "5.2.1", "5.3.0")
CACHE = ROOT / ".cache" / "releases"
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "pythonpath=. src"]
_NOT_REPLAYED = ("docs/", ".github/")


def downloaded(version: str) -> Path:
    """The release as it was published; the test is skipped where no registry answers."""
    archive = CACHE / f"{PACKAGE}-{version}.tar.gz"
    if not archive.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check",
                   f"--no-binary={PACKAGE}", "--no-build-isolation"]  # fmt: skip
        done = subprocess.run([*command, f"{PACKAGE}=={version}", "--dest", str(CACHE)], capture_output=True,
                              encoding="utf-8", check=False)  # fmt: skip
        if not archive.exists():
            pytest.skip(f"{PACKAGE} {version} could not be downloaded: {done.stderr.strip()[-200:]}")
    return archive


def files_of(version: str) -> dict[str, str]:
    """The release's files, without what the build of the archive added."""
    with tarfile.open(downloaded(version)) as archive:
        members = [member for member in archive.getmembers() if member.isfile()]
        found = {member.name.partition("/")[2]: archive.extractfile(member) for member in members}
        return {
            path: data.read().decode() for path, data in found.items()
            if data and "egg-info" not in path and path != "PKG-INFO" and not path.startswith(_NOT_REPLAYED)
        }  # fmt: skip


def story_of(version: str) -> str:
    return f"R-{version.replace('.', '-')}"


def act_between(old: Mapping[str, str], new: Mapping[str, str]) -> Act:
    written = {path: text for path, text in new.items() if old.get(path) != text}
    gone = sorted(old.keys() - new.keys())
    return {"write": written, **({"delete": gone} if gone else {})}


@dataclass(frozen=True)
class Ran:
    """What pytest says of a test, and the file that it is written in: a class may inherit it from elsewhere."""

    passed: bool
    written_in: str


FAILED = Ran(passed=False, written_in="")


def ran(folder: Path, *layers: Mapping[str, str]) -> dict[str, Ran]:
    """The tests of files laid over one another, by name."""
    for path, text in ((path, text) for layer in layers for path, text in layer.items()):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    report = folder / "report.xml"
    subprocess.run([*PYTEST, f"--junitxml={report}", "-o", "junit_family=xunit1", "--continue-on-collection-errors"],
                   cwd=folder, capture_output=True, check=False)  # fmt: skip
    cases = [case for case in ElementTree.parse(report).iter("testcase") if case.get("file")]
    return {name_of(case): Ran(not list(case), str(case.get("file"))) for case in cases}


def name_of(case: ElementTree.Element) -> str:
    """As pytest names it on its command line: the classes of a dotted name begin with a capital here."""
    words = str(case.get("classname")).split(".")
    path = [word for word in words if not word[:1].isupper()]
    return "::".join([f"{'/'.join(path)}.py", *words[len(path) :], str(case.get("name"))])


def by_hand(
    folder: Path, old: Mapping[str, str], new: Mapping[str, str], was: Mapping[str, Ran], now: Mapping[str, Ran]
) -> tuple[set[str], set[str]]:
    """(the tests that are new in a release, or written in a file of tests that it changed, and fail on the code before;
    those that it no longer has). A new one may be missing there, where its file cannot be imported."""
    tests = {path: text for path, text in new.items() if path.startswith("tests/")}
    changed = {path for path, text in tests.items() if old.get(path) != text}
    without = ran(folder, old, tests)
    proof = {test for test, said in now.items() if said.passed and not without.get(test, said).passed
             and said.written_in in changed}  # fmt: skip
    proof |= {test for test in now.keys() - was.keys() if now[test].passed and not without.get(test, FAILED).passed}
    return proof, was.keys() - now.keys()


def replayed(folder: Path, releases: Mapping[str, Mapping[str, str]], gone: Mapping[str, set[str]]) -> Project:
    """The first release, and each of the others as the work of an agent at a story."""
    first = next(iter(releases))
    stories = [story(story_of(version), title=f"Release {version}", priority=number, testing={"removes": sorted(names)})
               for number, (version, names) in enumerate(gone.items(), start=1)]  # fmt: skip
    checks = [{"name": "test", "run": shlex.join(PYTEST)}]
    project = build(folder, *stories, checks=checks, verify={"unproved": "flag"}, limits={"max_attempts": 1})
    for path, text in releases[first].items():
        (project.repo / path).parent.mkdir(parents=True, exist_ok=True)
        (project.repo / path).write_text(text, encoding="utf-8")
    (project.repo / "check.py").unlink()
    project.git("add", "--all", ".", ":!docs")
    project.git("commit", "--quiet", "-m", f"feat: {PACKAGE} {first}")
    acts = {story_of(new): [act_between(releases[old], releases[new])] for old, new in pairwise(releases)}
    project.play(stories=acts)
    project.loop()
    return project


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_releases_land_with_the_proof_that_a_person_finds_by_hand(tmp_path: Path) -> None:
    releases = {version: files_of(version) for version in RELEASES}
    said = {version: ran(tmp_path / version, files) for version, files in releases.items()}
    found = {new: by_hand(tmp_path / f"{new}-without", releases[old], releases[new], said[old], said[new])
             for old, new in pairwise(RELEASES)}  # fmt: skip
    project = replayed(tmp_path, releases, {version: gone for version, (_, gone) in found.items()})

    for version, (hand, _) in found.items():
        evidence = project.story(story_of(version))["evidence"]
        proof = evidence["tests"]["red_first"]
        assert (version, proof["number"], set(proof.get("tests", ())) - hand) == (version, len(hand), set())
        is_unproved = any(said.startswith("unproved: ") for said in evidence.get("warnings", ()))
        assert (version, is_unproved) == (version, not hand)

    clone = cloned(project, tmp_path / "clone")
    code, value = proved(clone, "main..HEAD")
    assert (code, [row["holds"] for row in value["stories"]]) == (0, [True] * len(found))

    last = story_of(RELEASES[-1])
    clone.git("checkout", "--quiet", "--detach", clone.commit_of(last))
    path = clone.repo / "src" / PACKAGE / "__init__.py"
    path.write_text(path.read_text().replace("hits = misses = 0", "pass", 1))
    clone.git("commit", "--quiet", "--amend", "--no-edit", str(path))
    code, value = proved(clone, "main..HEAD", "--story", last)
    assert (code, [row["story"] for row in value["stories"] if not row["holds"]]) == (11, [last])
