"""Do the checks look at the lane? The probe breaks the lane's sources; checks that still pass look elsewhere.

In a lane beside the checkout, an editable install or an absolute path can lead the tests to the checkout's code: they
pass whatever an agent wrote. The probe also finds checks that check nothing. It breaks only code: tests, configuration
and what the checks call by name stay as they are, or a failure would prove nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ralphy.files.notes import read_note, write_note
from ralphy.git.objects import Entry
from ralphy.testguard.substance import CODE, is_manifest, is_test

if TYPE_CHECKING:
    from ralphy.git.objects import Objects

_LINE = b") this line is not code: a probe put it here\n"
_IN_SCRIPT = b"<script>\n" + _LINE + b"</script>\n"
_SCRIPTS = frozenset(["sh", "bash", "zsh", "fish", "ps1", "bat", "cmd", "awk"])
_SPOILED: Mapping[str, bytes] = {
    **dict.fromkeys((*(ending[1:] for ending in CODE if ending != ".sql"), *_SCRIPTS), _LINE),
    "php": b"<?php\n" + _LINE,
    **dict.fromkeys(("vue", "svelte", "astro"), _IN_SCRIPT),
}
_CONFIGURATION = re.compile(
    r"(?:^|/)(?:conftest|setup|noxfile|tasks|fabfile|manage|conf|wscript|sitecustomize|usercustomize)\.py$"
    r"|(?:^|/)(?:[^/]*\.)?(?:config|conf|setup)\.[^/]+$|(?:^|/)\.[^/]*$|(?:^|/)(?:gulpfile|gruntfile|jakefile)\.[^/]+$"
    r"|(?:^|/)(?:build\.(?:rs|zig|sc|mill)|mix\.exs|package\.swift|directory\.build\.[^/]+|[^/]*\.gradle\.kts)$",
    re.I,
)
# Folders beside the product's code: spoiled only where there is no other.
_ASIDE = re.compile(
    r"(?:^|/)(?:docs?|examples?|\.[^/]+|config|scripts?|tools|bin|ci|vendor|third_party|node_modules|migrations|fixtures"
    r"|testdata|bench(?:marks?)?)/",
    re.I,
)


_UNKNOWN = "whether the checks look at the code is not known"


@dataclass(frozen=True, slots=True)
class ProbeVerdict:
    """`problem` can stop the run before any money is spent, `hint` is what to do; `notes` are only printed."""

    problem: str = ""
    hint: str = ""
    notes: tuple[str, ...] = ()


def probed(
    objects: Objects, tree: str, commands: Mapping[str, str], green: Sequence[str],
    run: Callable[[str], Iterable[str]], *, is_mounted: bool, excluded: Sequence[str] = (),
) -> ProbeVerdict:  # fmt: skip
    """Break a tree, run its checks on it and judge: `run` gets the id of the broken tree and gives the names of the
    checks that pass.

    `commands` are the checks by name; `green` are those that pass on the tree as it is: others prove nothing.
    `excluded` are folders of documents (the features').
    """
    if not green:
        return ProbeVerdict(notes=(f"probe skipped: no check passes on the code as it is; {_UNKNOWN}",))
    spoils = spoiled_files([path for path, _ in _files(objects, tree)], commands.values(), excluded)
    if not spoils:
        return ProbeVerdict(
            notes=(f"probe skipped: there is no source file in a language that Ralphy knows; {_UNKNOWN}",)
        )
    still = set(run(spoiled_tree(objects, tree, spoils)))
    return judged(green, [name for name in green if name in still], commands, is_mounted=is_mounted)


def spoiled_files(paths: Sequence[str], commands: Iterable[str], excluded: Sequence[str] = ()) -> dict[str, bytes]:
    """What each source file is replaced by: a line that its language cannot parse.

    Folders beside the code only where there is no other code, and scripts of a shell only where there is nothing else:
    most often they start the checks.
    """
    words = {word.removeprefix("./") for command in commands for word in re.split(r"[\s=:'\"]+", command)}
    own = tuple(f"{folder.rstrip('/')}/" for folder in excluded)
    spoils = {path: _SPOILED[_ending(path)] for path in paths
              if _ending(path) in _SPOILED and path not in words and not path.startswith(own)
              and not is_test(path) and not _CONFIGURATION.search(path)}  # fmt: skip
    programs = {path: spoil for path, spoil in spoils.items() if _ending(path) not in _SCRIPTS}
    return {path: spoil for path, spoil in programs.items() if not _ASIDE.search(path)} or programs or spoils


def _ending(path: str) -> str:
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2].lower() if "." in name else ""


def spoiled_tree(objects: Objects, tree: str, spoils: Mapping[str, bytes]) -> str:
    """The id of a tree with these files replaced."""
    oids = objects.write_blobs(spoils)
    return objects.graft(tree, {path: Entry(entry.mode, oids[path]) for path, entry in _files(objects, tree)
                                if path in spoils})  # fmt: skip


def _files(objects: Objects, tree: str) -> Iterator[tuple[str, Entry]]:
    """The regular files of a tree, with their paths."""
    return ((path, new) for path, _, new in objects.changes("", tree) if new and new.mode.startswith("100"))


def judged(
    green: Sequence[str], still: Sequence[str], commands: Mapping[str, str], *, is_mounted: bool
) -> ProbeVerdict:
    """The verdict if, of the checks that were `green`, these are `still` green on code that cannot work.

    At least one must turn red. Without a mount each that runs tests must: a linter that turns red does not show where
    the tests import from.
    """
    blind = [] if is_mounted else [name for name in still if runs_tests(name, commands.get(name, ""))]
    if len(still) < len(green) and not blind:
        return ProbeVerdict(notes=tuple(f"the check {name} passes on broken code: it checks nothing" for name in still))
    passing = f"{_listed(blind or still)} on broken code"
    if is_mounted:
        return ProbeVerdict(
            f"the checks check nothing: {passing}", "add a check that runs the project's tests to checks:"
        )
    return ProbeVerdict(
        f"checks do not look at the lane: {passing}",
        "install bubblewrap, so that lanes are mounted at the checkout's path; or have `setup:` install this"
        " project and its dependencies in the lane",
    )


def _listed(names: Sequence[str]) -> str:
    return f"{names[0]} passes" if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]} pass"


_RUNS_TESTS = re.compile(
    r"\b(?:py\.?tests?|tests?|unittest|nose2?|tox|nox|jest|vitest|mocha|ava|karma|cypress|playwright|rspec|minitest"
    r"|phpunit|pest|ctest|gtest|e2e|(?:make|rake) (?:check|spec))\b"
)


def runs_tests(name: str, command: str) -> bool:
    """Does a check run tests, judging by its name or its command?"""
    return bool(_RUNS_TESTS.search(name.lower().replace("_", " ")) or _RUNS_TESTS.search(command.lower()))


def cache_key(
    files: Mapping[str, str], checks: Mapping[str, str], *, setup: str, is_mounted: bool, brought: Iterable[str] = ()
) -> str:
    """A digest of what a verdict depends on: the checks, `setup`, the brought paths, lock files and manifests.

    `files` are the paths of the tree with the ids of their contents.
    """
    steering = {path: oid for path, oid in files.items() if is_manifest(path)}
    endings = sorted({_ending(path) for path in files} & _SPOILED.keys())
    parts = [sorted(steering.items()), sorted(checks.items()), setup, is_mounted, sorted(brought), endings]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def remembered(store: Path, key: str) -> ProbeVerdict | None:
    """The last good verdict, if it was noted for this key; else None."""
    note = read_note(store)
    notes = note.get("notes")
    return ProbeVerdict(notes=tuple(map(str, notes))) if note.get("for") == key and isinstance(notes, list) else None


def remember(store: Path, key: str, verdict: ProbeVerdict) -> None:
    """Note a verdict without a problem. A problem may be solved outside of what the key covers."""
    if not verdict.problem:
        write_note(store, {"for": key, "notes": list(verdict.notes)}, durable=False)
