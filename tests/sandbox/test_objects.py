"""What is committed is what was tested, whatever an agent puts into Git's object database beforehand."""

from __future__ import annotations

import hashlib
import zlib
from pathlib import Path

import pytest

from ralphy.errors import EnvironmentProblem
from ralphy.git.commands import discover
from ralphy.git.objects import Objects
from tests.conftest import RunGit
from tests.engine.building import assert_clean, build, story, works

HONEST, EVIL = b"WORKS = 1\n", b"EVIL = 1\n"
PLANT = """
import hashlib, os, pathlib, subprocess, sys, zlib
honest, evil = b"WORKS = 1\\n", b"EVIL = 1\\n"
oid = hashlib.sha1(b"blob %d\\0" % len(honest) + honest).hexdigest()
there = subprocess.run(["git", "rev-parse", "--git-path", "objects"], capture_output=True).stdout
at = pathlib.Path(there.decode().strip())
if sys.argv[1] == "loose":
    (at / oid[:2]).mkdir(exist_ok=True)
    (at / oid[:2] / oid[2:]).write_bytes(zlib.compress(b"blob %d\\0" % len(evil) + evil))
else:
    other = subprocess.run(["git", "hash-object", "-w", "--stdin"], input=evil, capture_output=True).stdout.split()[0]
    name = subprocess.run(["git", "pack-objects", "-q", at / "pack" / "pack"], input=other + b"\\n",
                          capture_output=True).stdout.decode().strip()
    index = next(at.glob(f"pack/pack-{name}.idx"))
    data = bytearray(index.read_bytes())
    data[8:1032] = b"".join((1 if n >= int(oid[:2], 16) else 0).to_bytes(4, "big") for n in range(256))
    data[1032:1052] = bytes.fromhex(oid)
    data[-20:] = hashlib.sha1(bytes(data[:-20])).digest()
    index.chmod(0o644)
    index.write_bytes(data)
"""


@pytest.mark.attempt(49)
@pytest.mark.parametrize("how", ["loose", "a pack"])
def test_an_object_planted_under_an_honest_id_is_not_what_is_committed(tmp_path: Path, how: str) -> None:
    (tmp_path / "plant.py").write_text(PLANT)
    project = build(tmp_path, story("US-001"))
    project.play(stories={"US-001": [works(run=[["python3", str(tmp_path / "plant.py"), how]])]})

    project.loop()

    assert project.git("show", f"{project.commit_of('US-001')}:src/us_001.py") == HONEST.decode().strip()
    assert_clean(project)


@pytest.mark.attempt(49)
def test_an_object_is_known_by_what_it_holds(git_repo: Path, git: RunGit) -> None:
    oid = hashlib.sha1(b"blob %d\0" % len(HONEST) + HONEST).hexdigest()
    planted = git_repo / ".git" / "objects" / oid[:2] / oid[2:]
    planted.parent.mkdir(exist_ok=True)
    planted.write_bytes(zlib.compress(b"blob %d\0" % len(EVIL) + EVIL))
    objects = Objects(discover(git_repo))
    for ask in (lambda: objects.read(oid), lambda: objects.write_blob(HONEST)):
        with pytest.raises(EnvironmentProblem, match=f"{oid} does not match its id"):
            ask()

    planted.unlink()
    assert objects.write_blob(HONEST) == oid
    assert objects.read(oid) == HONEST
    assert git("fsck", "--strict", "--no-dangling") == ""
