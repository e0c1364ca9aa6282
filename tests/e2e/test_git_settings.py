"""Git as people set it up: whatever their configuration and their shell say, a feature comes out the same."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ralphy.errors import ExitCode
from tests.engine.building import PATIENCE_S, Project, assert_clean, breaks, build, person, works

# What changes how Git prints, compares, orders, names or applies things; each breaks a program that reads its output.
SETTINGS = {
    "apply.ignoreWhitespace": "change", "apply.whitespace": "error", "branch.sort": "-committerdate",
    "color.diff": "always", "color.status": "always", "color.ui": "always", "column.ui": "always",
    "commit.cleanup": "scissors", "commit.status": "false", "commit.template": "~/no-such-template",
    "commit.verbose": "true", "core.abbrev": "4", "core.commentChar": ";", "core.editor": "false",
    "core.attributesFile": "/dev/null", "core.excludesFile": "/dev/null", "core.logAllRefUpdates": "false",
    "core.pager": "false", "core.quotePath": "true", "core.untrackedCache": "true",
    "diff.algorithm": "patience", "diff.colorMoved": "zebra", "diff.context": "0", "diff.dirstat": "lines",
    "diff.external": "false", "diff.ignoreSubmodules": "all", "diff.interHunkContext": "40",
    "diff.mnemonicPrefix": "true", "diff.noprefix": "true", "diff.relative": "true", "diff.renames": "copies",
    "diff.statGraphWidth": "1", "diff.submodule": "log", "diff.suppressBlankEmpty": "true",
    "diff.wordRegex": ".", "diff.wsErrorHighlight": "all", "feature.manyFiles": "true", "fetch.prune": "true",
    "format.pretty": "oneline", "i18n.commitEncoding": "ISO-8859-1", "i18n.logOutputEncoding": "ISO-8859-1",
    "init.defaultBranch": "trunk", "log.abbrevCommit": "true", "log.date": "relative", "log.decorate": "full",
    "log.diffMerges": "combined", "log.follow": "true", "log.showRoot": "false", "log.showSignature": "true",
    "merge.conflictStyle": "diff3", "merge.ff": "only", "merge.renames": "false", "merge.verifySignatures": "true",
    "notes.displayRef": "refs/notes/*", "pager.diff": "false", "pager.log": "false", "pull.rebase": "true",
    "push.default": "nothing", "push.followTags": "true", "push.recurseSubmodules": "on-demand",
    "rebase.autoStash": "true", "status.branch": "true", "status.relativePaths": "false", "status.short": "true",
    "status.showStash": "true", "status.showUntrackedFiles": "no", "status.submoduleSummary": "true",
    "tag.sort": "-taggerdate", "transfer.fsckObjects": "true", "user.useConfigOnly": "true",
}  # fmt: skip
# What a shell has in the middle of a hook, of `git rebase --exec`, or in a dotfiles setup.
VARIABLES = {
    "GIT_ALTERNATE_OBJECT_DIRECTORIES": "/nonexistent", "GIT_GRAFT_FILE": "/nonexistent",
    "GIT_ICASE_PATHSPECS": "1", "GIT_NOGLOB_PATHSPECS": "1", "GIT_QUARANTINE_PATH": "/nonexistent",
    "GIT_SHALLOW_FILE": "/nonexistent",
    "GIT_COMMON_DIR": "/nonexistent", "GIT_CONFIG": "/nonexistent/config", "GIT_DEFAULT_HASH": "sha256",
    "GIT_DIFF_OPTS": "-u0", "GIT_DIR": "/nonexistent/.git", "GIT_OBJECT_DIRECTORY": "/nonexistent",
    "GIT_EDITOR": "false", "GIT_EXTERNAL_DIFF": "false", "GIT_INDEX_FILE": "/nonexistent/index",
    "GIT_LITERAL_PATHSPECS": "1", "GIT_NAMESPACE": "theirs", "GIT_NOTES_REF": "refs/notes/theirs",
    "GIT_PAGER": "false", "GIT_PREFIX": "src/", "GIT_SEQUENCE_EDITOR": "false", "GIT_TRACE": "1",
    "GIT_WORK_TREE": "/nonexistent",
}  # fmt: skip
PRD = "# Anmeldung für alle\n\n## Objective\n\n- Größe prüfen\n- People sign out\n"
UMLAUTS = {"write": {"src/über {{slug}}.py": "GRÖSSE = 1  \n\n", "src/{{slug}}.py": "WORKS = {{attempt}}\n"}}


def called(project: Project, *words: str) -> str:
    """What a call of `ralphy` that ends well prints."""
    with project.start(*words, stdout=subprocess.PIPE) as process:
        out, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == ExitCode.DONE, f"ralphy {' '.join(words)}: {process.returncode}\n{out}{said}"
    assert "Traceback" not in said, said
    return out


def asked(project: Project, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(called(project, *words, "--json"))
    return found


def feature_of(folder: Path, settings: Mapping[str, str], variables: Mapping[str, str]) -> dict[str, Any]:
    """What a feature leaves, and what commands say of it, from PRD.md to the merged branch; without ids and times."""
    folder.mkdir()
    project = build(folder, gates={"spec": "auto", "qa": "auto"})
    project.write("PRD.md", PRD)
    renamed = "git switch -q ralph/login; git mv src/über* src/over.py; git commit -qm moved; git switch -q main"
    project.play(stories={
        "US-001": [breaks(write={"src/großes.py": "BROKEN = 1  \n"}, append={"src/base.py": "MORE = 1\n"}), UMLAUTS],
        "US-002": [works(append={"src/über us_001.py": "MORE = 2\n"}, run=person(project, renamed))],
    })  # fmt: skip
    hub, config = folder / "hub.git", folder / "gitconfig"
    project.add_remote(hub)
    shutil.copy(project.env["GIT_CONFIG_GLOBAL"], config)
    for name, value in settings.items():
        project.git("config", "--file", str(config), name, value)
    theirs = replace(project, env={**project.env, "GIT_CONFIG_GLOBAL": str(config), **variables})

    called(theirs, "loop", "login")
    assert_clean(project)
    found: dict[str, Any] = {"patch": called(theirs, "attempts", "diff", "US-001", "1")}
    found["subjects"] = project.subjects()
    found["code"] = project.git("ls-tree", "-r", "-z", project.branch, "src")
    found["pushed"] = project.git("ls-remote", str(hub)).split()[1::2]
    found["kept"] = [(row["outcome"], row["files"]) for row in asked(theirs, "attempts", "list")["attempts"]]
    found["shown"] = asked(theirs, "story", "show", "US-001")["commit"]["subject"]
    project.switch()
    called(theirs, "attempts", "restore", "US-001", "1")
    found["restored"] = (project.repo / "src" / "großes.py").read_text(encoding="utf-8")
    project.git("reset", "--quiet", "--hard")
    project.git("clean", "--quiet", "--force", "--", "src")
    found["proofs"] = [(row["story"], row["title"], row["holds"]) for row in asked(theirs, "prove")["stories"]]
    project.switch("main")
    project.git("checkout", "--quiet", project.branch, "--", "src")
    project.git("commit", "--quiet", "--message", "feat: login (#7)")
    status = asked(theirs, "status", "login")
    found["status"] = [status["life"], *((row["title"], row["status"], row["attempts"]) for row in status["stories"])]
    return found


def test_a_feature_comes_out_the_same_whatever_a_person_has_set_in_git(tmp_path: Path) -> None:
    plain = feature_of(tmp_path / "plain", {}, {})

    assert feature_of(tmp_path / "theirs", SETTINGS, VARIABLES) == plain
    assert plain["status"][0] == "merged"
    assert plain["pushed"] == ["refs/heads/ralph/login"]
    assert plain["subjects"][3:6] == [
        "feat(login): US-001 Größe prüfen", "moved", "feat(login): US-002 People sign out",
    ]  # fmt: skip
    assert plain["restored"] == "BROKEN = 1  \n"
    assert [holds for _, _, holds in plain["proofs"]] == [True, True]
