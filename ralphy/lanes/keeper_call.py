"""Talk to the keeper of a lane, inside its sandbox if there is one: bounded in time and in size, and without trust.

In a sandbox of its own, which no agent and no check can look into, it is kept from one request to the next, so that
nobody waits for its start. One that ended, or does not answer as it should, is replaced by a fresh one. Without a
sandbox an agent could reach it: there, each request has its own.
"""

from __future__ import annotations

import json
import marshal
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

from ralphy.errors import EnvironmentProblem
from ralphy.files.disk_space import as_problem, problem_said
from ralphy.files.memory_file import sealed
from ralphy.git.commands import SAFE, Repository, failure
from ralphy.lanes.lane_sandbox import OWN, LaneSandbox
from ralphy.sandbox.bubblewrap import interpreter

_MODULES = (
    "keeper_tree",
    "keeper_modules",
    "keeper_pack",
    "keeper",
)  # sent as compiled code, the one that is started last
_BOOT = """
import marshal, sys
modules, settings = marshal.load(sys.stdin.buffer)
for name, code in modules:
    module = sys.modules[name] = type(sys)(name)
    module.__path__ = []
    exec(code, module.__dict__)
module.main(settings)
"""
LONGEST_S = 900.0
_FAREWELL_S = 10.0
_MOST_ANSWER = 64 << 20
_MOST_PACK = 4 << 30
_READ_BYTES = 1 << 20
_FEW = 100  # objects that are unpacked, not kept as a pack
_WRITTEN_OUT = ("-c", "core.fsync=all", "-c", "core.fsyncMethod=writeout-only")
Places = tuple[tuple[int, int, int], ...]
_VARIABLES = ("PATH", "HOME", "LANG", "USER", "LOGNAME", "TMPDIR")


class LaneProblem(EnvironmentProblem):
    """The keeper could not do it."""


class NoAnswer(LaneProblem):
    """The keeper ended, or said what no keeper says."""


class Keeper:
    """The keeper of the lane at `home`, whose tree is seen at `at`. One thread at a time may ask."""

    def __init__(
        self, repository: Repository, home: Path, at: Path, sandbox: LaneSandbox | None, longest_s: float = LONGEST_S
    ) -> None:
        self.repository, self.home, self.at, self.sandbox = repository, home, at, sandbox
        self._longest_s = longest_s
        self._running: _Process | None = None
        self._begun: Mapping[str, Any] | None = None

    def begin(self, request: Mapping[str, Any]) -> None:
        """Send a request whose answer has no objects, and do not wait; `ask` waits, if it asks for the same.

        Nothing happens without a sandbox: there, nothing of a keeper is alive between two requests.
        """
        if self.sandbox:
            try:
                self._process(request).ask({"keep": (), **request}, self._longest_s)
            except BaseException:  # one that has ended is asked no more
                self.end()
                raise
            self._begun = request

    def ask(self, request: Mapping[str, Any], meanwhile: Callable[[], None] | None = None) -> dict[str, Any]:
        """Its answer; the pack, if it sends one, goes into the person's objects. LaneProblem if it says why not.

        One that gives no answer may have been killed: a fresh one is asked, once. `meanwhile` is called while it works,
        and perhaps once more.
        """
        with suppress(NoAnswer):
            return self._asked(request, meanwhile)
        return self._asked(request, meanwhile)

    def end(self) -> None:
        """End its process, once it has done what it was sent: a tree that is half laid out is laid out from nothing."""
        if self._running:
            self._running.hurry(_FAREWELL_S)
        self._drain()
        running, self._running = self._running, None
        if running:
            running.end()

    def _asked(self, request: Mapping[str, Any], meanwhile: Callable[[], None] | None) -> dict[str, Any]:
        process = self._process(request)
        try:
            if self._begun is None:
                process.ask({"keep": (), **request}, self._longest_s)
            self._begun = None
            if meanwhile:
                meanwhile()
            answer = self._answer(process)
            if answer.get("objects"):
                self._import(process.frames(), answer["objects"])
        except BaseException:  # what it still says would be taken for the next answer
            self.end()
            raise
        if self.sandbox is None:
            self.end()
        return answer

    def _answer(self, process: _Process) -> dict[str, Any]:
        try:
            answer = json.loads(process.frame(_MOST_ANSWER))
        except ValueError as error:
            raise process.no_answer("it is no JSON") from error
        if not isinstance(answer, dict) or not isinstance(answer.get("objects", 0), int):
            raise process.no_answer("it is not an answer")
        if why := answer.get("why"):
            disk = problem_said(why, str(self.home)) or as_problem(OSError(answer.get("errno", 0), why, str(self.home)))
            raise disk or LaneProblem(f"the lane cannot be used: {why}", where=str(self.home))
        return answer

    def _import(self, frames: Iterable[bytes], objects: int) -> None:
        """The pack goes straight to a Git outside that looks at all of it before anything of it counts."""
        r = self.repository
        verb = ("unpack-objects", "-q") if objects < _FEW else ("index-pack", "--stdin")
        words = (r.program, *r.options, *_WRITTEN_OUT, *verb, "--strict", f"--max-input-size={_MOST_PACK}")
        process = subprocess.Popen(words, cwd=r.root, env=r.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)  # fmt: skip
        with process:
            assert process.stdin
            with suppress(BrokenPipeError):
                for data in frames:
                    process.stdin.write(data)
            said = process.communicate()[1]
        if process.returncode:
            raise failure([verb[0]], process.returncode, said, str(r.common_dir))

    def _drain(self) -> None:
        """Wait for what was begun and is not asked for any more; whatever it says does not count."""
        begun, self._begun = self._begun, None
        if begun is not None and self._running:
            try:
                self._answer(self._running)
            except BaseException as error:
                self.end()
                if not isinstance(error, EnvironmentProblem):
                    raise

    def _process(self, request: Mapping[str, Any]) -> _Process:
        """The one that runs, as long as its places are those that it was started in; else a fresh one. What it does
        already is this request, if it is anything."""
        if self._running and self._running.places != self._places():
            self.end()
        if self._begun != request:
            self._drain()
        if self._running is None:
            self._running = self._started()
        return self._running

    def _places(self) -> Places:
        """What tells whether the lane, or what is mounted in its Git folder, was removed or made again."""
        found = []
        large = self.sandbox.place.lfs if self.sandbox else None
        for path in (self.home / OWN, self.home / "tree", self.home / "tree" / ".git", *([large] if large else ())):
            with suppress(OSError):
                at = path.lstat()
                found.append((at.st_dev, at.st_ino, at.st_ctime_ns if path.name == ".git" else 0))
        return tuple(found)

    def _started(self) -> _Process:
        words = (interpreter(), "-I", "-S", "-X", "utf8", "-c", _BOOT)
        box = self.sandbox.around(self.home, OWN) if self.sandbox else None
        with sealed(box.filter if box else b"") as filtered:
            process = subprocess.Popen(
                box.enclosed(words, filter_at=filtered) if box else words, cwd="/" if box else self.home / "tree",
                env=self._env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                pass_fds=(filtered,), start_new_session=True,
            )  # fmt: skip
        settings = {"program": self.repository.program, "options": SAFE}
        return _Process(process, (_code(), settings), str(self.home), self._places())

    def _env(self) -> dict[str, str]:
        base = {name: value for name, value in self.repository.env.items() if name in _VARIABLES}
        git_dir = self.at / ".git" if self.sandbox else self.home / OWN
        return {**base, "GIT_DIR": str(git_dir), "GIT_WORK_TREE": str(self.at), "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0", "GIT_NO_REPLACE_OBJECTS": "1",
                "GIT_ATTR_NOSYSTEM": "1", "GIT_LITERAL_PATHSPECS": "1", "GIT_LFS_SKIP_DOWNLOAD_ERRORS": "1",
                "LC_ALL": "C"}  # fmt: skip


@cache
def _code() -> tuple[tuple[str, CodeType], ...]:
    """The keeper's modules, as (name, code): the interpreter inside is the one that runs here."""
    package = __name__.rpartition(".")[0]
    names = (package.partition(".")[0], package, *(f"{package}.{name}" for name in _MODULES))
    texts = ("", "", *(Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8") for name in _MODULES))
    return tuple((name, compile(text, name, "exec")) for name, text in zip(names, texts, strict=True))


class _Process:
    """A keeper that runs. `first` is what it is sent ahead of the first request, `places` where it was started."""

    def __init__(self, process: subprocess.Popen[bytes], first: tuple[Any, ...], where: str, places: Places) -> None:
        assert process.stdin and process.stdout
        self.places = places
        self._process, self._where = process, where
        self._in, self._out = process.stdin.fileno(), process.stdout.fileno()
        os.set_blocking(self._in, False)
        self._until = time.monotonic() + LONGEST_S
        self._waiting = memoryview(marshal.dumps(first))
        self._write()

    def ask(self, request: Mapping[str, Any], longest_s: float) -> None:
        """Send a request; it has so many seconds for all of its answer."""
        self._until = time.monotonic() + longest_s
        self._waiting = memoryview(b"".join((self._waiting, marshal.dumps(dict(request)))))
        while self._write():
            self._wait(self._in, select.POLLOUT)

    def hurry(self, longest_s: float) -> None:
        """What it is asked already has so many seconds more, at the most."""
        self._until = min(self._until, time.monotonic() + longest_s)

    def frame(self, most: int) -> bytes:
        """The next frame of its answer. NoAnswer if it ends, or says something else."""
        head = self._exactly(17)
        try:
            size = int(head, 16)
        except ValueError as error:
            raise self.no_answer("it is not a frame") from error
        if not 0 <= size <= most:
            raise self.no_answer(f"it says that it has {size} bytes")
        return self._exactly(size)

    def frames(self) -> Iterator[bytes]:
        """The frames up to the empty one."""
        while data := self.frame(_MOST_PACK):
            yield data

    def no_answer(self, why: str) -> NoAnswer:
        self.end()
        return NoAnswer(f"the keeper of the lane gave no answer: {why}", where=self._where)

    def end(self) -> None:
        process = self._process
        self._kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                with suppress(OSError):
                    stream.close()

    def _kill(self) -> None:
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _write(self) -> bool:
        """Write what it takes now; True if there is more to be written."""
        try:
            while self._waiting:
                self._waiting = self._waiting[os.write(self._in, self._waiting) :]
        except BlockingIOError:
            return True
        except BrokenPipeError as error:
            raise self._ended() from error
        return False

    def _exactly(self, size: int) -> bytes:
        """So many bytes, never one more."""
        parts: list[bytes] = []
        while size:
            self._wait(self._out, select.POLLIN)
            data = os.read(self._out, min(size, _READ_BYTES))
            if not data:
                raise self._ended()
            parts.append(data)
            size -= len(data)
        return b"".join(parts)

    def _wait(self, descriptor: int, event: int) -> None:
        poll = select.poll()
        poll.register(descriptor, event)
        if not poll.poll(max(0.0, self._until - time.monotonic()) * 1000):
            self.end()
            raise LaneProblem("the keeper of the lane did not answer in time", where=self._where)

    def _ended(self) -> NoAnswer:
        self._kill()
        said = (self._process.communicate()[1] or b"").decode("utf-8", "replace").strip()
        return self.no_answer(f"it ended: {said[-500:]}")


def names_in(paths: Sequence[str]) -> tuple[str, ...]:
    """Paths as the keeper takes them: without a slash at their end."""
    return tuple(path.rstrip("/") for path in paths)
