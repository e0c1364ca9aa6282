"""Every durable operation of a landing fails once: strace breaks the n-th of its kind, or the n-th git dies.

    python -m tests.faults.sweep [--part K/M] [--jobs 2] [-v]

A point is a kind of operation, how it fails and which one of them. A write to a pipe leaves nothing behind, and no disk
can refuse it: every tenth of these is a moment to be killed at. After the struck run Ralphy is started again, and must
come to the same end with nothing lost and nothing twice. `--part 1/12` takes every twelfth point.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ralphy.errors import ExitCode
from tests.engine.building import ROOT, Project, build, story, works
from tests.faults.invariants import Known, broken, broken_at_rest, landings
from tests.faults.night import at_home

# operation -> how it fails; an open that fails while Python itself starts tells nothing of Ralphy
FAULTS = {
    "fsync": ("signal=SIGKILL", "error=EIO", "error=ENOSPC"),
    "rename": ("signal=SIGKILL", "error=EIO", "error=ENOSPC"),
    "write": ("signal=SIGKILL", "error=ENOSPC", "error=EIO"),
    "unlink": ("signal=SIGKILL", "error=EIO"),
    "openat": ("signal=SIGKILL",),
    "git": ("dies", "fails"),
}
SYSTEM_CALLS = [name for name in FAULTS if name != "git"]
EVERY_NTH_OPEN = 60  # there are thousands, most of them before anything is done
EVERY_NTH_WRITE_TO_PIPES = 10
NEIGHBOURS = (-2, -1, 0, 1, 2)  # what threads write to pipes moves a write to a file by so many from run to run
TO_A_FILE = re.compile(r"write\(\d+<(?!pipe:|socket:|anon_inode:|/dev/)")
TROUBLED = (-9, 137, ExitCode.LIMITED, ExitCode.ENVIRONMENT, ExitCode.CONFLICT, ExitCode.STORIES_OPEN)
RUN_S = 240.0

FAKE_GIT = """\
#!/bin/sh
# The {nth}. call of git {how}; all others are the real thing.
echo x >> {counter}
if test $(wc -c < {counter}) -eq {calls}; then {deed}; fi
exec {git} "$@"
"""


@dataclass(frozen=True, slots=True)
class Point:
    """Which operation fails, and how."""

    operation: str
    fault: str
    nth: int

    def __str__(self) -> str:
        return f"{self.operation} {self.nth}: {self.fault}"


@dataclass(frozen=True, slots=True)
class Swept:
    """What a point has shown: did the operation fail, as far as can be told, and what did not hold afterwards."""

    point: Point
    struck: bool
    violations: tuple[str, ...]


def feature(folder: Path) -> Project:
    """One story that is committed, and a review that waits for a person."""
    at_home(folder)
    project = build(
        folder / "place",
        story("US-001"),
        limits={"max_attempts": 9},
        safety={"sandbox": "none"},
        lanes={"probe": "off"},
    )
    project.play(stories={"US-001": [works()]})
    return project


def has_strace() -> bool:
    """Is strace there, and may it trace?"""
    if not shutil.which("strace"):
        return False
    return subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode == 0


def words(project: Project) -> list[str]:
    return [sys.executable, "-P", "-m", "ralphy", "loop", project.name, "--no-wait"]


def call(project: Project, argv: Sequence[str], env: dict[str, str]) -> tuple[int, str]:
    """(exit code, stderr) of a call."""
    done = subprocess.run(argv, cwd=project.repo, env={**env, "PYTHONPATH": str(ROOT)}, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=RUN_S, check=False)  # fmt: skip
    return done.returncode, done.stderr.decode(errors="replace")


def count(folder: Path) -> tuple[dict[str, int], set[int]]:
    """(how many operations of each kind an undisturbed run makes, in Ralphy's own process and by git; which of its
    writes go to a file, or are near one that does)."""
    project = feature(folder)
    log = folder / "calls"
    fake = fake_git(folder, Point("git", "dies", 10**6))
    argv = ["strace", "-qq", "-y", "-o", str(log), "-e", f"trace={','.join(SYSTEM_CALLS)}", *words(project)]
    code, said = call(project, argv if has_strace() else words(project), with_git(project, fake))
    assert code == ExitCode.WAITING, said
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    found = {name: len(re.findall(rf"^{name}\(", text, re.M)) for name in SYSTEM_CALLS}
    writes = [line for line in text.splitlines() if line.startswith("write(")]
    to_files = [nth for nth, line in enumerate(writes, 1) if TO_A_FILE.match(line)]
    near = {nth + by for nth in to_files for by in NEIGHBOURS}
    return {**found, "git": (folder / "git-calls").stat().st_size // 2}, near


def fake_git(folder: Path, point: Point) -> Path:
    """A folder for PATH whose git dies or fails at one call."""
    where = folder / "bin"
    where.mkdir(exist_ok=True)
    deed = "kill -9 $$" if point.fault == "dies" else "echo 'fatal: No space left on device' >&2; exit 128"
    text = FAKE_GIT.format(nth=point.nth, how=point.fault, counter=folder / "git-calls", calls=2 * point.nth, deed=deed,
                           git=shutil.which("git"))  # fmt: skip
    (where / "git").write_text(text, encoding="utf-8")
    (where / "git").chmod(0o755)
    return where


def with_git(project: Project, where: Path) -> dict[str, str]:
    return {**project.env, "PATH": f"{where}:{project.env['PATH']}"}


def points(found: dict[str, int], to_files: Collection[int]) -> Iterator[Point]:
    """All points of a run with so many operations, of which these writes go to files."""
    for operation, faults in FAULTS.items():
        step = EVERY_NTH_OPEN if operation == "openat" else 1
        for nth in range(1, found[operation] + 1, step):
            if operation != "write" or nth in to_files:
                yield from (Point(operation, fault, nth) for fault in faults)
            elif nth % EVERY_NTH_WRITE_TO_PIPES == 0:
                yield Point(operation, "signal=SIGKILL", nth)


def strike(point: Point, root: str) -> Swept:
    """Run into the point, look, start again, and look again."""
    folder = Path(tempfile.mkdtemp(dir=root))
    project = feature(folder)
    known = Known(base=project.git("rev-parse", "HEAD"))
    argv, env = words(project), project.env
    if point.operation == "git":
        env = with_git(project, fake_git(folder, point))
    else:
        inject = f"inject={point.operation}:{point.fault}:when={point.nth}"
        argv = ["strace", "-qq", "-o", "/dev/null", "-e", f"trace={point.operation}", "-e", inject, *argv]
    violations = []
    try:
        code, said = call(project, argv, env)
        if "Traceback" in said or code == ExitCode.UNEXPECTED:
            violations.append(f"the struck run ended with {code}: {said[-700:]}")
        violations += broken(project, known)
        again, said = _start_again(project)
        if again != ExitCode.WAITING:
            violations.append(f"the next run ended with {again}: {said[-500:]}")
        violations += broken_at_rest(project, known)
        if sorted(landings(project, known.base)) != ["US-001"]:
            violations.append("the story is not committed")
    except (OSError, subprocess.SubprocessError, AssertionError) as error:
        violations.append(f"{type(error).__name__}: {error}"[:500])
        code = -1
    struck = code != ExitCode.WAITING or _has_failed(point, folder)
    if not violations:
        shutil.rmtree(folder, ignore_errors=True)
    return Swept(point, struck, tuple(violations))


def _has_failed(point: Point, folder: Path) -> bool:
    """Did the n-th git run, and fail? A run that another git made up for it ends as if nothing had been."""
    counter = folder / "git-calls"
    return point.operation == "git" and counter.exists() and counter.stat().st_size // 2 >= point.nth


def _start_again(project: Project) -> tuple[int, str]:
    """Start until something else than a conflict or trouble comes; a person would try twice."""
    for _ in range(3):
        code, said = call(project, words(project), project.env)
        if code not in TROUBLED:
            break
    return code, said


def sweep(part: tuple[int, int], jobs: int, told: Callable[[Swept, int, int], None]) -> list[Swept]:
    """Strike every M-th point, beginning with the K-th."""
    root = tempfile.mkdtemp(prefix="ralphy-sweep-")
    chosen = list(points(*count(Path(root))))[part[0] - 1 :: part[1]]
    if not has_strace():
        chosen = [point for point in chosen if point.operation == "git"]
    found = []
    with ProcessPoolExecutor(jobs) as pool:
        for done in [pool.submit(strike, point, root) for point in chosen]:
            found.append(done.result())
            told(found[-1], len(found), len(chosen))
    if not any(swept.violations for swept in found):
        shutil.rmtree(root, ignore_errors=True)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1 if anything did not hold."""
    parser = argparse.ArgumentParser(prog="make sweep")
    parser.add_argument("--part", default="1/1", help="K/M: every M-th point, beginning with the K-th")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args(arguments)
    which, _, of = options.part.partition("/")
    began = time.monotonic()

    def tell(swept: Swept, number: int, total: int) -> None:
        if number % 100 == 0:
            sys.stderr.write(f"{number} of {total} points\n")
        if options.verbose or swept.violations:
            sys.stderr.write(f"{swept.point}{' (struck)' if swept.struck else ''}\n")
            sys.stderr.writelines(f"  VIOLATION: {why}\n" for why in swept.violations)

    found = sweep((int(which), int(of)), options.jobs, tell)
    struck, bad = sum(swept.struck for swept in found), sum(len(swept.violations) for swept in found)
    sys.stdout.write(f"{len(found)} points in {time.monotonic() - began:.0f} s, {struck} of them were met, "
                     f"{bad} violations\n")  # fmt: skip
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
