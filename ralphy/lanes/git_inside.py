"""Git in the working tree of a lane: one shell script of a few plumbing commands for each question, inside the walls.

Each begins with a fresh index. Git then reads every file, so no time stamp, no bit and no index that an agent left can
hide a change. Nothing is kept between two of them.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ralphy.errors import EnvironmentProblem
from ralphy.files.disk_space import problem_said
from ralphy.files.memory_file import sealed
from ralphy.git.commands import SAFE, Repository, failure
from ralphy.processes.program_paths import with_usual_places
from ralphy.sandbox.bubblewrap import Sandbox

GITLINK = "160000"
_LONGEST_S = 900.0
_MOST_MODULES = 1000
_MOST_PACK = 4 << 30
_FEW = 100  # objects that are unpacked, not kept as a pack
_WRITTEN_OUT = ("-c", "core.fsync=all", "-c", "core.fsyncMethod=writeout-only")
_OWN = ("-c", f"core.excludesFile={os.devnull}", "-c", "core.trustctime=true", "-c", "core.checkStat=default",
        "-c", "core.logAllRefUpdates=false")  # fmt: skip
_VARIABLES = ("PATH", "HOME", "LANG", "USER", "LOGNAME", "TMPDIR")

# $1 is a tree; then come paths of submodules, each with its commit. A submodule whose commit is there is read into the
# index as if its files were the tree's own.
_READ = """
set -e
"$git" read-tree "$1"
shift
while [ $# -gt 0 ]; do
    if "$git" ls-tree -r -t "$2" >"$GIT_DIR/listed" 2>&1; then
        "$git" update-index --force-remove -- "$1"
        "$git" read-tree --prefix="$1/" "$2"
    elif [ $? -gt 128 ]; then
        exit 1
    fi
    shift 2
done
"""
_LOOK = f"""{_READ}
"$git" update-index -q --refresh --ignore-submodules || :
"$git" ls-files --stage -z
printf '\\0'
"$git" diff-files --name-status -z --ignore-submodules=all
printf '\\0'
"$git" ls-files --others --exclude-standard -z
"""
_WRITE = """
set -e
"$git" checkout-index --all --force --index --quiet
if [ $# -gt 0 ]; then
    rm "$GIT_DIR/index"
    "$git" read-tree "$1"
    "$git" update-index -q --refresh --ignore-submodules || :
fi
"""
# What Git refuses is left out, and its words are told after the id of the tree.
_TAKE = """
set -e
rm "$GIT_DIR/index"
"$git" read-tree "$1"
"$git" update-index --force-remove -z --stdin <"$GIT_DIR/gone"
: >"$GIT_DIR/refused"
if ! "$git" update-index --add -z --stdin <"$GIT_DIR/taken"; then
    xargs -0 -n 1 "$git" update-index --add -- <"$GIT_DIR/taken" 2>"$GIT_DIR/refused" || :
fi
tree=$("$git" write-tree)
printf '%s\\n' "$tree" "^$1" | "$git" pack-objects --revs --stdout -q >"$GIT_DIR/pack"
echo "$tree"
cat "$GIT_DIR/refused"
"""


class LaneProblem(EnvironmentProblem):
    """Git could not do in a lane what it was asked."""


@dataclass(frozen=True, slots=True)
class Look:
    """A tree as a working tree stands beside it. `files` are its paths with Git's mode and id, those of the submodules
    in `filled` with them; `changed` and `gone` are some of these, `new` what Git does not ignore. A nested repository
    ends with a slash."""

    files: Mapping[str, tuple[str, str]]
    changed: frozenset[str]
    gone: frozenset[str]
    new: tuple[str, ...]
    filled: frozenset[str] = frozenset()

    @property
    def empty(self) -> frozenset[str]:
        """The submodules that are not filled."""
        return frozenset(path for path, (mode, _) in self.files.items() if mode == GITLINK)


@dataclass(frozen=True, slots=True)
class GitInside:
    """Git for the lane at `home`, whose tree programs see at `at`, inside its walls, if there are any. Its Git folder
    was written by Ralphy just before."""

    repository: Repository
    home: Path
    at: Path
    walls: Sandbox | None = None

    def look(self, tree: str) -> Look:
        """How the working tree differs from a tree; the index is then that of the tree with its submodules."""
        asked: dict[str, str] = {}
        while True:
            words = [word for pair in asked.items() for word in pair]
            found = _look(self._run(_LOOK, tree, *words))
            links = {path: found.files[path][1] for path in sorted(found.empty - asked.keys())}
            if not links or len(asked) >= _MOST_MODULES:
                filled = frozenset(asked) - found.empty
                return Look(found.files, found.changed, found.gone, found.new, filled)
            asked |= dict(list(links.items())[:_MOST_MODULES])

    def write(self, tree: str, look: Look) -> None:
        """Write what differs from the look at a tree, and leave the index of the tree alone."""
        self._run(_WRITE, *([tree] if look.filled else []))

    def take(self, base: str, gone: Iterable[str], files: Iterable[str]) -> tuple[str, str]:
        """(the tree that `base` becomes without and with these paths, why Git refuses some of them); the objects that
        are new with it go into the person's."""
        for name, paths in (("gone", gone), ("taken", files)):
            (self.home / "git" / name).write_bytes(b"".join(os.fsencode(path) + b"\0" for path in paths))
        tree, *said = self._run(_TAKE, base).decode("utf-8", "replace").splitlines()
        self._import(self.home / "git" / "pack")
        return tree, "; ".join(line for line in said if line.startswith(("error: ", "fatal: ")))

    def _import(self, pack: Path) -> None:
        """A Git outside looks at all of the pack before anything of it counts."""
        r, descriptor = self.repository, os.open(pack, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            objects = int.from_bytes(os.pread(descriptor, 4, 8), "big")
            if not objects:
                return
            verb = ("unpack-objects", "-q") if objects < _FEW else ("index-pack", "--stdin")
            words = (r.program, *r.options, *_WRITTEN_OUT, *verb, "--strict", f"--max-input-size={_MOST_PACK}")
            done = subprocess.run(words, cwd=r.root, env=r.env, stdin=descriptor, capture_output=True, check=False)
        finally:
            os.close(descriptor)
        if done.returncode:
            raise failure([verb[0]], done.returncode, done.stderr, str(r.common_dir))

    def _run(self, script: str, *words: str) -> bytes:
        argv = ("/bin/sh", "-c", script, "sh", *words)
        box = self.walls
        with sealed(box.filter if box else b"") as filtered:
            process = subprocess.Popen(
                box.enclosed(argv, filter_at=filtered) if box else argv, cwd="/" if box else self.home / "tree",
                env=self._env(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                pass_fds=(filtered,), start_new_session=True,
            )  # fmt: skip
        try:
            out, said = process.communicate(timeout=_LONGEST_S)
        except BaseException as error:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            if isinstance(error, subprocess.TimeoutExpired):
                raise LaneProblem("Git did not come to its end in the lane", where=str(self.home)) from None
            raise
        if process.returncode:
            why = said.decode("utf-8", "replace").strip()[-2000:] or f"exit {process.returncode}"
            what = f"the lane cannot be used: {why}"
            raise problem_said(why, str(self.home)) or LaneProblem(what, where=str(self.home))
        return out

    def _env(self) -> dict[str, str]:
        base = {name: value for name, value in self.repository.env.items() if name in _VARIABLES}
        base["PATH"] = with_usual_places(base)  # for rm, cat and xargs
        settings = [word.partition("=") for word in (*SAFE, *_OWN) if word != "-c"]
        named = {f"GIT_CONFIG_{part}_{number}": text for number, (name, _, value) in enumerate(settings)
                 for part, text in (("KEY", name), ("VALUE", value))}  # fmt: skip
        git_dir = self.at / ".git" if self.walls else self.home / "git"
        return {**base, **named, "GIT_CONFIG_COUNT": str(len(settings)), "git": self.repository.program,
                "GIT_DIR": str(git_dir), "GIT_WORK_TREE": str(self.at), "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0", "GIT_NO_REPLACE_OBJECTS": "1",
                "GIT_ATTR_NOSYSTEM": "1", "GIT_LITERAL_PATHSPECS": "1", "GIT_LFS_SKIP_DOWNLOAD_ERRORS": "1",
                "LC_ALL": "C"}  # fmt: skip


def _look(out: bytes) -> Look:
    """What `_LOOK` prints: three lists, with an empty name between them."""
    names = iter(os.fsdecode(out).split("\0"))
    files = {path: (mode, oid) for facts, _, path in (row.partition("\t") for row in iter(names.__next__, ""))
             for mode, oid, _ in (facts.split(" "),)}  # fmt: skip
    changed = list(iter(names.__next__, ""))
    marks = dict(zip(changed[1::2], changed[::2], strict=True))
    gone = frozenset(path for path, mark in marks.items() if mark == "D")
    return Look(files, frozenset(marks) - gone, gone, tuple(filter(None, names)))
