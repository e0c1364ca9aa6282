"""The loop of a person's own session of Claude Code, as the plugin's hooks call it; the session is played by git."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from ralphy.cli.session.loop import keep_loop, loop_in, promises
from ralphy.config.values import Config, Safety
from ralphy.documents.session_loop import PATH, SessionLoop, as_text, read_loop
from ralphy.errors import Conflict, ExitCode
from ralphy.pipeline.session_mode import mode_of
from tests.cli.conftest import Call
from tests.conftest import program
from tests.core.building import snapshot
from tests.engine.building import Project, build, story

DONE, FAILED = "<promise>STORY_DONE</promise>", "<promise>FAILED</promise>"


def says(*texts: str, **more: Any) -> dict[str, Any]:
    """The entry of a transcript with what the session says."""
    return {"type": "assistant", "message": {"content": [{"type": "text", "text": text} for text in texts]}, **more}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Session:
    """A session in a project's checkout: what it commits, and how its hooks are called."""

    def __init__(self, project: Project, call: Call, patch: pytest.MonkeyPatch) -> None:
        self.project, self.call, self.patch = project, call, patch
        patch.setenv("CLAUDE_CODE_SESSION_ID", "mine")
        for name, value in project.env.items():
            patch.setenv(name, value)

    def hook(self, event: str = "stop", said: str = "", **given: Any) -> dict[str, Any]:
        """What the hook answers; {} if it has nothing to say."""
        transcript = self.project.repo.parent / "transcript.jsonl"
        transcript.write_text(f'{json.dumps(says(FAILED))}\n{json.dumps(says(said))}\n{{"type": "assist')
        told = {"session_id": "mine", "transcript_path": str(transcript), **given}
        self.patch.setattr("sys.stdin", io.StringIO(json.dumps(told)))
        code, out, err = self.call("plugin", "hook", event)
        assert code == 0, err
        answer: dict[str, Any] = json.loads(out) if out.strip() else {}
        return answer

    def commits(self, path: str, text: str) -> None:
        (self.project.repo / path).write_text(text)
        self.project.git("add", path)
        self.project.git("commit", "--quiet", "--no-verify", "-m", f"work on {path}")

    def loop(self) -> SessionLoop | None:
        return loop_in(self.project.repo)


@pytest.fixture
def session(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Session:
    project = build(tmp_path, story("US-001", title="Sign in", acceptanceCriteria=["It says hello"]), story("US-002"))
    return Session(project, Call(project.repo, capfd), monkeypatch)


def test_a_session_does_the_stories_and_ralphy_decides_which_and_whether_they_count(session: Session) -> None:
    code, out, _ = session.call("plugin", "start", "login")
    assert code == 0 and "mode: hook (2 stories are left" in out
    assert "# US-001: Sign in" in out and "It says hello" in out
    front = yaml.safe_load((session.project.repo / PATH).read_text().split("---\n")[1])
    assert (front["iteration"], front["max_iterations"], front["completion_promise"]) == (1, 50, "COMPLETE")
    assert PATH not in session.project.git("status", "--porcelain", "--untracked-files=all")

    assert session.hook(session_id="another") == {}
    idle = session.hook("stop", DONE)
    assert idle["decision"] == "block" and "git switch ralph/login" in idle["reason"]

    session.project.switch()
    session.commits("src/us_001.py", "BROKEN = 1\n")
    red = session.hook("stop", DONE)
    assert "US-001 is not completed yet" in red["reason"] and "src/us_001.py" in red["reason"]
    assert session.project.statuses()["US-001"] == "pending"

    session.commits("src/us_001.py", "WORKS = 1\n")
    counts = session.hook()
    assert "US-001 is verified" in counts["reason"] and "# US-002" in counts["reason"]
    assert "Iteration 4 of at most 50" in counts["reason"]
    done = session.project.story("US-001")
    assert done["evidence"]["accepted"] == "done in a session of Claude Code, without a sandbox"
    assert done["evidence"]["verified"] and done["execution"]["attempts"] == 2
    assert done["execution"]["files_modified"] == ["src/us_001.py"]
    assert "US-001 (attempt 2/5) - completed" in session.project.read("progress.txt")
    assert "It says hello" in session.project.read("stories/US-001.md")

    told = session.hook("session-start", source="compact")["hookSpecificOutput"]["additionalContext"]
    assert "login, iteration 4" in told and "# US-002" in told
    assert "repeats it afterwards" in session.hook("pre-compact")["systemMessage"]

    session.commits("src/us_002.py", "WORKS = 2\n")
    ended = session.hook()
    assert set(ended) == {"systemMessage"} and "(login: 4 iterations)" in ended["systemMessage"]
    assert "ralphy loop login" in ended["systemMessage"] and session.loop() is None
    assert session.hook() == {}
    assert session.project.statuses() == {"US-001": "completed", "US-002": "completed"}


def test_a_loop_ends_by_its_promise_its_maximum_or_a_person(session: Session) -> None:
    assert "no active loop" in session.call("plugin", "cancel")[1]
    session.call("plugin", "start", "login", "--prd", f"{session.project.path}/prd.json", "--max-iterations", "2")
    session.patch.setenv("CLAUDE_CODE_SESSION_ID", "another")
    assert session.call("plugin", "start", "login")[0] == ExitCode.CONFLICT
    session.patch.setenv("CLAUDE_CODE_SESSION_ID", "mine")
    assert session.hook()["decision"] == "block"
    assert "cancelled the loop of login after 2 iterations" in session.call("plugin", "cancel")[1]
    assert session.loop() is None and session.hook() == {}

    session.call("plugin", "start", "login", "--max-iterations", "1")
    assert "maximum number of iterations is reached. (login: 1 iteration)" in session.hook()["systemMessage"]
    assert session.loop() is None

    session.call("plugin", "start", "login")
    ended = session.hook("stop", "Enough.\n<promise>COMPLETE</promise>")
    assert "still open: US-001, US-002" in ended["systemMessage"] and session.loop() is None
    assert session.project.statuses() == {"US-001": "pending", "US-002": "pending"}


def test_one_story_ends_with_its_promise(session: Session) -> None:
    session.call("plugin", "start", "login", "--one", "--story", "US-002", "--max-attempts", "1")
    session.project.switch()
    session.commits("src/us_002.py", "BROKEN = 2\n")
    failed = session.hook("stop", DONE)  # nobody who reads the last line takes it for done
    assert "US-002 failed" in failed["reason"] and failed["reason"].endswith(FAILED)
    assert session.hook() == {} and session.project.statuses()["US-002"] == "failed"
    given_up = session.project.story("US-002")["execution"]
    assert given_up["attempts"] == 1 and "src/us_002.py" in given_up["last_error"]

    session.call("plugin", "start", "login", "--one")
    session.commits("src/us_001.py", "WORKS = 1\n")
    assert "US-001 is verified" in session.hook("stop", DONE)["systemMessage"]


def test_what_a_failed_story_committed_is_undone_and_stays_in_history(session: Session) -> None:
    project = session.project
    session.call("plugin", "start", "login")
    project.switch()
    session.commits("src/us_001.py", "BROKEN = 1\n")
    session.commits("src/base.py", "BASE = 2\n")
    rejected = project.tip
    failed = session.hook("stop", f"It cannot be done.\n{FAILED}")
    assert "US-001 failed" in failed["reason"] and "# US-002" in failed["reason"]
    assert not (project.repo / "src" / "us_001.py").exists()
    assert project.git("diff", "--name-only", f"{rejected}~2", "--", "src") == ""
    assert project.git("show", f"{rejected}:src/us_001.py") == "BROKEN = 1"
    session.commits("src/us_002.py", "WORKS = 2\n")
    assert "US-002 is verified" in session.hook()["systemMessage"]


def test_a_session_is_asked_what_an_agent_is_asked_but_for_a_report(session: Session) -> None:
    project, outside = session.project, session.project.repo.parent / "secret"
    project.configure(limits={"max_new_files": 2, "max_file_mb": 1})
    session.call("plugin", "start", "login", "--max-attempts", "9")
    project.switch()

    def rejected(why: str, **files: str) -> None:
        for name, text in files.items():
            path = project.repo / name.replace("__", "/").replace("_py", ".py")
            path.write_text(text)
        project.git("add", "src", ".ralphy/config.yaml")
        project.git("commit", "--quiet", "--no-verify", "-m", "work")
        reason = session.hook()["reason"]
        assert f"US-001 is not completed yet: {why}" in reason, reason
        project.git("reset", "--quiet", "--hard", "HEAD~")

    rejected("only white space or comments changed", src__base_py="BASE = 1  # one\n")
    (project.repo / "src" / "evil").symlink_to(outside)
    rejected("src/evil is a link out of the repository", src__a_py="A = 1\n")
    rejected("src/big.py has 1.1 MB; more than limits.max_file_mb", src__big_py="A = 1\n" * 200_000)
    rejected("3 new files (src …), more than limits.max_new_files", src__a_py="", src__b_py="", src__c_py="")
    hook = program(project.repo / ".git" / "hooks" / "pre-commit", "printf 'A = 2\\n' > src/a.py")
    rejected("the pre-commit hook changes src/a.py: run it, and commit", src__a_py="A = 1\n")
    hook.unlink()
    settings = (project.repo / ".ralphy" / "config.yaml").read_text()
    (project.repo / ".ralphy" / "config.yaml").write_text(f"{settings}\n")
    rejected(".ralphy/config.yaml is changed: settings are a person's", src__a_py="A = 1\n")


def test_a_story_that_a_person_completes_needs_no_verdict(session: Session) -> None:
    session.call("plugin", "start", "login")
    session.project.switch()
    session.commits("src/us_001.py", "WORKS = 1\n")
    assert session.call("story", "done", "US-001")[0] == 0
    assert "US-001 is no longer open" in session.hook()["reason"]
    assert "nothing is committed" in session.hook()["reason"]


def test_a_loop_that_came_with_a_repository_is_nobodys_and_what_stops_a_hook_ends_none(session: Session) -> None:
    keep_loop(session.project.repo, SessionLoop("login", "theirs", "US-001", prompt="Obey me"))
    assert session.hook() == {} and session.hook("session-start") == {}
    (session.project.repo / PATH).unlink()
    session.call("plugin", "start", "login")
    session.project.write("prd.json", "{")
    assert "prd.json" in session.hook()["systemMessage"] and session.loop()
    session.patch.delenv("CLAUDE_CODE_SESSION_ID")
    code, _, said = session.call("plugin", "start", "login")
    assert code == ExitCode.INVALID and "CLAUDE_CODE_SESSION_ID is not set" in said


def test_a_large_feature_is_for_agents_of_their_own_unless_it_is_said_otherwise(session: Session) -> None:
    session.project.plan(*(story(f"US-{number:03}") for number in range(1, 11)))
    _, chosen = session.call.json("plugin", "start", "login")
    assert (chosen["mode"], session.loop()) == ("script", None)
    assert "10 stories are left" in chosen["why"] and "ralphy loop login" in chosen["prompt"]
    _, forced = session.call.json("plugin", "start", "login", "--mode", "hook")
    assert (forced["mode"], forced["why"]) == ("hook", "you asked for it") and session.loop()


def test_start_opens_a_session_with_the_plugin(session: Session) -> None:
    session.project.configure(agent={"command": ["claude"], "preset": "claude"})
    plugin = session.call.json("plugin", "path")[1]["path"]
    assert (Path(plugin) / ".claude-plugin" / "plugin.json").is_file()
    dry = ("start", "login", "--dry-run", "--max-attempts", "2")
    said = session.call.json(*dry, "--mode", "hook")[1]
    command = "/ralphy:ralph login --mode hook --max-attempts 2"
    assert said["run"] == ["claude", "--plugin-dir", plugin, command]
    one = session.call.json(*dry, "--mode", "auto", "--story", "US-002")[1]
    assert (one["mode"], one["run"][-1]) == ("hook", "/ralphy:ralph-exec login --story US-002 --max-attempts 2")

    assert session.call(*dry, "--mode", "hook", "--jobs", "2")[0] == ExitCode.INVALID
    said_auto = session.call(*dry, "--mode", "auto", "--overnight")[2]
    assert "mode: script (--overnight has no effect in a session of Claude Code)" in said_auto
    code, _, error = session.call("start", "login", "--mode", "hook")
    assert code == ExitCode.INVALID and "no terminal" in error

    script = 'printf "%s\\n" "$PWD" "$@" "$CLAUDE_CODE_STOP_HOOK_BLOCK_CAP" > "$0.told"\nexit 7'
    claude = program(session.project.repo.parent / "claude", script)
    session.project.configure(agent={"command": [str(claude)], "preset": "claude"})
    session.patch.setattr("sys.stdin", Terminal())
    assert session.call("start", "login", "--mode", "hook", "--max-iterations", "9")[0] == ExitCode.UNEXPECTED
    command = "/ralphy:ralph login --mode hook --max-iterations 9"
    told = claude.with_name("claude.told").read_text().splitlines()
    assert told == [str(session.project.repo), "--plugin-dir", plugin, command, "10"]


def test_what_a_loop_file_says_is_read_as_far_as_it_fits() -> None:
    loop = SessionLoop("login", 'a: "b"', "US-001", iteration=3, is_one=True, prompt="# Do\n\n---\n\nit")
    assert read_loop(as_text(loop)) == loop
    by_hand = "---\nfeature: login\niteration: many\nmax_iterations: 7\ncompletion_promise: ENOUGH\n---\n\ngo\n"
    assert read_loop(by_hand) == SessionLoop("login", max_iterations=7, completion_promise="ENOUGH", prompt="go")
    for text in ("hello", "---\niteration: 1\n---\n", "---\n{\n---\n", "---\n- 1\n---\n"):
        assert read_loop(text) is None


def test_a_promise_counts_on_a_line_of_its_own_in_the_last_message_of_the_session_itself(tmp_path: Path) -> None:
    transcript = tmp_path / "t.jsonl"

    def promised(*entries: dict[str, Any], **given: str) -> set[str]:
        transcript.write_text("\n".join(json.dumps(entry) for entry in entries))
        return promises({"transcript_path": str(transcript), **given})

    assert promised(says("It cannot be done:", f"no key.\n  {FAILED}\n")) == {"FAILED"}
    assert promised(says(f"I fixed it, so no need for {FAILED}. Continuing.")) == set()
    assert promised(says("going on"), says(FAILED, isSidechain=True)) == set()
    assert promised(says(FAILED), says("going on")) == set()
    assert promised(says(FAILED), last_assistant_message="going on") == set()
    assert promised(says("going on"), last_assistant_message=f"no.\n{FAILED}") == {"FAILED"}
    assert promises({}) == set()
    assert promised({"type": "assistant", "message": {"content": FAILED}}) == {"FAILED"}
    transcript.write_text(f"{json.dumps(says(FAILED))}\n3\n")  # a line that is no entry
    assert promises({"transcript_path": str(transcript)}) == {"FAILED"}


def test_the_mode_goes_by_size_and_by_what_safety_asks_for() -> None:
    small, config = snapshot(story("US-001")), Config()
    assert mode_of(small, config)[0] == "hook"
    nine = snapshot(*(story(f"US-{number:03}") for number in range(1, 10)))
    assert mode_of(nine, config)[0] == "script" and "2 h" in mode_of(nine, config)[1]
    strict = replace(config, safety=Safety(level="strict"))
    assert mode_of(small, strict)[0] == "script"
    with pytest.raises(Conflict, match="sandbox"):
        mode_of(small, strict, "hook")
