"""Every command that Ralphy prints works when it is pasted, its own with one feature open and with three, and Git's."""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import click
import pytest

from ralphy.cli.main import cli
from ralphy.errors import ExitCode
from tests.cli.conftest import Call, Make
from tests.core.test_layers import MODULES, parsed
from tests.engine.building import Project, story

# What is not printed as a command to type: words of other tools, pages and marks that are made of names.
NOT_PRINTED = ("cli/commands.py", "cli/about.py", "cli/examples.py", "prompts/render.py",
               "cli/run/in_ci.py", "scaffold/config_template.py")  # fmt: skip
# What stands in the place of a value: its expression, or else a part of it -> a value of it. The first counts.
EXACT = {"at": "docs/features/csv/PRD.md", "under": "./", "word": "Fix", "option": "--reset-circuit",
         "story_name": "csv/US-001", "verb": "approve"}  # fmt: skip
VALUES = {"story": "US-001", "missing": "US-001", "counts[0][0]": "US-001", "flagged": "US-001", "number": "1",
          ".kept": "1", "step": "spec", "gate": "spec", "SPEC": "spec", "in_repository": "x", "name": "csv",
          "feature": "csv", "target": "csv", "dotted": "limits"}  # fmt: skip
# Without a feature's name these are about all that are open.
OF_ALL = {"status", "why", "logs", "report", "story list", "story show", "attempts list", "plan", "loop", "watch",
          "validate", "dashboard", "abort", "start", "gc", "config show"}  # fmt: skip
ASSEMBLED = ("ralphy reject", "ralphy why")  # the feature's name comes behind these, where it is known
READS = ("status", "why", "report", "story list", "story show", "plan", "validate", "config show", "lanes", "help",
         "audit", "attempts list", "notify")  # fmt: skip
# The same for Git's commands: what is not printed as one, what a value is, and what comes before a command.
NOT_GITS = (*NOT_PRINTED, "agents/claude/run_settings.py", "cli/records.py")
NOT_COMMANDS = ("git/ledger.py: git version", "git/tree_programs.py: git rev-parse --show-toplevel",
                "engine/feature/checkout_sync.py: git diff-index",
                "engine/feature/checkout_sync.py: git apply")  # fmt: skip
_BRANCH, _KEPT, _PRD = "ralph/csv", "refs/ralphy/csv/US-001/attempt-1", "docs/features/csv/prd.json"
GIT_EXACT = {
    "story.split(' ', 1)[0]": _BRANCH, "base": "main", "s.tree.base": "main", "ref": _KEPT, "attempt.ref": _KEPT,
    "name": "old.name", "attempt.parent[:12]": "main", "lost.commit": "main", "as_utf8(path)": "vendor/lib",
    "BRANCH": _BRANCH, "remote": "origin", "target.name": "origin", "s.tree.obstacle": "old.name", "mine": _BRANCH,
    "shlex.join(committed)": _PRD, "config.project.features_dir": "docs", "where": f"{_BRANCH}:{_PRD}",
    "quote(prd)": "build/prd.json", "quote(path)": _PRD, "quote(lost.path)": _PRD, "' '.join(paths)": "src",
    "_COMMIT": "git commit -m x", "quote(f'{w.feature_branch}:{path}')": f"{_BRANCH}:{_PRD}", "branch": _BRANCH,
    "quote(f'{lost.commit}:{lost.path}')": f"main:{_PRD}", "last.branch": _BRANCH,
}  # fmt: skip
_UNSET = "git config --unset "
BEFORE = {"git remote add": "git remote remove origin", "git sparse-checkout add": "git sparse-checkout set src",
          _UNSET + "remote": "git config remote.origin.promisor x; git config remote.origin.partialclonefilter x",
          _UNSET + "extensions": "git config extensions.partialclone x", "git commit -m": "touch new; git add new",
          "git add --all": "touch new", "git add src": "touch src/new"}  # fmt: skip
NAMES = {"NEW": "new", "OLD": "old.name", "URL": "../origin.git", "COMMAND": "true"}
_COMMAND = re.compile(r"(?<![\w/.-])ralphy (?=[a-z-])(?:\"[^\"]*\"|[^`\n;()\"])*")


@cache
def printed() -> list[tuple[str, str]]:
    """(where, command) of every literal of the source that names one, with values in the places of its parts."""
    found = {(f"{where}:{node.lineno}", command) for where, node in literals() if where not in NOT_PRINTED
             for command in commands_in(text_of(node, EXACT))}  # fmt: skip
    return sorted(found)


@cache
def literals() -> list[tuple[str, ast.expr]]:
    """(module, text) of the source's texts but for docstrings, and those of which others are made."""
    return [(module.removeprefix("ralphy/"), node) for module in MODULES for node in texts_below(parsed(module))]


def texts_below(node: ast.AST) -> Iterator[ast.expr]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.JoinedStr) or (isinstance(child, ast.Constant) and isinstance(child.value, str)):
            if not isinstance(node, ast.Expr):
                yield child
        else:
            yield from texts_below(child)


def text_of(node: ast.expr, exact: Mapping[str, str]) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(part_text(part, exact) for part in node.values)
    assert isinstance(node, ast.Constant)
    return str(node.value)


def part_text(part: ast.expr, exact: Mapping[str, str]) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    assert isinstance(part, ast.FormattedValue)
    expression = ast.unparse(part.value)
    values = VALUES if exact is EXACT else {"feature_branch": _BRANCH}
    found = next((value for name, value in values.items() if name in expression), expression)
    return exact.get(expression, found)


def commands_in(text: str) -> Iterator[str]:
    """What is to be typed: up to the end of its clause, or of what stands in backticks."""
    for found in _COMMAND.finditer(text):
        command = re.split(r"  |, (?!US-)| \||: |\.(?= )| #", found[0])[0].strip().rstrip(".,:'")
        if command not in ASSEMBLED and not command.endswith(("--version", "--help")):
            yield command


def resolved(words: list[str]) -> tuple[str, click.Context]:
    """(the command's path, what click made of its words). Raises UsageError as the command line would."""
    context = cli.make_context("ralphy", list(words))
    path = []
    while isinstance(context.command, click.Group):
        rest = [*context._protected_args, *context.args]
        name, command, args = context.command.resolve_command(context, rest)
        assert command is not None and name is not None
        path.append(name)
        context = command.make_context(name, args, parent=context)
    return " ".join(path), context


def test_a_printed_command_is_one_and_names_the_feature_that_it_changes() -> None:
    assert len(printed()) > 100
    assert {"ralphy approve csv", "ralphy loop csv", "ralphy redo spec csv"} <= {command for _, command in printed()}
    wrong = []
    for where, command in printed():
        try:
            path, context = resolved(shlex.split(command)[1:])
        except click.ClickException as error:
            wrong.append(f"{where}: {command}: {error.format_message()}")
            continue
        word = context.params.get("story") or context.params.get("story_id") or ""
        is_named = context.params.get("feature", "") is not None or "/" in word
        if not is_named and path not in OF_ALL:
            wrong.append(f"{where}: {command} ends with 3 where several features are open")
    assert wrong == []


def opened(made: Make, features: tuple[str, ...]) -> tuple[Project, Call]:
    """Features that wait at their first gate, beside one another."""
    project, call = made(gates={"spec": "human", "qa": "human"}, path="docs/features/csv")
    for name in features[1:]:
        shutil.copytree(project.folder, project.folder.with_name(name))
    assert call("loop")[0] == ExitCode.WAITING
    return project, call


@pytest.mark.parametrize("features", [("csv",), ("csv", "login", "tax")], ids=["one", "three"])
def test_what_is_printed_can_be_pasted(made: Make, features: tuple[str, ...]) -> None:
    _, call = opened(made, features)
    for command in sorted({command for _, command in printed()}):
        words = shlex.split(command)[1:]
        if resolved(words)[0] in READS:
            code, _, err = call(*words)
            assert code == ExitCode.DONE, f"{command}: {code}: {err}"
    said = "\n".join(call(*words)[1] for words in (("status",), ("why",), ("status", "--all"), ("report",)))
    asked = dict.fromkeys(command for command in commands_in(said) if command.split()[1] != "start")
    assert [f"ralphy approve {name}" for name in features if f"ralphy approve {name}" not in asked] == []
    for command in asked:
        code, _, err = call(*shlex.split(command)[1:])
        assert code in (ExitCode.DONE, ExitCode.WAITING), f"{command}: {code}: {err}"


def test_the_hint_of_a_refusal_can_be_pasted(made: Make, tmp_path: Path) -> None:
    project, call = made(story("US-001"), story("US-002", priority=2, dependsOn=["US-001"]))
    shutil.copytree(project.folder, project.folder.with_name("csv"))
    _, _, err = call("story", "start", "login/US-002")
    (hint,) = commands_in(err)
    assert hint == "ralphy story start US-001 login" and call(*shlex.split(hint)[1:])[0] == ExitCode.DONE
    _, _, err = call("loop", "--story", "US-001")
    (hint,) = commands_in(err)
    assert hint == "ralphy loop csv --story US-001" and call(*shlex.split(hint)[1:])[0] == ExitCode.DONE


_GIT = re.compile(r"(?<![\w/.-])git (?=[a-z-])(?:\"[^\"]*\"|'[^']*'|[^`\n;(){\"'])*")


def printed_for_git() -> dict[str, str]:
    """Command -> where, of each command of Git that a literal of the source names, with values in its parts' places."""
    known = set(subprocess.run(["git", "--list-cmds=main"], capture_output=True, encoding="utf-8", check=True)
                .stdout.split())  # fmt: skip
    found = {}
    for where, node in literals():
        if where in NOT_GITS:
            continue
        for part in _GIT.finditer(text_of(node, GIT_EXACT)):
            command = re.split(r"  |, |: (?!set up)|\.(?= )| #", part[0])[0].strip().rstrip(".,:")
            if command.split()[1] in known and not f"{where}: {command}".startswith(NOT_COMMANDS):
                place = f"{where}:{node.lineno}"
                found[re.sub(r"\b[A-Z]+\b", lambda name: NAMES.get(name[0], name[0]), command)] = place
    return found


def scene_at(place: Path) -> dict[str, str]:
    """A clone in `repo`, in which Git's printed commands have what they are about; gives the environment."""
    config = place / "config"
    config.write_text("[user]\n\tname = Ann\n\temail = ann@example.org\n", encoding="utf-8")
    env = {**os.environ, "GIT_EDITOR": "echo words >", "GIT_PAGER": "cat", "GIT_ALLOW_PROTOCOL": "file",
           "GIT_CONFIG_GLOBAL": str(config)}  # fmt: skip
    script = f"""
        git init -q -b main lib; git -C lib commit -q --allow-empty -m lib
        git init -q -b main repo; cd repo; mkdir -p docs/features/csv src .ralphy
        echo build > .gitignore; echo '{{}}' > {_PRD}; touch .ralphy/config.yaml Makefile src/a
        git submodule -q add ../lib vendor/lib
        git add -f .; git commit -q -m first; git branch old.name
        git switch -q -c {_BRANCH}; echo x > src/a; git commit -q -am story
        git update-ref {_KEPT} HEAD; git switch -q -c work main
        git clone -q --bare . ../origin.git; git remote add origin ../origin.git; git fetch -q origin
        git branch -q -u origin/work
        """
    subprocess.run(["sh", "-ec", script], cwd=place, env=env, check=True)
    return env


def test_the_commands_of_git_that_are_printed_work(tmp_path: Path) -> None:
    commands = printed_for_git()
    assert {"git show refs/ralphy/csv/US-001/attempt-1", "git switch ralph/csv && git merge main"} <= commands.keys()
    assert len(commands) > 35
    scene = tmp_path / "scene"
    scene.mkdir()
    env, failed = scene_at(scene), []
    for number, (command, where) in enumerate(sorted(commands.items())):
        place = tmp_path / str(number)
        shutil.copytree(scene, place, symlinks=True)
        before = next((script for start, script in BEFORE.items() if command.startswith(start)), ":")
        done = subprocess.run(["sh", "-ec", f"{before}\n{command}"], cwd=place / "repo", env=env, capture_output=True,
                              stdin=subprocess.DEVNULL, encoding="utf-8", check=False)  # fmt: skip
        failed += [f"{where}: {command}: {done.stderr}"] if done.returncode else []
    assert failed == []
