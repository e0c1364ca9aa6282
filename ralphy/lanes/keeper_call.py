"""Start the keeper of a lane, inside its sandbox if there is one, and take its answer: bounded in time and in size."""

from __future__ import annotations

import json
import marshal
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
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
from ralphy.system import IS_PORTABLE

_MODULES = ("keeper_tree", "keeper_modules", "keeper")  # sent as compiled code, the one that is started last
_BOOT = """
import marshal, sys
modules, request = marshal.load(sys.stdin.buffer)
for name, code in modules:
    module = sys.modules[name] = type(sys)(name)
    module.__path__ = []
    exec(code, module.__dict__)
module.main(request)
"""
LONGEST_S = 900.0
_MOST_ANSWER = 64 << 20
_MOST_PACK = 4 << 30
_FEW = 100  # objects that are unpacked, not kept as a pack
_WRITTEN_OUT = ("-c", "core.fsync=all", "-c", "core.fsyncMethod=writeout-only")
_VARIABLES = ("PATH", "HOME", "LANG", "USER", "LOGNAME", "TMPDIR")


class LaneProblem(EnvironmentProblem):
    """The keeper could not do it."""


@dataclass(frozen=True, slots=True)
class Keeper:
    """The keeper of the lane at `home`, whose tree is seen at `at`."""

    repository: Repository
    home: Path
    at: Path
    sandbox: LaneSandbox | None

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Its answer; the pack, if it sends one, goes into the person's objects. LaneProblem if it says why not."""
        with self._started(request) as process:
            answer = self._answer(process)
            if answer.get("objects"):
                self._import(process, answer["objects"])
            elif process.stdout:
                process.stdout.close()
            process.wait()
        return answer

    def _answer(self, process: subprocess.Popen[bytes]) -> dict[str, Any]:
        assert process.stdout
        fd = process.stdout.fileno()
        size = _exactly(fd, 17)
        line = _exactly(fd, min(int(size, 16), _MOST_ANSWER)) if len(size) == 17 else b""
        if not line:
            process.kill()
            said = (process.communicate()[1] or b"").decode("utf-8", "replace").strip()
            raise LaneProblem(f"the keeper of the lane ended without an answer: {said[-500:]}", where=str(self.home))
        answer: dict[str, Any] = json.loads(line)
        if why := answer.get("why"):
            disk = problem_said(why, str(self.home)) or as_problem(OSError(answer.get("errno", 0), why, str(self.home)))
            raise disk or LaneProblem(f"the lane cannot be used: {why}", where=str(self.home))
        return answer

    def _import(self, process: subprocess.Popen[bytes], objects: int) -> None:
        """The pack goes straight to a Git outside that looks at all of it before anything of it counts."""
        r = self.repository
        verb = ("unpack-objects", "-q") if objects < _FEW else ("index-pack", "--stdin")
        words = (r.program, *r.options, *_WRITTEN_OUT, *verb, "--strict", f"--max-input-size={_MOST_PACK}")
        done = subprocess.run(words, cwd=r.root, env=r.env, stdin=process.stdout, capture_output=True, check=False)
        assert process.stdout
        process.stdout.close()
        if done.returncode:
            raise failure([verb[0]], done.returncode, done.stderr, str(r.common_dir))

    @contextmanager
    def _started(self, request: Mapping[str, Any]) -> Iterator[subprocess.Popen[bytes]]:
        env, words = self._env(), (interpreter(), "-I", "-S", "-X", "utf8", "-c", _BOOT)
        box = self.sandbox.around(self.home, OWN) if self.sandbox else None
        asked = {"program": self.repository.program, "options": SAFE, "keep": (), "portable": IS_PORTABLE, **request}
        with sealed(marshal.dumps((_code(), asked))) as stdin, sealed(box.filter if box else b"") as filtered:
            process = subprocess.Popen(
                box.enclosed(words, filter_at=filtered) if box else words, cwd="/" if box else self.home / "tree",
                env=env, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=(filtered,),
                start_new_session=True,
            )  # fmt: skip
        clock = threading.Timer(LONGEST_S, _end, (process,))
        clock.daemon = True
        clock.start()
        try:
            yield process
        finally:
            clock.cancel()
            _end(process)
            for stream in (process.stdout, process.stderr):
                if stream:
                    stream.close()

    def _env(self) -> dict[str, str]:
        base = {name: value for name, value in self.repository.env.items() if name in _VARIABLES}
        git_dir = self.at / ".git" if self.sandbox else self.home / OWN
        return {**base, "GIT_DIR": str(git_dir), "GIT_WORK_TREE": str(self.at), "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0", "GIT_NO_REPLACE_OBJECTS": "1",
                "GIT_ATTR_NOSYSTEM": "1", "GIT_LITERAL_PATHSPECS": "1", "LC_ALL": "C"}  # fmt: skip


@cache
def _code() -> tuple[tuple[str, CodeType], ...]:
    """The keeper's modules, as (name, code): the interpreter inside is the one that runs here."""
    package = __name__.rpartition(".")[0]
    names = (package.partition(".")[0], package, *(f"{package}.{name}" for name in _MODULES))
    texts = ("", "", *(Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8") for name in _MODULES))
    return tuple((name, compile(text, name, "exec")) for name, text in zip(names, texts, strict=True))


def _exactly(fd: int, size: int) -> bytes:
    """So many bytes, never one more; less at the end of the file."""
    parts: list[bytes] = []
    while size and (data := os.read(fd, min(size, 1 << 20))):
        parts.append(data)
        size -= len(data)
    return b"".join(parts)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def names_in(paths: Sequence[str]) -> tuple[str, ...]:
    """Paths as the keeper takes them: without a slash at their end."""
    return tuple(path.rstrip("/") for path in paths)
