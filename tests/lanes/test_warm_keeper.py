"""The keeper that waits for the next request: whatever becomes of it, the next one is answered, by a fresh one."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from ralphy.errors import EnvironmentProblem
from ralphy.lanes.keeper_call import LaneProblem, _Process
from ralphy.lanes.lane import Lane
from tests.lanes.conftest import LIMITS, World
from tests.sampling import sampled

LAYS_OUT = """
import os, sys, time
from pathlib import Path
from ralphy.git.commands import discover
from ralphy.lanes.pool import Pool
from ralphy.sandbox.bubblewrap import find
lane = Pool(discover(Path(sys.argv[1])), Path(sys.argv[2]), find(os.environ), "moderate").agent()
lane.lay_out(sys.argv[3], sys.argv[4], "main")
print(lane._keeper._running._process.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture(params=sampled(["moderate", "strict"], "moderate"))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def pid_of(lane: Lane) -> int:
    assert lane._keeper._running
    return lane._keeper._running._process.pid


def in_its_place(lane: Lane, words: Sequence[str]) -> subprocess.Popen[bytes]:
    """Have another program answer for the lane's keeper."""
    lane.close()
    pipe = subprocess.PIPE
    program = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True)
    lane._keeper._running = _Process(program, ({},), str(lane.home), lane._keeper._places())
    return program


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def is_gone(pid: int, within_s: float = 60.0) -> bool:
    end = time.monotonic() + within_s
    while is_alive(pid) and time.monotonic() < end:
        time.sleep(0.01)
    return not is_alive(pid)


def require_works(world: World, lane: Lane) -> None:
    """What is laid out is there, and a change is taken over."""
    lane.lay_out(world.tree, world.head, "main")
    (lane.tree / "src/a.py").write_text("a = 5\n")
    taken = lane.take_over(world.tree, LIMITS)
    assert world.git("cat-file", "-p", f"{taken.tree}:src/a.py") == "a = 5"
    lane.lay_out(world.tree, world.head, "main")
    assert (lane.tree / "src/a.py").read_text() == "a = 1\n"


def test_it_serves_one_request_after_the_other(world: World) -> None:
    lane = world.laid_out()
    pid = pid_of(lane)
    require_works(world, lane)
    world.commit({"src/c.py": "c = 3\n", "src/deep/b.py": "b = 3\n"})
    assert lane.lay_out(world.tree, world.head, "main") == 2
    world.git("rm", "-q", "src/c.py")
    world.commit({"src/c.py/d.py": "a folder now\n"})
    assert lane.lay_out(world.tree, world.head, "main") == 1
    assert lane.take_over(world.tree, LIMITS).tree == world.tree
    assert pid_of(lane) == pid


def test_another_tree_takes_the_place_of_what_was_begun(world: World) -> None:
    lane = world.laid_out()
    first, head = world.tree, world.head
    lane.begin(world.commit({"src/c.py": "c = 3\n"}))
    lane.lay_out(first, head, "main")
    assert not (lane.tree / "src/c.py").exists()
    lane.begin(world.tree)
    (lane.tree / "src/a.py").write_text("a = 5\n")
    with pytest.raises(LaneProblem, match="does not hold what was laid out"):
        lane.take_over(first, LIMITS)
    require_works(world, lane)


def test_one_that_was_killed_is_replaced(world: World) -> None:
    lane = world.laid_out()
    pid = pid_of(lane)
    os.killpg(pid, signal.SIGKILL)
    require_works(world, lane)
    assert pid_of(lane) != pid


@pytest.mark.parametrize("at", ["between two requests", "in the middle of one"])
def test_one_that_ends_with_the_thread_that_started_it_is_replaced(world: World, at: str) -> None:
    """The kernel ends what is tied to a parent when the thread that started it ends."""
    lane, may_end = world.pool.agent(), threading.Event()
    ready = threading.Event()

    def starts_it() -> None:
        world.laid_out(lane)
        ready.set()
        may_end.wait(60)

    thread = threading.Thread(target=starts_it)
    thread.start()
    assert ready.wait(60)
    pid, seen = pid_of(lane), list[bool]()

    def ends() -> None:
        may_end.set()
        thread.join()
        seen.append(is_gone(pid))

    if at == "between two requests":
        ends()
    else:
        os.killpg(pid, signal.SIGSTOP)  # it has been asked, and cannot answer any more
    (lane.tree / "src/a.py").write_text("a = 5\n")
    request = {"do": "lay-out", "tree": world.tree, "keep": (), "base": "", "changes": ()}
    lane._keeper.ask(request, ends if not seen else None)
    assert seen[0]
    assert (lane.tree / "src/a.py").read_text() == "a = 1\n"
    assert pid_of(lane) != pid
    require_works(world, lane)


@pytest.mark.parametrize("said", ["garbage, and much of it", "0000000000000002\\n[]", "0000000000000002\\n{]",
                                  "ffffffffffffffff\\n", "-000000000000001\\n"])  # fmt: skip
def test_one_that_answers_nonsense_is_replaced(world: World, said: str) -> None:
    lane = world.laid_out()
    odd = in_its_place(lane, ["/bin/sh", "-c", f"printf '%b' '{said}'; sleep 600"])
    require_works(world, lane)
    assert odd.returncode is not None


def test_one_that_hangs_is_ended_in_time(world: World) -> None:
    lane = world.laid_out()
    hung = in_its_place(lane, ["sleep", "600"])
    lane._keeper._longest_s = 0.2
    with pytest.raises(EnvironmentProblem, match="in time"):
        lane.take_over(world.tree, LIMITS)
    assert hung.returncode is not None
    lane._keeper._longest_s = 60.0
    require_works(world, lane)


@pytest.mark.parametrize("name", ["tree", "own", ""])
def test_a_lane_that_is_removed_under_it_is_made_again(world: World, name: str) -> None:
    lane = world.laid_out()
    shutil.rmtree(lane.home / name)
    require_works(world, lane)


def test_programs_in_the_lane_do_not_see_it(world: World) -> None:
    lane = world.laid_out()
    pid = pid_of(lane)
    code, said = world.inside(
        lane, f"kill -9 {pid} 2>&1; grep -l m[a]rshal /proc/[0-9]*/cmdline; ls .git | grep record"
    )
    assert (code, "/proc" in said, "record" in said) == (1, False, False)
    lane.take_over(world.tree, LIMITS)
    assert pid_of(lane) == pid


def test_it_ends_with_the_pool(world: World) -> None:
    pid = pid_of(world.laid_out())
    world.pool.close()
    assert is_gone(pid)


def test_it_ends_with_a_ralphy_that_is_killed(world: World, tmp_path: Path) -> None:
    words = [sys.executable, "-c", LAYS_OUT, str(world.root), str(tmp_path / "others"), world.tree, world.head]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as ralphy:
        assert ralphy.stdout
        pid = int(ralphy.stdout.readline())
        assert is_alive(pid)
        ralphy.kill()
    assert is_gone(pid)


class TestWithoutASandbox:
    @pytest.fixture
    def kind(self) -> str:
        return "none"

    def test_none_is_left_where_an_agent_could_reach_it(self, world: World) -> None:
        lane = world.laid_out()
        assert lane._keeper._running is None
        require_works(world, lane)
