"""Git in the working tree of a lane: a shell script of a few plumbing commands for each task, inside the walls.

Each task begins with a fresh index. Git then reads every file, so no time stamp, index bit or index that an agent left
can hide a change. To take over, one script lists the differences, Ralphy chooses outside, and a second script takes
the chosen files with the same index.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ralphy.errors import EnvironmentProblem
from ralphy.files.disk_space import disk_problem_in
from ralphy.files.read import open_regular, read_regular
from ralphy.git.commands import SAFE, Repository
from ralphy.processes.bounded import run_bounded
from ralphy.processes.program_paths import with_usual_places
from ralphy.sandbox.bubblewrap import Sandbox, run_inside

_SPECIAL = re.compile(r"[*?\[\\ ]")  # in a pattern of what Git ignores
_LONGEST_S = 900.0
_MOST_LISTED = 1 << 30
_MOST_PACK = 4 << 30
_WRITTEN_OUT = ("-c", "core.fsync=all", "-c", "core.fsyncMethod=writeout-only")
_OWN = ("-c", f"core.excludesFile={os.devnull}", "-c", "core.trustctime=true", "-c", "core.checkStat=default",
        "-c", "core.logAllRefUpdates=false")  # fmt: skip
_VARIABLES = ("PATH", "HOME", "LANG", "USER", "LOGNAME", "TMPDIR")

# $tree in a fresh index. A submodule whose commit is there is read in as if its files were of the tree; `filled` and
# `empty` list these and the others. One whose path Git quotes is left alone.
_READ = r"""
set -e
"$git" read-tree "$tree"
: >"$GIT_DIR/filled"
: >"$GIT_DIR/empty"
tab=$(printf '\t')
while :; do
    "$git" ls-files --stage >"$GIT_DIR/listed"
    sed -n '/"/d; s/^160000 \([0-9a-f]*\) 0/\1/p' "$GIT_DIR/listed" >"$GIT_DIR/links"
    [ -s "$GIT_DIR/links" ] || break
    while IFS=$tab read -r commit path; do
        "$git" update-index --force-remove -- "$path"
        if "$git" ls-tree -r -t "$commit" >"$GIT_DIR/listed" 2>&1; then
            "$git" read-tree --prefix="$path/" "$commit"
            printf '%s\n' "$path" >>"$GIT_DIR/filled"
        elif [ $? -gt 128 ]; then
            exit 1
        else
            printf '%s\n' "$path" >>"$GIT_DIR/empty"
        fi
    done <"$GIT_DIR/links"
done
"$git" update-index -q --refresh --ignore-submodules || :
"""
# $@ says what is kept. The index is left as that of the tree, which knows submodules by their commits alone.
_LAY_OUT = f"""{_READ}
"$git" clean -ffdxq "$@"
"$git" checkout-index --all --force --index --quiet
while IFS= read -r path; do
    mkdir -p "$GIT_WORK_TREE/$path"
done <"$GIT_DIR/empty"
[ -s "$GIT_DIR/filled" ] || [ -s "$GIT_DIR/empty" ] || exit 0
"$git" read-tree "$tree"
"$git" update-index -q --refresh --ignore-submodules || :
"""
_LOOK = f"""{_READ}
"$git" diff-files --name-status -z --ignore-submodules=all >"$GIT_DIR/changed"
"$git" ls-files --others --exclude-standard -z >"$GIT_DIR/new"
"""
# `taken` and `gone` are the chosen files. Those that Git refuses are left out; `refused` gets its messages.
_TAKE = r"""
set -e
: >"$GIT_DIR/refused"
if [ -s "$GIT_DIR/filled" ] || [ -s "$GIT_DIR/empty" ]; then
    rm "$GIT_DIR/index"
    "$git" read-tree "$tree"
fi
[ ! -s "$GIT_DIR/gone" ] || "$git" update-index --force-remove -z --stdin <"$GIT_DIR/gone"
if ! "$git" update-index --add -z --stdin <"$GIT_DIR/taken"; then
    xargs -0 -n 1 "$git" update-index --add -- <"$GIT_DIR/taken" 2>"$GIT_DIR/refused" || :
fi
after=$("$git" write-tree)
printf '%s\n' "$after" "^$tree" | "$git" pack-objects --revs --stdout -q >"$GIT_DIR/pack"
echo "$after"
"""


class LaneProblem(EnvironmentProblem):
    """Git failed in a lane."""


@dataclass(frozen=True, slots=True)
class TreeDifference:
    """How a working tree differs from a tree. `changed` and `gone` are files of the tree or of a submodule in `filled`.
    `new` are untracked files that Git does not ignore; a nested repository ends with a slash. Submodules in `empty`
    have no files."""

    changed: frozenset[str]
    gone: frozenset[str]
    new: tuple[str, ...]
    filled: frozenset[str] = frozenset()
    empty: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class GitInside:
    """Git for the lane at `home`, whose tree programs see at `at`, inside its walls if it has any. Ralphy has just
    written its Git folder."""

    repository: Repository
    home: Path
    at: Path
    walls: Sandbox | None = None

    def lay_out(self, tree: str, keep: Iterable[str]) -> tuple[str, ...]:
        """Make the working tree exactly this tree, except for the paths to keep; the submodules that stay empty."""
        words = [word for path in keep for word in ("-e", "/" + _SPECIAL.sub(r"\\\g<0>", path))]
        self._run(_LAY_OUT, words, tree)
        return tuple(sorted(self._listed("empty", "\n")))

    def look(self, base: str) -> TreeDifference:
        """How the working tree differs from a tree."""
        self._run(_LOOK, [], base)
        rows = self._listed("changed", "\0")
        marks = dict(zip(rows[1::2], rows[::2], strict=True))
        gone = frozenset(path for path, mark in marks.items() if mark == "D")
        modules = (frozenset(self._listed(name, "\n")) for name in ("filled", "empty"))
        return TreeDifference(frozenset(marks) - gone, gone, tuple(self._listed("new", "\0")), *modules)

    def take(self, base: str, gone: list[str], files: list[str]) -> tuple[str, str]:
        """After `look`: (the tree that `base` becomes without the files that are gone and with these, why Git refuses
        some of them). The new objects go into the person's repository."""
        if not gone and not files:
            return base, ""
        for name, paths in (("gone", gone), ("taken", files)):
            (self._git / name).write_bytes(b"".join(os.fsencode(path) + b"\0" for path in paths))
        after = self._run(_TAKE, [], base)
        self._import(self._git / "pack")
        messages = self._listed("refused", "\n")
        return after, "; ".join(line for line in messages if line.startswith(("error: ", "fatal: ")))

    @property
    def _git(self) -> Path:
        return self.home / "git"

    def _listed(self, name: str, end: str) -> list[str]:
        """The entries of a list that a script has written into the Git folder."""
        data = read_regular(self._git / name, _MOST_LISTED)
        if data is None:
            raise LaneProblem(f"the lane cannot be used: {name} cannot be read", where=str(self._git))
        return [entry for entry in os.fsdecode(data).split(end) if entry]

    def _import(self, pack: Path) -> None:
        """Import a pack into the person's objects. A Git outside checks all of it first."""
        words = (*_WRITTEN_OUT, "unpack-objects", "-q", "--strict", f"--max-input-size={_MOST_PACK}")
        with open_regular(pack, os.O_NOFOLLOW) as file:
            self.repository.run(*words, stdin=file)

    def _run(self, script: str, words: Iterable[str], tree: str) -> str:
        """What a script prints. LaneProblem if it fails or does not end."""
        argv, env = ("/bin/sh", "-c", script, "sh", *words), {**self._env(), "tree": tree}
        try:
            if self.walls:
                done = run_inside(self.walls, argv, env, timeout_s=_LONGEST_S, cwd="/")
            else:
                done = run_bounded(argv, cwd=self.home / "tree", env=env, timeout_s=_LONGEST_S)
        except subprocess.TimeoutExpired:
            message = f"Git did not end in the lane within {_LONGEST_S:.0f} s"
            raise LaneProblem(message, where=str(self.home)) from None
        except FileNotFoundError:
            if self.walls:  # bubblewrap itself is missing
                raise
            raise LaneProblem("the lane cannot be used: it was removed", where=str(self.home)) from None
        if done.returncode:
            why = done.stderr.decode("utf-8", "replace").strip()[-2000:] or f"exit {done.returncode}"
            what = f"the lane cannot be used: {why}"
            raise disk_problem_in(why, str(self.home)) or LaneProblem(what, where=str(self.home))
        return done.stdout.decode().strip()

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
