"""The conventions of decision 026: each names tests that exist; and those that need no test of their own file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "docs" / "decisions" / "026-conventions.md"


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


def test_no_test_asserts_elapsed_time_or_gives_up_within_a_minute() -> None:
    """A machine under load takes as long as it likes: a bound is there for what hangs."""
    for path in (ROOT / "tests").rglob("*.py"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            assert not re.search(r"assert .*(monotonic|perf_counter)\(\) - ", line), f"{path}:{number}"
            for seconds in re.findall(r"timeout(?:=|\()(\d+(?:\.\d+)?)\b", line):
                assert float(seconds) >= 60, f"{path}:{number}"
