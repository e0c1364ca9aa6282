"""Attempts at lanes, in a whole run: nothing of the checkout changes, nothing runs outside, and a story's commit holds
what its tree held."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ralphy.git.commands import discover
from ralphy.git.objects import Objects
from tests.engine.building import Project, assert_clean, build, story, works
from tests.sandbox.inside import everything_in

HIDDEN = "import os; at = os.stat('src/base.py'); open('src/base.py', 'w').write('BASE = {}\\n'); " \
         "os.utime('src/base.py', ns=(at.st_atime_ns, at.st_mtime_ns))"  # fmt: skip
HOOKS = "post-index-change pre-commit post-checkout reference-transaction pre-auto-gc post-rewrite fsmonitor-watchman"
CONFIGURED = """
for name in filter.x.clean filter.x.smudge filter.x.process core.fsmonitor core.sshCommand core.pager diff.external; do
  git config $name 'sh {evil}'; done
git config filter.x.required true; git config core.attributesFile {evil}; git config include.path {evil}
git config core.worktree {outside}; git config core.excludesFile {evil}; git config core.ignoreCase true
mkdir -p .G/info; cp -r $G/. .G; echo '* filter=x diff=x merge=x' > $G/info/attributes; rm -rf .G
echo '*.py filter=x' > src/.gitattributes; echo 'MORE = 1' > src/more.py; echo '*' > $G/info/exclude
"""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What an agent does besides its work, what its commit holds then (None: it does not have the path), or why there
    is none. The script knows its Git folder as $G."""

    script: str
    holds: dict[str, str | None] = field(default_factory=dict)
    refused: str = ""


ATTEMPTS = {
    "US-090": Attempt(
        "cp $G/index $G/old; echo 'BASE = 90' > src/base.py; touch -r check.py src/base.py; git add -A; "
        "git update-index --assume-unchanged src/base.py; mv $G/old $G/index; touch $G/index.lock",
        {"src/base.py": "BASE = 90\n"},
    ),
    "US-091": Attempt(f"python3 -c {shlex.quote(HIDDEN.format(91))}", {"src/base.py": "BASE = 91\n"}),
    "US-092": Attempt(
        "mkdir -p $G/objects/info; echo {private}/.git/objects > $G/objects/info/alternates; "
        "git update-index --add --cacheinfo 100644,{secret},src/stolen.py; git tag stolen {secret}; "
        "git checkout-index -q src/stolen.py; rm -f src/stolen.py",
        {"src/stolen.py": None},
    ),
    "US-093": Attempt(
        f"mkdir -p $G/hooks; for name in {HOOKS}; do cp {{evil}} $G/hooks/$name; chmod +x $G/hooks/$name; done; "
        "git config core.hooksPath $G/hooks",
    ),
    "US-094": Attempt(CONFIGURED, {"src/more.py": "MORE = 1\n", "src/.gitattributes": "*.py filter=x\n"}),
    "US-095": Attempt(
        "test -f data/deep/two && ! test -L data/deep && rm -rf data/deep data/one && ln -s {outside} data/deep && "
        "ln -s {outside}/letter data/one && ln -s ../data src/data && echo 'D = 1' > src/d.py",
        {"data/one": None, "src/d.py": "D = 1\n"},
    ),
    "US-096": Attempt(
        "test \"$(cat data/one data/deep/two)\" = 12 && rm -f .gitattributes && "
        "mkfifo src/pipe .gitattributes src/.gitignore && rm check.txt && mkfifo check.txt",
        {"src/pipe": None, ".gitattributes": None, "src/.gitignore": None, "check.txt": None},
    ),
    "US-097": Attempt(
        "git init -q src/inner; git -C src/inner commit -q --allow-empty -m x; echo x > src/inner/f; "
        "git -C src/inner config core.fsmonitor 'sh {evil}'; "
        "git update-index --add --cacheinfo 160000,$(git -C src/inner rev-parse HEAD),src/link; mkdir src/link",
        refused="src/inner is a nested repository",
    ),
    "US-098": Attempt(
        f"mkdir -p {'d/' * 200} && echo deep > {'d/' * 200}f && chmod 000 {'d/' * 100}",
        {f"{'d/' * 200}f": "deep\n"},
    ),
    "US-099": Attempt(
        "printf odd > \"$(printf 'src/\\377\\n\\042\\t -x.txt')\"; printf new > 'src/a\n160000 1 0\tb'",
        {"src/\udcff\n\"\t -x.txt": "odd", "src/a\n160000 1 0\tb": "new"},
    ),
    "US-100": Attempt(
        "echo 'BASE = 100' > src/base.py; mkdir -p {{outbox}}/x; chmod 000 {{outbox}}/x {{outbox}} src/base.py src .",
        {"src/base.py": "BASE = 100\n"},
    ),
}  # fmt: skip


def prepared(tmp_path: Path) -> tuple[Project, Path]:
    """A project whose agents make the attempts, each in a story; and the file that is there when a program ran."""
    project = build(
        tmp_path, *map(story, ATTEMPTS), limits={"max_attempts": 1}, breaker={"enabled": False},
        lanes={"bring": ["data"]},
    )  # fmt: skip
    canary, evil, outside, private = (tmp_path / name for name in ("sung", "evil.sh", "outside", "private"))
    for folder in (outside, private, project.repo / "data" / "deep"):
        folder.mkdir(parents=True)
    (outside / "letter").write_text("dear\n")
    (private / "key").write_text("CANARY\n")
    for words in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "-m", "mine"]):
        project.git("-C", str(private), *words)
    evil.write_text(f"#!/bin/sh\ntouch {canary}\ncat\n")
    (project.repo / "data" / "one").write_text("1")
    (project.repo / "data" / "deep" / "two").write_text("2")
    (project.repo / "check.txt").write_text("text\n")
    (project.repo / ".gitignore").write_text("__pycache__/\n*.log\n/data/\n")
    project.commit("chore: data")
    known = {"evil": evil, "outside": outside, "private": private,
             "secret": project.git("-C", str(private), "rev-parse", "HEAD:key")}  # fmt: skip

    def run(script: str) -> list[str]:
        for name, value in known.items():
            script = script.replace(f"{{{name}}}", str(value))
        return ["sh", "-c", f"G=$(git rev-parse --absolute-git-dir)\n{script}\nrm -f {canary}; exit 0"]

    project.play(stories={name: [works(run=[run(one.script)])] for name, one in ATTEMPTS.items()})
    return project, canary


def outside_of_the_documents(project: Project, tmp_path: Path) -> dict[str, object]:
    """What no agent may change: the checkout but for its documents, the settings of its Git, its neighbours."""
    git = project.repo / ".git"
    kept = [path for path in project.repo.iterdir() if path.name not in (".git", "docs")]
    kept += [git / "hooks", tmp_path / "outside", tmp_path / "private"]
    files = {str(path): path.read_bytes() for path in (*kept, git / "config", git / "HEAD") if path.is_file()}
    return {**files, **{str(path): everything_in(path) for path in kept if path.is_dir()}}


@pytest.mark.attempt(90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 100)
def test_only_what_a_tree_held_is_in_its_commit_and_nothing_else_changes(walls: str, tmp_path: Path) -> None:
    project, canary = prepared(tmp_path)
    before = outside_of_the_documents(project, tmp_path)

    ended = project.loop(agents=len(ATTEMPTS))

    assert not canary.exists()
    assert outside_of_the_documents(project, tmp_path) == before
    landed = [f"login/{name}" for name, one in ATTEMPTS.items() if not one.refused]
    assert project.landed() == landed, ended.text
    for name, one in ATTEMPTS.items():
        if one.refused:
            assert one.refused in project.story(name)["execution"]["last_error"]
            continue
        assert held_by(project, project.commit_of(name), one.holds) == one.holds
    assert b"CANARY" not in discover(project.repo).run("log", "--patch", "--all")
    assert_clean(project)


def held_by(project: Project, commit: str, paths: Iterable[str]) -> dict[str, str | None]:
    """What a commit has at these paths."""
    objects = Objects(discover(project.repo))
    tree = objects.tree_of(commit)
    found = {path: objects.at(tree, path) for path in paths}
    return {path: (objects.read(entry.oid) or b"").decode() if entry else None for path, entry in found.items()}
