"""The level `strict`: a closed sandbox, with everything that it takes looked for before the first agent."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ralphy.errors import ExitCode
from tests.conftest import program
from tests.engine.building import ROOT, Act, Project, assert_clean, build, story, works

pytestmark = pytest.mark.usefixtures("sandbox")
VISIBLE = [str(ROOT), sys.prefix, sys.base_prefix]


def strict(tmp_path: Path, *stories: Act, **safety: Any) -> Project:
    scenario = str(tmp_path / "scenario.json")
    visible = {"level": "strict", "ro_paths": [*VISIBLE, scenario], **safety}
    return build(tmp_path, *(stories or (story("US-001"),)), safety=visible)


def looks(project: Project, code: str) -> Project:
    """Let the only check be this Python code; what it prints goes into the story's document if it is red."""
    script = project.repo / "look.py"
    script.write_text(code)
    project.git("add", "look.py")
    settings = project.repo / ".ralphy" / "config.yaml"
    found = json.loads(settings.read_text())
    found["checks"] = [{"name": "look", "run": f"{sys.executable} look.py"}]
    settings.write_text(json.dumps(found))
    project.git("commit", "--quiet", "--all", "-m", "chore: a look")
    return project


def test_an_address_of_the_model_that_is_none_is_said(tmp_path: Path) -> None:
    project = strict(tmp_path)
    project.env["ANTHROPIC_BASE_URL"] = "http://localhost:99999"
    code, said = project.call("loop", "login")
    assert (code, "ANTHROPIC_BASE_URL is not an address" in said) == (ExitCode.ENVIRONMENT, True), said


def test_a_change_of_the_level_between_two_stories_flags_nothing(tmp_path: Path) -> None:
    levels = ("strict", "minimal", "strict")
    project = strict(tmp_path, *(story(f"US-00{number}", priority=number) for number in range(1, len(levels) + 1)))
    for level in levels:
        assert project.call("loop", "login", "--max-iterations", "1", "--safety-level", level)[0] == ExitCode.BUDGET

    evidence = [found["evidence"] for found in project.prd()["userStories"]]
    assert [found.get("warnings") for found in evidence] == [None] * len(levels)


OPENED = """
import os, pathlib, sys
rules = (pathlib.Path.home() / '.claude/settings.json').read_text()  # of a claude that is started by hand
wrong = [word for word in ('Bash(git push:*)', 'Read(~/.ssh/**)') if word not in rules]
wrong += ["proxy"] * (os.environ.get('HTTPS_PROXY') != 'http://127.0.0.1:3128')
open(CACHE, 'w').write('kept')
sys.exit(bool(wrong))
"""


@pytest.mark.fault("A14")
def test_a_story_is_done_in_the_closed_sandbox_with_what_the_settings_open(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    code = f"CACHE = {str(cache / 'x')!r}\n{OPENED}"
    project = looks(strict(tmp_path, checks_network=True, writable=[str(cache)]), code)
    project.play(stories={"US-001": [works(run="git commit --allow-empty -m mine")]})

    ended = project.loop(agents=1)

    assert project.statuses() == {"US-001": "completed"}, ended.text
    assert "safety: strict; agents and checks run in a closed bubblewrap sandbox" in ended.said
    assert project.trailer("Ralphy-Story", project.commit_of("US-001")) == "login/US-001"
    assert project.subjects("mine") == []
    assert (cache / "x").read_text() == "kept"
    assert_clean(project)


CLOSED = """
import os, pathlib, socket, sys
wrong = []
def fails(name, act):
    try:
        act()
    except OSError:
        return
    wrong.append(name)
home = pathlib.Path.home()
if str(home) != "/home/agent" or os.getuid() == 0:
    wrong.append(f"{home} {os.getuid()}")
fails("shadow", lambda: open("/etc/shadow").read())
fails("home outside", lambda: os.listdir(HOME))
fails("hooks", lambda: open(".git/hooks/x", "w"))
fails("prd.json", lambda: open("docs/features/login/prd.json", "a"))
fails("marker", lambda: open("docs/features/login/APPROVED", "w"))
fails("settings", lambda: open(".ralphy/config.yaml", "a"))
fails("agent's settings", lambda: open(home / ".claude" / "settings.json", "a"))
fails("toolchain", lambda: open(pathlib.Path(ROOT) / "canary", "w"))
fails("network", lambda: socket.create_connection(("127.0.0.1", PORT), 2))
(home / "scratch").write_text("mine")
pathlib.Path("/tmp/scratch").write_text("mine")
pathlib.Path("written.log").write_text("mine")
print("FAILED", wrong)
sys.exit(1 if wrong else 0)
"""


@pytest.mark.fault("A13")
def test_what_runs_in_it_sees_a_bare_system(tmp_path: Path, private_home: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        facts = f"HOME, ROOT, PORT = {str(private_home)!r}, {str(ROOT)!r}, {server.getsockname()[1]}\n"
        project = looks(strict(tmp_path), facts + CLOSED)
        ended = project.loop(agents=1)
    assert project.statuses() == {"US-001": "completed"}, ended.text
    assert not (ROOT / "canary").exists()
    assert not (private_home / ".claude").exists()


def test_everything_that_is_missing_is_named_at_once(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    for name, script in (("claude", "echo 2.1.197"), ("tester", "exit 0")):
        program(tools / name, script)
    project = build(
        tmp_path, story("US-001"), agent={"command": ["claude"]}, safety={"level": "strict", "sandbox": "none"},
        checks=[{"name": "test", "run": "tester --all"}],
    )  # fmt: skip
    project.env["PATH"] = f"{tools}:{project.env['PATH']}"
    code, said = project.call("loop", "login")
    assert code == 5
    for words in ("safety.sandbox is none", "no key of its own", f"the check test needs {tools / 'tester'}",
                  "claude setup-token", "safety.ro_paths"):  # fmt: skip
        assert words in said
    assert project.journal("run") == []


def test_an_agent_whose_interpreter_is_not_shown_is_said_with_its_folder(tmp_path: Path) -> None:
    runner = tmp_path / "env" / "bin" / "runner"
    for name, text in ((runner, '#!/bin/sh\nexec sh "$@"\n'), ("tools/agent", f"#!{runner}\n")):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    project = build(tmp_path, story("US-001"), safety={"level": "strict"}, checks=[{"name": "t", "run": "true"}],
                    agent={"command": [str(tmp_path / "tools" / "agent")]})  # fmt: skip
    code, said = project.call("loop", "login")
    assert code == 5
    assert f"add {tmp_path}/env, and what else it needs, to safety.ro_paths" in said


@pytest.mark.fault("P17")
def test_an_agent_that_does_not_start_in_it_ends_it_before_anything_is_done(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), safety={"level": "strict"}, checks=[{"name": "t", "run": "true"}])
    code, said = project.call("loop", "login")
    assert code == 5
    assert "does not start in the sandbox" in said
    assert "safety.ro_paths" in said
    assert project.journal("run") == []
