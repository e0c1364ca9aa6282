"""logs and attempts: what the agents did is there to be read, followed, compared and taken up again."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.conftest import Bell, Call, CallIn, Heard, Make
from tests.engine.building import PATIENCE_S, Project, assert_clean, breaks, build, story, works
from tests.engine.nights import played_once

STREAM = '{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":"%s"}]}}\n'


def a_run(project: Project, name: str, *texts: str, order: int = 0) -> Path:
    """A run's folder with a stream that says these texts; `order` is when it began."""
    folder = project.folder / ".ralphy" / "runs" / name
    folder.mkdir(parents=True)
    (folder / "stream.ndjson").write_text("".join(STREAM % text for text in texts))
    (folder / "prompt.md").write_text("")
    stamp = 1_700_000_000 + order
    subprocess.run(["touch", "-d", f"@{stamp}", str(folder / "prompt.md")], check=True)
    return folder


def texts(out: str) -> list[str]:
    """What was said, without titles."""
    return [line.split(None, 1)[1] for line in out.splitlines() if line.startswith("  ")]


def test_a_real_runs_activity_is_shown_with_paths_of_the_repository(made: Make) -> None:
    project, call = made(story("US-001"))
    project.loop(last_step="")
    code, out, _ = call("logs", "US-001")
    assert code == 0
    assert "  writing   src/us_001.py\n" in out
    title, *_, last = out.splitlines()
    assert re.match(r"==> login/US-001, attempt 1, \d{4}-\d\d-\d\d \d\d:\d\d:\d\d, sonnet, run \S+ <==$", title)
    assert re.match(r"  ended     succeeded at \S+ \S+ after \S+ s, \$0.\d\d, test passed \(\d+ s\)$", last)


def test_the_newest_run_or_all_of_a_story_are_shown_whatever_their_names(made: Make) -> None:
    project, call = made(story("US-001"))
    a_run(project, "20260101T000000-ffffffff-story-US-001", "first", order=1)
    a_run(project, "20260101T000001-00000002-story-US-002", "another", order=2)
    a_run(project, "20260101T000000-00000000-story-US-001", *"abcd", order=3)
    code, out, _ = call("logs")
    assert (code, texts(out)) == (0, list("abcd"))
    assert out.startswith("==> US-001, run 20260101T000000-00000000 <==\n")
    for words in (["US-001"], ["login/US-001"], ["US-001", "login"]):
        assert texts(call("logs", *words)[1]) == ["first", *"abcd"]
    assert texts(call("logs", "login")[1]) == list("abcd")
    assert texts(call("logs", "--tail", "2")[1]) == ["c", "d"]
    assert call("logs", "--tail", "0")[1] == ""
    project.plan(story("US-001"), story("US-003"))
    for word, hint in (
        ("US-003", "ralphy why login"),
        ("us-001", "did you mean US-001?"),
        ("lgoin", "did you mean login?"),
        ("nope", "ralphy story list"),
        ("nowhere/US-001", "there are: login"),
    ):
        code, value = call.json("logs", word)
        assert (code, value["error"]["hint"]) == (2, hint)
    assert "no feature 'nope', and no story of that id in login" in call("logs", "--follow", "nope")[2]
    (project.folder.parent / "broken").mkdir()
    (project.folder.parent / "broken" / "prd.json").write_text("{")
    assert call.json("logs", "us-003")[1]["error"]["hint"] == "did you mean US-003?"


@pytest.mark.fault("S3")
def test_the_log_of_a_run_that_goes_on_shows_no_token(made: Make) -> None:
    """In processes of their own: the values of an environment are read once."""
    project, _ = made(story("US-001"))
    a_run(project, "20260101T000000-00000001-spec", "I use Zq9-ab/cd+ef-12345", r"and Zq9-ab\/cd+ef-12345")
    project.env["DEPLOY_TOKEN"] = "Zq9-ab/cd+ef-12345"
    for option in ("--json", "--raw"):
        with project.start("logs", option, stdout=subprocess.PIPE) as process:
            shown = process.communicate(timeout=PATIENCE_S)[0]
        assert "Zq9" not in shown
        assert shown.count("[redacted DEPLOY_TOKEN]") == 2
        assert [json.loads(line) for line in shown.splitlines()]


@pytest.mark.fault("A10")
@pytest.mark.attempt(56)
def test_raw_lines_are_as_the_agent_wrote_them_and_as_json_every_line_is_an_object(made: Make) -> None:
    """What a terminal would obey is not sent, and an agent that only complained on stderr is heard."""
    project, call = made(story("US-001"))
    folder = a_run(project, "20260101T000000-00000001-story-US-001", "a")
    rows = call.lines("logs")
    assert [(row["schema"], row["story"], row["kind"]) for row in rows] == [
        ("ralphy/log@1", "US-001", "run"),
        ("ralphy/log@1", "US-001", "text"),
    ]
    assert call.json("logs", "--raw")[0] == 3
    with (folder / "stream.ndjson").open("a") as stream:
        stream.write("not json\n")
    assert call("logs", "--raw")[1] == (folder / "stream.ndjson").read_text()
    assert call("logs", "--raw", "--tail", "1")[1] == "not json\n"

    folder = a_run(project, "20260101T000000-00000002-spec", "so \\u001b]0;owned\\u0007far \\u009b31mred", order=1)
    (folder / "stderr.log").write_text("Traceback: no such model")
    _, out, _ = call("logs")
    assert "\x1b" not in out
    assert "\x9b" not in out
    assert "so far red\n" in out
    assert "  stderr    Traceback: no such model\n" in out

    folder = a_run(project, "20260101T000000-00000003-story-US-001", order=2)
    for stamp in ("2026-11-22T12:39:08.895Z", "soon", "9999-12-31T23:59:59-23:59"):
        line = (STREAM % stamp).replace("{", f'{{"timestamp":"{stamp}",', 1)
        with (folder / "stream.ndjson").open("a", encoding="utf-8") as stream:
            stream.write(line)
    at = datetime(2026, 11, 22, 12, 39, 8, tzinfo=UTC).astimezone().strftime("%H:%M:%S")
    shown = call("logs", "--color", "always")[1].splitlines()
    assert shown[1] == f"\x1b[2m  {at} text      2026-11-22T12:39:08.895Z\x1b[0m"
    assert shown[2] == "\x1b[2m  text      soon\x1b[0m" and shown[0].startswith("\x1b[1m==> US-001")
    assert [row.get("at") for row in call.lines("logs")[1:3]] == [1795351148.895, None]


@contextmanager
def following(project: Project, *words: str) -> Iterator[Heard]:
    """`ralphy logs -f` as a process of its own."""
    with project.start("logs", "-f", *words, stdout=subprocess.PIPE) as process:
        assert process.stdout
        try:
            yield Heard(process.stdout.fileno())
        finally:
            process.terminate()
            process.communicate(timeout=60)


def test_following_shows_lines_as_they_are_written_and_survives_a_new_run(made: Make) -> None:
    project, _ = made(story("US-001"))
    folder = a_run(project, "20260101T000000-00000001-spec", "one", order=1)
    with following(project) as heard:
        heard.until("text      one")
        with (folder / "stream.ndjson").open("a") as stream:
            stream.write(STREAM[:20])
            stream.flush()
            stream.write(STREAM[20:] % "two")
        heard.until("text      two")
        a_run(project, "20260101T000000-00000000-story-US-001", "three", order=2)
        heard.until("==> US-001, run 20260101T000000-00000000 <==\n  text      three")
    assert heard.text.count("one") == 1


def test_following_may_begin_before_the_first_run(made: Make) -> None:
    project, _ = made(story("US-001"))
    bell = Bell(project.repo.parent / "bell")
    project.play(stories={"US-001": [works(run=bell.ring)]})
    with following(project, "US-001", "--json") as heard, project.start("loop") as process:
        heard.until('"kind": "result"')
        bell.wait()
        assert process.wait(timeout=60) == 10
    kinds = [json.loads(line)["kind"] for line in heard.text.splitlines()]
    assert kinds[0] == "run"
    assert "result" in kinds[-2:]  # it may hear of the run's end as well


@played_once
def healed(place: Path) -> Project:
    project = build(place, story("US-001"))
    project.play(stories={"US-001": [breaks(), works()]})
    project.loop()
    return project


@pytest.fixture
def broken_once(healed: Project, call_in: CallIn) -> tuple[Project, Call]:
    """A completed story whose first attempt was kept."""
    return healed, call_in(healed)


def test_attempts_are_listed_with_why_they_did_not_count_and_shown_as_a_patch(
    broken_once: tuple[Project, Call],
) -> None:
    project, call = broken_once
    assert call.json("story", "show", "US-001")[1]["kept_attempts"] == ["refs/ralphy/login/US-001/attempt-1"]
    code, value = call.json("attempts")
    assert code == 0
    (row,) = value["attempts"]
    assert (row["ref"], row["story"], row["attempt"]) == ("refs/ralphy/login/US-001/attempt-1", "US-001", 1)
    assert (row["outcome"], row["files"]) == ("rejected", ["src/us_001.py"])
    assert "src/us_001.py::works" in row["why"]
    out = call("attempts", "login/US-001")[1]
    assert out.startswith("US-001 attempt 1  ")
    assert "refs/ralphy/login/US-001/attempt-1" in out
    code, value = call.json("attempts", "US-002")
    assert (code, value["error"]["hint"]) == (2, "ralphy story list login")

    for words in (("US-001",), ("US-001", "1"), ("refs/ralphy/login/US-001/attempt-1",)):
        code, out, _ = call("attempts", "diff", *words)
        assert code == 0
        assert "+++ b/src/us_001.py\n" in out
        assert "+BROKEN = 1\n" in out
        assert call.json("attempts", "diff", *words)[1]["diff"] == out
    assert_clean(project)
    code, value = call.json("attempts", "diff", "US-001", "7")
    assert (code, value["error"]["hint"]) == (2, "there are: 1")


def test_the_log_names_a_kept_attempt_as_the_list_does_also_when_attempts_are_counted_anew(made: Make) -> None:
    project, call = made(story("US-001"))
    project.play(stories={"US-001": [breaks(), {"delete": ["src/us_001.py"]}, breaks(), works()]})
    first = call("loop", "--max-iterations", "2")[2]
    assert re.search(r"US-001 attempt 1 rejected: .* \(kept: ralphy attempts diff login/US-001 1\)\n", first)
    assert re.search(r"US-001 attempt 2 rejected: nothing changed\n", first)
    call("redo", "US-001")
    second = call("loop")[2]
    assert re.search(r"US-001 attempt 1 rejected: .* \(kept: ralphy attempts diff login/US-001 2\)\n", second)
    rows = call.json("attempts")[1]["attempts"]
    assert [(row["attempt"], row["counted_as"]) for row in rows] == [(1, 1), (2, 1)]
    out = call("attempts", "US-001")[1]
    assert "US-001 attempt 1  " in out and "US-001 attempt 2 (counted as attempt 1)  " in out
    assert "BROKEN" in call("attempts", "diff", "login/US-001", "2")[1]


def test_an_attempts_code_comes_back_uncommitted_and_can_go_again(made: Make) -> None:
    project, call = made(story("US-001"))
    project.play(stories={"US-001": [breaks()]})
    project.loop()
    code, value = call.json("attempts", "restore", "US-001", "1")
    assert (code, value["error"]["hint"]) == (4, "git switch ralph/login, then try again")
    project.switch()
    head = project.git("rev-parse", "HEAD")
    code, out, _ = call("attempts", "restore", "US-001", "1")
    assert code == 0
    assert (project.repo / "src" / "us_001.py").read_text() == "BROKEN = 1\n"
    assert project.git("status", "--porcelain", "--untracked-files=all") == "?? src/us_001.py"
    assert project.git("rev-parse", "HEAD") == head
    back = "ralphy attempts diff login/US-001 1 | git apply -R"
    assert back in out
    patch = call(*back.split()[1:5])[1]
    subprocess.run(["git", "apply", "-R"], cwd=project.repo, input=patch.encode(), check=True)
    assert_clean(project)


def test_an_attempt_is_not_put_over_uncommitted_work_or_in_the_way_of_later_commits(
    broken_once: tuple[Project, Call],
) -> None:
    project, call = broken_once
    project.switch()
    code, value = call.json("attempts", "restore", "US-001", "1")
    assert (code, value["error"]["name"]) == (4, "conflict")
    assert_clean(project)
    (project.repo / "src" / "mine.py").write_text("MINE = 1\n")
    code, value = call.json("attempts", "restore", "US-001", "1")
    assert code == 4
    assert "src/mine.py" in value["error"]["message"]
    assert project.git("status", "--porcelain", "--untracked-files=all") == "?? src/mine.py"
    os.mkfifo(project.repo / "src" / ".gitignore")
    code, value = call.json("attempts", "restore", "US-001", "1")
    assert code == 3
    assert value["error"]["message"] == "src/.gitignore: is not a plain file, and Git would wait for it"
