"""The journal: appended, never changed; torn lines, several writers and a wiped file stop nobody."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from ralphy.errors import EnvironmentProblem
from ralphy.pipeline.history import History
from ralphy.state.chain import verify
from ralphy.state.journal import Journal

FEATURE = "login"


def line(n: int = 1, **fields: Any) -> dict[str, Any]:
    return {"ev": "gate", "feature": FEATURE, "gate": "spec", "digest": str(n), "ctime_ns": n, **fields}


class Reader:
    """A journal with the history that it is folded into."""

    def __init__(self, path: Path) -> None:
        self.journal = Journal(path)
        self.history = History(FEATURE)

    def seen(self) -> list[int]:
        """What the lines that were folded in so far say."""
        self.journal.catch_up(self.history)
        return sorted(self.history.gates.values())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ralphy" / "journal.jsonl"


def test_lines_are_appended_and_read_in_their_order_and_nobody_else_may_read_them(path: Path) -> None:
    reader = Reader(path)
    assert reader.seen() == []
    for n in (1, 2, 3):
        reader.journal.append(line(n))
    assert reader.seen() == [1, 2, 3]
    rows = [orjson.loads(row) for row in path.read_bytes().splitlines()]
    assert [row.items() >= line(n).items() for n, row in enumerate(rows, 1)] == [True] * 3
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.fault("F13")
def test_a_torn_last_line_is_left_until_it_is_closed_and_then_passed_over(path: Path) -> None:
    Journal(path).append(line(1))
    with path.open("ab") as torn:
        torn.write(orjson.dumps(line(2))[:-5])
    reader = Reader(path)
    assert reader.seen() == [1]
    reader.journal.append(line(3))
    assert reader.seen() == [1, 3]
    assert verify(path.read_bytes()).broken == ""
    assert Reader(path).seen() == [1, 3]
    assert path.read_bytes().endswith(b"\n")


@pytest.mark.fault("F13")
def test_a_line_that_lacks_only_its_end_counts(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(orjson.dumps(line(1)))
    reader = Reader(path)
    assert reader.seen() == []
    reader.journal.append(line(2))
    assert reader.seen() == [1, 2]


def test_rubbish_between_lines_is_passed_over_and_a_text_cannot_begin_a_new_line(path: Path) -> None:
    path.parent.mkdir()
    for rubbish in (b"\n\n", b"no json\n", b"[1]\n", b"3\n", b"null\n", b"\xff\xfe\n", b"{}\n", b"\0" * 512 + b"\n"):
        path.write_bytes(orjson.dumps(line(1)) + b"\n" + rubbish + orjson.dumps(line(2)) + b"\n")
        assert Reader(path).seen() == [1, 2]
    path.unlink()
    forged = orjson.dumps(line(9)).decode()
    Journal(path).append(line(1, detail=f"x\n{forged}\r{forged}\u2028{forged}\x85{forged}"))
    assert Reader(path).seen() == [1]
    path.unlink()
    Journal(path).append(line(1, detail="b\udcffd", files=["\udc80"]))
    assert orjson.loads(path.read_bytes())["detail"] == "b?d"
    assert Reader(path).seen() == [1]


def test_many_writers_lose_nothing_and_tear_nothing(path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from ralphy.state.journal import Journal\n"
        "journal = Journal(Path(sys.argv[1])); who = int(sys.argv[2])\n"
        "for n in range(40): journal.append({'ev': 'gate', 'feature': 'login', 'gate': f'{who}', 'digest': str(n),"
        " 'ctime_ns': 1, 'pad': 'x' * 4000})\n"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    writers = [subprocess.Popen([sys.executable, "-c", program, str(path), str(who)], env=env) for who in range(4)]
    assert [writer.wait(60) for writer in writers] == [0] * 4
    assert len(Reader(path).seen()) == 160
    found = verify(path.read_bytes())
    assert (found.broken, found.torn, found.links) == ("", 0, 160)


def test_a_journal_that_was_wiped_or_that_another_took_the_place_of_goes_on_from_its_new_beginning(path: Path) -> None:
    reader = Reader(path)
    for n in range(1, 6):
        reader.journal.append(line(n))
    assert reader.seen() == [1, 2, 3, 4, 5]
    path.unlink()
    assert reader.seen() == [1, 2, 3, 4, 5]
    reader.journal.append(line(7))
    assert reader.seen() == [1, 2, 3, 4, 5, 7]
    other = path.with_name("other")
    for n in range(8, 12):
        Journal(other).append(line(n))
    other.replace(path)
    assert reader.seen() == [1, 2, 3, 4, 5, *range(7, 12)]


def test_a_pipe_or_a_folder_in_its_place_is_said(path: Path) -> None:
    path.parent.mkdir()
    os.mkfifo(path)
    with pytest.raises(EnvironmentProblem, match="cannot be read: not a regular file"):
        Reader(path).seen()
    with pytest.raises(EnvironmentProblem, match="cannot be written"):
        Journal(path).append(line())
    path.unlink()
    path.mkdir()
    with pytest.raises(EnvironmentProblem, match="cannot be read"):
        Reader(path).seen()
    with pytest.raises(EnvironmentProblem, match="cannot be written"):
        Journal(path).append(line())


@pytest.mark.fault("F1")
@pytest.mark.parametrize("bytes_left", [0, 5])
def test_a_disk_that_is_all_but_full_is_said_and_the_next_line_is_whole(
    path: Path, monkeypatch: pytest.MonkeyPatch, bytes_left: int
) -> None:
    reader = Reader(path)
    reader.journal.append(line(1))
    write = os.write
    room = [bytes_left]

    def short(descriptor: int, data: bytes) -> int:
        taken = data[: room[0]]
        if not taken:
            raise OSError(28, "No space left on device")
        room[0] -= len(taken)
        return write(descriptor, taken)

    monkeypatch.setattr(os, "write", short)
    with pytest.raises(EnvironmentProblem, match="No space left"):
        reader.journal.append(line(2))
    monkeypatch.undo()
    reader.journal.append(line(3))
    assert reader.seen() == [1, 3]
