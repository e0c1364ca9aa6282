"""The conventions of decision 026: each names tests that exist, and a command that a hint names can be typed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click

from ralphy.cli.commands import COMMANDS
from ralphy.cli.main import cli

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "docs" / "decisions" / "026-conventions.md"
HINTS = ("hint", "fix")


def test_every_convention_names_a_test_that_exists_or_says_why_not() -> None:
    table = [
        re.split(r"(?<!\\)\|", line)[1:-1]
        for line in RECORD.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ")
    ]
    for convention, _, shown in table[1:]:
        tests = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", shown)
        assert tests or "not adopted:" in shown, convention
        for path, name in tests:
            assert re.search(rf"^def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.M), f"{path}::{name}"


# Who opens connections, and where to. Sockets within this machine are those of other modules, too.
REACHES = {"urllib.request": {"notify/receivers.py"}, "apprise": {"notify/receivers.py"}, "http.client": set[str](),
           "requests": set[str](), "smtplib": set[str](), "create_connection": {"sandbox/proxy.py"}}  # fmt: skip


def test_few_modules_reach_a_network_and_none_tells_anybody_of_its_use() -> None:
    for word, known in REACHES.items():
        used = rf"^\s*(import|from) {re.escape(word)}\b|socket\.{word}\("
        found = {path for path, text in sources() if re.search(used, text, re.M)}
        assert found <= known, word


def sources() -> Iterator[tuple[str, str]]:
    for path in (ROOT / "ralphy").rglob("*.py"):
        yield path.relative_to(ROOT / "ralphy").as_posix(), path.read_text(encoding="utf-8")


def test_every_command_that_a_hint_names_is_one_that_ralphy_has() -> None:
    context = click.Context(cli, info_name="ralphy")
    found = 0
    for path, text in hints():
        for name, after in re.findall(r"\bralphy ([a-z][a-z-]*)(?: ([a-z][a-z-]+)\b)?", text):
            command = cli.get_command(context, name)
            assert command and name in COMMANDS, f"{path}: {text}"
            assert not isinstance(command, click.Group) or after in command.commands or name == "attempts", text
            found += 1
    assert found > 30


def hints() -> Iterator[tuple[str, str]]:
    """(module, text) of every hint in the source; what is put in at run time is `…`."""
    for path, text in sources():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.keyword) and node.arg in HINTS:
                yield path, words_of(node.value)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("warn", "fail"):
                yield path, words_of(node.args[-1])


def words_of(node: ast.AST) -> str:
    """The text of a constant, or of an f-string."""
    if isinstance(node, ast.JoinedStr):
        return "".join(words_of(part) if isinstance(part, ast.Constant) else "…" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def test_no_test_asserts_elapsed_time_or_gives_up_within_a_minute() -> None:
    """A machine under load takes as long as it likes: a bound is there for what hangs."""
    for path in (ROOT / "tests").rglob("*.py"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            assert not re.search(r"assert .*(monotonic|perf_counter)\(\) - ", line), f"{path}:{number}"
            for seconds in re.findall(r"timeout(?:=|\()(\d+(?:\.\d+)?)\b", line):
                assert float(seconds) >= 60, f"{path}:{number}"
