"""What a program in the sandbox can do to the repository, to Ralphy's state and to what Ralphy reads of it later."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path

import pytest

from ralphy.agents.claude.cli import Claude
from ralphy.agents.outbox import Outbox
from ralphy.agents.protocol import AgentRequest
from ralphy.errors import EnvironmentProblem
from ralphy.files.memory_file import sealed
from ralphy.processes.supervision import Supervisor
from ralphy.sandbox.bubblewrap import Place, interpreter
from tests.conftest import RunGit
from tests.sandbox.inside import CLOSED_ERRORS, Box, boxed, place_in

OTHERS = {
    "approve": "put('docs/features/pay/APPROVED')",
    "spec": "put('docs/features/pay/SPEC.md')",
    "settings": "put('docs/features/pay/.ralphy/config.yaml')",
    "new": "os.makedirs('docs/features/zz/.ralphy')",
    "link": "os.symlink('/', 'docs/features/zz')",
    "move": "os.rename('docs/features', 'x')",
    "above": "os.rename('docs', 'x')",
}
ABSENT = {
    "claude": "put('.claude/settings.json')",
    "folder": "os.rmdir('.claude')",
    "swap": "os.rmdir('.claude') or os.symlink('../../..', '.claude')",
    "rename": "os.rename('.claude', 'x')",
    "mcp": "put('.mcp.json')",
    "over": "put('x') and os.replace('x', '.mcp.json')",
    "ralphy": "put('.ralphy/config.yaml')",
}


@pytest.mark.attempt(12)
def test_git_and_ralphys_state_cannot_be_written(closed: Box) -> None:
    """The open sandbox has a longer list in test_sandbox.py, by the programs that a person would use."""
    found = closed.tries(
        config="put('.git/config')", hook="put('.git/hooks/pre-commit')", attributes="put('.git/info/attributes')",
        journal="put('.git/ralphy/journal.jsonl')", index="put('.git/index')", ref="put('.git/refs/heads/main')",
        head="put('.git/HEAD')", moved="os.rename('.git', 'x')", chmod="os.chmod('.git/config', 0o777)",
        hooks="os.rename('.git/hooks', '.git/x')", linked="os.link('.git/config', 'mine')",
        ralphy="shutil.rmtree('.git/ralphy')", mount="'EPERM' if said('mount', '--bind', '/tmp', '.git')[0] else 'ok'",
        packed="put('.git/objects/x')",
    )  # fmt: skip
    assert set(found.values()) <= CLOSED_ERRORS, found


@pytest.mark.attempt(14, 59)
def test_control_files_cannot_be_written_moved_or_linked(either: Box) -> None:
    feature = "docs/features/login"
    names = ("prd.json", "APPROVED", "SPEC.md", "QA_REPORT.md", "STOP", ".ralphy/prompts", ".ralphy/config.yaml")
    found = either.tries(
        {name: f"put('{feature}/{name}')" for name in names},
        folder=f"os.rename('{feature}', 'x')", docs="os.rename('docs', 'x')", settings="put('.ralphy/config.yaml')",
        prompts="os.makedirs('.ralphy/prompts')", linked=f"os.symlink('/tmp', '{feature}/runs')",
    )  # fmt: skip
    assert set(found.values()) <= CLOSED_ERRORS, found


@pytest.mark.attempt(15, 16, 17)
def test_other_features_cannot_be_written_and_none_can_be_made(either: Box) -> None:
    (either.root / "docs" / "features" / "pay").mkdir()
    (either.root / "docs" / "features" / "pay" / "SPEC.md").write_text("# Pay\n")
    found = either.tries(OTHERS, guide="put('docs/guide.md')")
    assert found.pop("guide") == 4
    assert set(found.values()) <= CLOSED_ERRORS, found
    assert sorted(path.name for path in (either.root / "docs" / "features").iterdir()) == ["login", "pay"]


@pytest.mark.attempt(17)
@pytest.mark.parametrize("kind", ["open", "closed"])
def test_a_folder_of_features_that_is_not_there_cannot_be_made(sandbox: None, git_repo: Path, kind: str) -> None:
    """`ralphy loop ./tasks` has its feature elsewhere; `ralphy watch` looks into the folder that is set."""
    place = place_in(git_repo)
    tasks = git_repo / "tasks"
    place.feature.rename(tasks)
    for folder in (place.features, git_repo / "docs"):
        folder.rmdir()
    elsewhere = type(place)(place.root, place.git_dir, place.common_dir, place.state_dir, tasks, place.features)
    box = boxed(elsewhere, kind)
    found = box.tries(
        new="os.makedirs('docs/features/zz')", swap="os.rename('docs/features', 'x')", own="put('tasks/prd.json')"
    )
    box.sandbox.take_down()
    assert set(found.values()) <= CLOSED_ERRORS, found
    assert not (git_repo / "docs").exists()


@pytest.mark.attempt(18, 61)
def test_what_steers_claude_and_ralphy_cannot_be_made_where_it_is_not(either: Box, git: RunGit) -> None:
    (either.root / ".ralphy" / "config.yaml").unlink()
    (either.root / ".ralphy").rmdir()
    found = either.tries(ABSENT)
    assert set(found.values()) <= CLOSED_ERRORS, found
    assert ".claude" not in git("status", "--short", "--untracked-files=all")
    assert ".mcp.json" not in git("status", "--short", "--untracked-files=all")
    either.sandbox.take_down()
    assert not any((either.root / name).exists() for name in (".claude", ".mcp.json", ".ralphy"))


def test_empty_folders_of_a_ralphy_that_was_killed_are_taken_away(either: Box) -> None:
    for name in (".claude", ".mcp.json"):
        (either.root / name).mkdir()
    either.tries(nothing="0")
    either.sandbox.take_down()
    assert not any((either.root / name).exists() for name in (".claude", ".mcp.json"))


@pytest.mark.attempt(18)
def test_what_a_person_put_there_meanwhile_stays(closed: Box) -> None:
    closed.tries(nothing="0")
    (closed.root / ".claude" / "settings.json").write_text("{}")
    closed.sandbox.take_down()
    assert (closed.root / ".claude" / "settings.json").read_text() == "{}"


@pytest.mark.attempt(34)
@pytest.mark.parametrize("name", [".claude", ".mcp.json", ".ralphy", "docs/features", "docs"])
def test_no_link_is_followed_to_what_is_bound(closed: Box, name: str, tmp_path: Path) -> None:
    """An earlier check left a link in its place; whatever it leads to would be shown."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "key").write_text("CANARY")
    place = closed.root / name
    if place.exists():
        place.rename(tmp_path / "moved")
    place.symlink_to(tmp_path / "home")
    with pytest.raises(EnvironmentProblem, match="is a symbolic link") as refused:
        closed.tries(key=f"open('{tmp_path}/home/key').read()")
    assert refused.value.where == str(place)
    assert "remove it" in refused.value.hint


@pytest.mark.attempt(34)
def test_nor_to_what_is_named_below_a_folder_that_can_be_written(sandbox: None, git_repo: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    (cache / "tools").mkdir(parents=True)
    box = boxed(place_in(git_repo), "closed", readable=[cache / "tools"], writable=[cache])
    assert box.tries(tools=f"os.listdir('{cache}')") == {"tools": ["tools"]}
    (cache / "tools").rmdir()
    (cache / "tools").symlink_to(tmp_path)
    with pytest.raises(EnvironmentProblem, match="is a symbolic link"):
        box.tries(tools="0")


@pytest.mark.attempt(34)
def test_in_the_open_sandbox_a_persons_link_is_left_alone(sandbox: None, git_repo: Path, tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (git_repo / ".claude").symlink_to(tmp_path / "shared")
    found = boxed(place_in(git_repo), "open").tries(work="put('new.py')", settings="put('.ralphy/config.yaml')")
    assert found == {"work": 4, "settings": "EROFS"}


@pytest.mark.attempt(7)
def test_a_socket_of_the_host_in_the_repository_is_covered(closed: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under its full name, under a relative one, and in Git's folder."""
    (closed.root / "run").mkdir()
    monkeypatch.chdir(closed.root)
    names = [str(closed.root / "a.sock"), "run/b.sock", str(closed.root / ".git" / "daemon.ipc")]
    held = []
    for name in names:
        held.append(socket.socket(socket.AF_UNIX))
        held[-1].bind(name)
        held[-1].listen()
    connects = {name: f"connect(socket.AF_UNIX, {name!r})" for name in names}
    found = closed.tries(connects, own="socket.socket(socket.AF_UNIX).bind('mine.sock')")
    for one in held:
        one.close()
    assert found.pop("own") is None
    assert set(found.values()) == {"ECONNREFUSED"}, found


@pytest.mark.attempt(7)
@pytest.mark.xfail(strict=True, reason="lanes: a path of the checkout is shown, and a later socket is not covered")
def test_nor_is_one_that_is_made_while_the_agent_runs(closed: Box) -> None:
    path = closed.root / "late.sock"
    script = f"while [ ! -S {path} ]; do :; done; exec python3 -c \"import socket; socket.socket(1).connect('{path}')\""
    with sealed(closed.sandbox.filter) as at, socket.socket(socket.AF_UNIX) as late:
        argv = closed.sandbox.around(["timeout", "20", "sh", "-c", script], os.environ, filter_at=at)
        with subprocess.Popen(argv, pass_fds=(at,), stderr=subprocess.DEVNULL) as process:
            late.bind(str(path))
            late.listen()
            assert process.wait(30) != 0


@pytest.mark.attempt(38)
def test_its_outbox_cannot_be_replaced_inside(either: Box) -> None:
    mine = either.place.feature / ".ralphy" / "outbox" / "run"
    found = either.tries(
        shared=str(mine), hand=f"put('{mine}/SPEC.md')", swap=f"os.rename('{mine}', '{mine}-x')",
        gone=f"os.unlink('{mine}/SPEC.md') or os.rmdir('{mine}')", beside=f"os.mkdir('{mine.parent}/other')",
    )  # fmt: skip
    assert found.pop("hand") == 4
    assert set(found.values()) <= CLOSED_ERRORS, found


@pytest.mark.attempt(38)
def test_an_outbox_is_read_where_it_was_made_whatever_its_name_leads_to(tmp_path: Path) -> None:
    """Without a sandbox an agent can put a link in its place."""
    outbox, foreign = Outbox.made(tmp_path / "run"), tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "SPEC.md").write_text("a neighbour's")
    (tmp_path / "run").rename(tmp_path / "moved")
    (tmp_path / "run").symlink_to(foreign)
    assert outbox.read("SPEC.md", 1000) is None
    (tmp_path / "moved" / "SPEC.md").write_text("handed in")
    assert outbox.read("SPEC.md", 1000) == b"handed in"
    assert Outbox(tmp_path / "run").read("SPEC.md", 1000) is None  # after a death of Ralphy: a link is no outbox


@pytest.mark.attempt(39)
def test_what_is_no_plain_file_of_a_sensible_size_is_not_handed_in(tmp_path: Path) -> None:
    outbox, secret = Outbox.made(tmp_path / "run"), tmp_path / "secret"
    secret.write_text("CANARY")
    folder = outbox.path
    (folder / "link").symlink_to(secret)
    os.mkfifo(folder / "fifo")
    (folder / "folder").mkdir()
    (folder / "sparse").write_bytes(b"")
    os.truncate(folder / "sparse", 10 << 30)
    (folder / "large").write_bytes(b"x" * 5_000_000)
    (folder / "plain").write_bytes(b"fine")
    assert [outbox.read(name, 1 << 20) for name in ("link", "fifo", "folder", "sparse", "large", "../secret/x")] == [
        None
    ] * 6
    assert outbox.read("plain", 1 << 20) == b"fine"


@pytest.mark.attempt(62)
def test_of_the_main_checkout_a_linked_worktree_shows_git_alone(
    sandbox: None, git_repo: Path, git: RunGit, tmp_path: Path
) -> None:
    linked = tmp_path / "linked"
    git("worktree", "add", "--quiet", "-b", "side", str(linked))
    main_git = git_repo / ".git"
    (git_repo / "private.txt").write_text("CANARY")
    feature = linked / "docs" / "features" / "login"
    for folder in (feature, main_git / "ralphy"):
        folder.mkdir(parents=True)
    place = Place(linked, main_git / "worktrees" / "linked", main_git, main_git / "ralphy", feature, feature.parent)
    box = boxed(place, "closed")
    found = box.tries(main=f"os.listdir('{git_repo}')", file=f"open('{git_repo}/private.txt')",
                      log="said('git', 'log', '-1')[0]", write=f"put('{main_git}/config')")  # fmt: skip
    assert found == {"main": [".git"], "file": "ENOENT", "log": 0, "write": "EROFS"}


SECRETS = """\
[remote "origin"]
	url = https://me:CANARY@forge.example.org/x.git
	pushurl = https://CANARY@forge.example.org/x.git
	fetch = +refs/heads/*:refs/remotes/origin/*
[remote "ssh"]
	url = git@forge.example.org:x.git
	url = ssh://git@forge.example.org/x.git
[http "https://forge.example.org/"] extraHeader = Authorization: CANARY
	extraheader = Cookie: a \\
 CANARY
[sendemail]
	smtpPass = CANARY
"""


@pytest.mark.attempt(55)
def test_credentials_in_gits_configuration_are_not_shown(closed: Box, git: RunGit) -> None:
    """In that of submodules neither; the rest is there, and Git works with it."""
    config, module = closed.root / ".git" / "config", closed.root / ".git" / "modules" / "vendor" / "lib"
    module.mkdir(parents=True)
    (module / "HEAD").write_text("ref: refs/heads/main")
    for file in (config, module / "config"):
        with file.open("a") as it:
            it.write(SECRETS)
    assert "CANARY" in git("config", "--list")
    found = closed.tries(
        all="said('grep', '-r', 'CANARY', '.git')[0]", url="said('git', 'remote', 'get-url', 'origin')[1]",
        ssh="said('git', 'config', '--get-all', 'remote.ssh.url')[1]", status="said('git', 'status', '--short')[0]",
    )  # fmt: skip
    assert found == {"all": 1, "url": "https://forge.example.org/x.git", "status": 0,
                     "ssh": "git@forge.example.org:x.git\nssh://git@forge.example.org/x.git"}  # fmt: skip
    assert config.read_text().endswith(SECRETS)


WRITES = """\
import json, os, sys
words = sys.stdin.read()
tried = []
for way in (f"/proc/{os.getppid()}/fd/0", "/proc/self/fd/0"):
    for flags in (os.O_RDWR, os.O_WRONLY | os.O_TRUNC):
        try:
            tried.append(os.write(os.open(way, flags), b"HACK"))
        except OSError as error:
            tried.append(error.errno)
print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": f"{words} {tried}"}))
"""


@pytest.mark.attempt(43)
def test_the_prompt_cannot_be_written_by_way_of_its_descriptor(either: Box, tmp_path: Path) -> None:
    (either.root / "agent.py").write_text(WRITES)
    mine, run = either.place.feature / ".ralphy" / "outbox" / "run", either.place.feature / ".ralphy" / "runs" / "r1"
    request = AgentRequest("r1", str(either.root), str(run), "opus", 30.0, "s", dict(os.environ), outbox=str(mine))
    with Supervisor() as supervisor:
        agent = Claude((interpreter(), "-I", "-S", "agent.py"), supervisor, sandbox=either.sandbox)
        told = agent.run(request, "PROMPT", lambda _: None)
    assert told.text.startswith("PROMPT ["), told
    assert not {4, 0} & set(json.loads(told.text.removeprefix("PROMPT "))), told.text
    assert (run / "prompt.md").read_text() == "PROMPT"
    assert (run / "prompt.md").stat().st_mode & 0o7777 == 0o600
