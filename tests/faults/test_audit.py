"""The journal is a chain: what was changed in it is found, by whomever and whenever it was written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralphy.cli.main import main
from ralphy.errors import ExitCode
from ralphy.pipeline.history import History
from ralphy.state.chain import verify
from ralphy.state.journal import Journal
from tests.core.building import examples
from tests.engine.building import Project, build, drive, story, works
from tests.engine.driver import KILLED

PIECES = (b"{", b"}", b"\n", b'{"ev":"run"}\n', b'"seq":1,', b'"hash":"', b"0" * 64, b"\0", b"\xff")


def journal_of(project: Project) -> Path:
    return project.repo / ".git" / "ralphy" / "journal.jsonl"


@pytest.mark.fault("A4")
def test_a_feature_leaves_a_whole_journal_over_a_kill_and_a_broken_chain_is_exit_code_4_with_its_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    project = build(tmp_path, story("US-001"), gates={"spec": "auto", "qa": "auto"})
    project.play(stories={"US-001": [works(cheat={"approve": True, "mark_passed": True})]})
    assert drive(project, "die", "agent_ended", "1") == KILLED
    project.loop()
    path = journal_of(project)

    def audited() -> tuple[int, dict[str, Any]]:
        capfd.readouterr()
        code = main(["-C", str(project.repo), "audit", "--json"])
        return code, json.loads(capfd.readouterr().out)

    code, found = audited()
    assert (code, found["ok"], found["unchained"]) == (ExitCode.DONE, True, 0)
    rows = path.read_bytes().splitlines(keepends=True)
    assert {"run", "end", "approved"} <= {json.loads(line)["ev"] for line in rows}

    path.write_bytes(b"".join([rows[0], *rows[2:]]))
    code, found = audited()
    assert code == ExitCode.CONFLICT
    assert found["broken"] == {"line": 2, "why": "lines before this one were removed, added or moved"}


def written(tmp_path: Path, lines: int = 8) -> Path:
    journal = Journal(tmp_path / "journal.jsonl")
    for number in range(lines):
        journal.append({"ev": "note", "number": number}, durable=False)
    return tmp_path / "journal.jsonl"


TAMPERING: dict[str, tuple[Callable[[list[bytes]], list[bytes]], int]] = {
    "changed": (lambda rows: [*rows[:3], rows[3].replace(b'"number":3', b'"number":4'), *rows[4:]], 4),
    "taken out": (lambda rows: [*rows[:3], *rows[4:]], 4),
    "put in": (lambda rows: [*rows[:3], b'{"ev":"end","landed":true}', *rows[3:]], 4),
    "moved": (lambda rows: [*rows[:3], rows[4], rows[3], *rows[5:]], 4),
    "doubled": (lambda rows: [*rows[:4], rows[3], *rows[4:]], 5),
    "cut off at the beginning": (lambda rows: rows[2:], 1),
}


@pytest.mark.fault("A4")
def test_a_line_that_was_tampered_with_is_named(tmp_path: Path) -> None:
    rows = written(tmp_path).read_bytes().splitlines()
    for what, (tamper, line) in TAMPERING.items():
        found = verify(b"\n".join(tamper(rows)) + b"\n")
        assert (what, bool(found.broken), found.line) == (what, True, line)


def test_lines_of_before_there_was_a_chain_are_accepted_at_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text('{"ev":"run"}\n{"ev":"end"}\n')

    found = verify(written(tmp_path).read_bytes())

    assert (found.broken, found.before, found.links) == ("", 2, 8)


@pytest.mark.parametrize("end", [b" ", b"\r", b"\t"])
def test_what_audit_takes_for_a_torn_line_is_not_read_either(tmp_path: Path, end: bytes) -> None:
    path = written(tmp_path)
    forged = b'{"ev":"run","feature":"login","run":"r","step":"implement","story":"US-001"}' + end + b"\n"
    path.write_bytes(path.read_bytes() + forged)
    history = History("login")

    Journal(path).catch_up(history)

    assert verify(path.read_bytes()).torn == 1
    assert history.open_runs == ()


@given(data=st.one_of(st.binary(max_size=400), st.lists(st.sampled_from(PIECES), max_size=20).map(b"".join)))
@settings(max_examples=examples(60), deadline=None)
def test_any_bytes_are_judged_without_an_error(data: bytes) -> None:
    found = verify(data)

    lines = [line for line in data.split(b"\n") if line]
    assert (found.links, found.broken) == (0, "")
    assert found.before + found.torn == len(lines)
    assert found.before == sum(line.startswith(b"{") and line.endswith(b"}") for line in lines)


@given(at=st.integers(0, 10_000), value=st.integers(0, 255))
@settings(max_examples=examples(60), deadline=None)
def test_no_byte_of_a_chain_can_be_changed_unseen(at: int, value: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        data = bytearray(written(Path(folder), 4).read_bytes())
    at %= len(data)
    if data[at] == value:
        return
    whole = verify(bytes(data))
    data[at] = value
    found = verify(bytes(data))

    assert found.broken or found.torn or found.links < whole.links
