"""What a program in the sandbox can do to the repository, to Ralphy's state and to what Ralphy reads of it later."""

from __future__ import annotations

import ast
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ralphy.agents.claude.cli import Claude
from ralphy.agents.outbox import Outbox
from ralphy.agents.program import Conditions
from ralphy.agents.protocol import AgentRequest
from ralphy.errors import EnvironmentProblem
from ralphy.files.memory_file import sealed
from ralphy.lanes.lane_sandbox import Bind
from ralphy.sandbox.bubblewrap import interpreter
from tests.conftest import RunGit
from tests.engine.building import ROOT
from tests.sandbox.inside import CLOSED_ERRORS, Box, Boxes, everything_in

GIT = {
    "config": "put('.git/config')", "hook": "put('.git/hooks/pre-commit')", "attributes": "put('.git/info/attributes')",
    "alternates": "put('.git/objects/info/alternates')", "ref": "put('.git/refs/heads/main')",
    "packed": "put('.git/packed-refs')", "replace": "said('git', 'update-ref', 'refs/replace/' + 40 * 'a', 'HEAD')",
    "head": "said('git', 'switch', '--quiet', '--create', 'mine')", "tag": "said('git', 'tag', 'made')",
    "main": "said('git', 'commit', '--quiet', '--allow-empty', '-m', 'x')", "journal": "shutil.rmtree('.git/ralphy')",
    "state": "os.makedirs('.git/ralphy') or put('.git/ralphy/journal.jsonl')", "mode": "os.chmod('.git/config', 0o777)",
    "linked": "os.link('.git/config', 'mine')", "stash": "said('git', 'stash', 'clear')",
    "moved": "os.rename('.git', 'x')",
    "removed": "shutil.rmtree('.git', ignore_errors=True)",
}  # fmt: skip
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


@pytest.mark.attempt(12, 13)
def test_nothing_that_is_done_to_git_in_a_lane_reaches_the_repository(either: Box, private_home: Path) -> None:
    """The Git folder inside is the lane's own: an agent may do with it what it likes."""
    before = everything_in(either.root)
    found = either.tries(GIT)
    assert found["moved"] == "EBUSY"
    assert everything_in(either.root) == before


@pytest.mark.attempt(12, 32, 49)
def test_the_repositorys_objects_are_read_only(either: Box) -> None:
    found = either.tries(
        new="put('.git/ralphy/objects/x')", packs="put('.git/ralphy/objects/pack/x')",
        gone="os.unlink(glob.glob('.git/ralphy/objects/??/*')[0])", moved="os.rename('.git/ralphy/objects', 'x')",
        mode="os.chmod('.git/ralphy/objects', 0o777)", linked="os.link(glob.glob('.git/ralphy/objects/??/*')[0], 'x')",
        mount="'EPERM' if said('mount', '--bind', '/tmp', '.git/ralphy/objects')[0] else 'ok'",
    )  # fmt: skip
    assert set(found.values()) <= CLOSED_ERRORS, found


@pytest.mark.attempt(14, 38, 59)
def test_control_files_cannot_be_written_moved_or_linked(either: Box) -> None:
    """Nor can its own outbox be replaced."""
    feature, mine = "docs/features/login", either.outbox
    names = ("prd.json", "APPROVED", "SPEC.md", "QA_REPORT.md", "STOP", ".ralphy/prompts", ".ralphy/config.yaml")
    found = either.tries(
        {name: f"put('{feature}/{name}')" for name in names},
        hand=f"put('{mine}/SPEC.md')", swap=f"os.rename('{mine}', '{mine}-x')",
        gone=f"os.unlink('{mine}/SPEC.md') or os.rmdir('{mine}')", beside=f"os.mkdir('{mine.parent}/other')",
        folder=f"os.rename('{feature}', 'x')", docs="os.rename('docs', 'x')", settings="put('.ralphy/config.yaml')",
        prompts="os.makedirs('.ralphy/prompts')", linked=f"os.symlink('/tmp', '{feature}/runs')",
    )  # fmt: skip
    assert found.pop("hand") == 4
    assert set(found.values()) <= CLOSED_ERRORS, found


@pytest.mark.attempt(15, 16, 17)
def test_other_features_cannot_be_written_and_none_can_be_made(either: Box) -> None:
    (either.tree / "docs" / "features" / "pay").mkdir()
    (either.tree / "docs" / "features" / "pay" / "SPEC.md").write_text("# Pay\n")
    found = either.tries(OTHERS, guide="put('docs/guide.md')")
    assert found.pop("guide") == 4
    assert set(found.values()) <= CLOSED_ERRORS, found
    assert [path.name for path in (either.root / "docs" / "features").iterdir()] == ["login"]


@pytest.mark.attempt(17)
@pytest.mark.parametrize("kind", ["open", "closed"])
def test_a_folder_of_features_that_is_not_there_cannot_be_made(boxes: Boxes, git: RunGit, kind: str) -> None:
    git("rm", "-rq", "docs")
    git("commit", "-qm", "no features")
    found = boxes(kind).tries(new="os.makedirs('docs/features/zz')", swap="os.rename('docs/features', 'x')")
    assert set(found.values()) <= CLOSED_ERRORS, found


@pytest.mark.attempt(18, 61)
def test_what_steers_claude_and_ralphy_cannot_be_made_where_it_is_not(either: Box) -> None:
    (either.tree / ".ralphy" / "config.yaml").unlink()
    (either.tree / ".ralphy").rmdir()
    found = either.tries(ABSENT, status="said('git', 'status', '--short', '--untracked-files=all')[1]")
    assert found.pop("status") in ("D .ralphy/config.yaml", "D .ralphy/config.yaml\n?? x")
    assert set(found.values()) <= CLOSED_ERRORS | {4}, found
    assert not any((either.root / name).exists() for name in (".claude", ".mcp.json"))


@pytest.mark.attempt(34)
@pytest.mark.parametrize("name", [".claude", ".mcp.json", ".ralphy", "docs/features", "docs"])
def test_no_link_is_followed_to_what_is_bound(closed: Box, name: str, tmp_path: Path) -> None:
    """Something left a link in its place; whatever it leads to would be shown."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "key").write_text("CANARY")
    place = closed.tree / name
    if place.exists():
        place.rename(tmp_path / "moved")
    place.symlink_to(tmp_path / "home")
    with pytest.raises(EnvironmentProblem, match="is a symbolic link") as refused:
        closed.tries(key=f"open('{tmp_path}/home/key').read()")
    assert refused.value.where == str(place)
    assert "delete it" in refused.value.hint


@pytest.mark.attempt(34)
def test_in_the_open_sandbox_a_persons_link_is_left_alone(boxes: Boxes, tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    box = boxes("open")
    (box.tree / ".claude").symlink_to(tmp_path / "shared")
    assert box.tries(work="put('new.py')", settings="put('.ralphy/config.yaml')") == {"work": 4, "settings": "EROFS"}


@pytest.mark.attempt(7)
def test_sockets_of_the_host_in_the_checkout_are_not_there(either: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither those in Git's folder, nor one that is made while the program runs."""
    (either.root / "run").mkdir()
    monkeypatch.chdir(either.root)
    names = [str(either.root / "a.sock"), "run/b.sock", str(either.root / ".git" / "daemon.ipc")]
    held = [listening(name) for name in names]
    connects = {name: f"connect(socket.AF_UNIX, {name!r})" for name in names}
    found = either.tries(connects, own="socket.socket(socket.AF_UNIX).bind('mine.sock')")
    assert found.pop("own") is None
    assert set(found.values()) == {"ENOENT"}, found

    late = str(either.root / "late.sock")
    script = f"print(1, flush=True); input(); import socket; print(socket.socket(1).connect_ex({late!r}))"
    with sealed(either.sandbox.filter) as at:
        argv = either.sandbox.around([interpreter(), "-I", "-S", "-c", script], os.environ, filter_at=at)
        with subprocess.Popen(argv, pass_fds=(at,), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout and process.stdout.readline() == b"1\n"
            held.append(listening(late))
            assert process.communicate(b"\n", timeout=60)[0] == b"2\n"  # ENOENT
    for one in held:
        one.close()


def listening(name: str) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    made.bind(name)
    made.listen()
    return made


@pytest.mark.attempt(7)
def test_nor_can_one_be_reached_that_lies_in_what_was_brought(boxes: Boxes, monkeypatch: pytest.MonkeyPatch) -> None:
    """In strict: the folder is the person's, and is shown read-only."""
    (boxes.repo / "node_modules" / "deep").mkdir(parents=True)
    (boxes.repo / "node_modules" / "a.js").write_text("a")
    monkeypatch.chdir(boxes.repo)
    held = listening("node_modules/deep/daemon.sock")
    folder = boxes.repo / "node_modules"
    found = boxes("closed", binds=[Bind(folder, folder)]).tries(
        file="open('node_modules/a.js').read()", write="put('node_modules/a.js')",
        socket="connect(socket.AF_UNIX, 'node_modules/deep/daemon.sock')",
    )  # fmt: skip
    held.close()
    assert found == {"file": "a", "write": "EROFS", "socket": "ECONNREFUSED"}


@pytest.mark.attempt(38, 39)
def test_an_outbox_is_read_where_it_was_made_and_gives_plain_files_of_a_sensible_size(tmp_path: Path) -> None:
    """Without a sandbox an agent can put a link in its place."""
    outbox, foreign = Outbox.made(tmp_path / "run"), tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "SPEC.md").write_text("a neighbour's")
    (tmp_path / "run").rename(tmp_path / "moved")
    (tmp_path / "run").symlink_to(foreign)
    assert outbox.read("SPEC.md", 1000) is None
    folder = tmp_path / "moved"
    (folder / "SPEC.md").write_text("handed in")
    assert outbox.read("SPEC.md", 1000) == b"handed in"
    assert Outbox(tmp_path / "run").read("SPEC.md", 1000) is None  # after a death of Ralphy: a link is no outbox

    (folder / "link").symlink_to(foreign / "SPEC.md")
    os.mkfifo(folder / "fifo")
    (folder / "folder").mkdir()
    (folder / "sparse").write_bytes(b"")
    os.truncate(folder / "sparse", 10 << 30)
    (folder / "large").write_bytes(b"x" * 5_000_000)
    names = ("link", "fifo", "folder", "sparse", "large", "../foreign/x")
    assert [outbox.read(name, 1 << 20) for name in names] == [None] * 6


@pytest.mark.attempt(30, 62)
@pytest.mark.parametrize("kind", ["open", "closed"])
def test_of_other_checkouts_git_is_not_seen_and_no_file_can_be_written(
    boxes: Boxes, git: RunGit, tmp_path: Path, kind: str
) -> None:
    """From a linked worktree: the main checkout, and a second linked one."""
    linked, other, main = tmp_path / "linked", tmp_path / "other", boxes.repo
    for at in (linked, other):
        git("worktree", "add", "--quiet", "-b", at.name, str(at))
    (main / "private.txt").write_text("CANARY")
    found = boxes(kind, repo=linked).tries(
        git=f"os.listdir('{main}/.git')", config=f"open('{main}/.git/config').read()",
        file=f"put('{main}/private.txt')",
        hook=f"put('{main}/.git/hooks/post-commit')", lead=f"put('{main}/.git/worktrees/other/commondir')",
        dot_git=f"put('{other}/.git')", work=f"put('{other}/base.py')", log="said('git', 'log', '-1')[0]",
    )  # fmt: skip
    assert found.pop("log") == 0
    assert found.pop("git") in ([], "ENOENT")
    assert set(found.values()) <= CLOSED_ERRORS, found
    assert not (main / ".git" / "hooks" / "post-commit").exists()


# Makes the sandbox of `kind` where a bind mount shows the repository a second time, and prints what is seen of that.
SECOND = """
import pathlib, sys
from tests.sandbox.inside import Boxes
repo, lanes, second, kind = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4]
boxes = Boxes(repo, lanes)
box = boxes(kind, readable=[pathlib.Path(second).parent])
found = box.tries(all=f"sorted(os.listdir('{second}'))", git=f"os.listdir('{second}-git')", note=f"put('{second}/x')")
boxes.close()
print(found)
"""


@pytest.mark.attempt(82)
@pytest.mark.parametrize("kind", ["open", "closed"])
def test_where_a_bind_mount_shows_the_repository_again_nothing_of_it_is_seen(
    boxes: Boxes, tmp_path: Path, kind: str
) -> None:
    second = tmp_path / "second" / "repo"
    for at in (second, tmp_path / "second" / "repo-git"):
        at.mkdir(parents=True)
    power = ("--cap-add", "ALL") if os.geteuid() == 0 else ()
    shell = ["bwrap", *power, "--dev-bind", "/", "/", "--proc", "/proc", "--bind", str(boxes.repo), str(second),
             "--bind", str(boxes.repo / ".git"), f"{second}-git", "--chdir", str(ROOT)]  # fmt: skip
    inner = ["bwrap", "--unshare-user", "--unshare-pid", "--dev-bind", "/", "/", "--proc", "/proc", "true"]
    words = [*shell, sys.executable, "-c", SECOND, str(boxes.repo), str(tmp_path / "lanes"), str(second), kind]
    done = subprocess.run(words, capture_output=True, encoding="utf-8", check=False)
    plain = subprocess.run([*shell, *inner], capture_output=True, encoding="utf-8", check=False)
    if done.returncode and plain.returncode and plain.stderr.strip() in done.stderr:  # the machine's doing, not ours
        pytest.skip(f"no sandbox within another one here: {plain.stderr}")
    assert done.returncode == 0, done.stderr
    found = ast.literal_eval(done.stdout)
    assert (found["all"], found["git"]) == ([], []), found
    assert not (boxes.repo / "x").exists()


SECRETS = """\
[remote "origin"]
	url = https://me:CANARY@forge.example.org/x.git
	pushurl = https://CANARY@forge.example.org/x.git
	fetch = +refs/heads/*:refs/remotes/origin/*
[http "https://forge.example.org/"] extraHeader = Authorization: CANARY
	extraheader = Cookie: a \\
 CANARY
[sendemail]
	smtpPass = CANARY
"""


@pytest.mark.attempt(55)
@pytest.mark.parametrize("kind", ["open", "closed"])
def test_credentials_in_gits_configuration_are_not_shown(boxes: Boxes, git: RunGit, kind: str) -> None:
    """In that of submodules neither; no remote is there."""
    config, module = boxes.repo / ".git" / "config", boxes.repo / ".git" / "modules" / "vendor" / "lib"
    module.mkdir(parents=True)
    (module / "HEAD").write_text("ref: refs/heads/main")
    for file in (config, module / "config"):
        with file.open("a") as it:
            it.write(SECRETS)
    assert "CANARY" in git("config", "--list")
    found = boxes(kind).tries(
        all="said('grep', '-r', 'CANARY', '.git')[0]", remotes="said('git', 'remote')[1]",
        modules="os.listdir('.git/modules')", status="said('git', 'status', '--short')[0]",
    )  # fmt: skip
    assert found == {"all": 1, "remotes": "", "modules": "ENOENT", "status": 0}


WRITES = """\
import json, os, sys
words = sys.stdin.read()
tried = []
opened = [(way, flags) for way in (f"/proc/{os.getppid()}/fd/0", "/proc/self/fd/0")
          for flags in (os.O_RDWR, os.O_WRONLY | os.O_TRUNC)]
for door in [(), *opened]:
    try:
        tried.append(os.write(os.open(*door) if door else 0, b"HACK"))
    except OSError as error:
        tried.append(error.errno)
print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": f"{words} {tried}"}))
"""


@pytest.mark.attempt(43)
def test_the_prompt_cannot_be_written_by_way_of_its_descriptor(either: Box) -> None:
    (either.tree / "agent.py").write_text(WRITES)
    run = either.outbox.parents[1] / "runs" / "r1"
    request = AgentRequest("r1", str(either.root), str(run), "opus", 30.0, "s", dict(os.environ),
                           outbox=str(either.outbox))  # fmt: skip
    agent = Claude((interpreter(), "-I", "-S", "agent.py"), Conditions(sandbox=either.sandbox))
    told = agent.prepared(request, lambda _: None)("PROMPT")
    assert told.text.startswith("PROMPT ["), told
    assert not {4, 0} & set(json.loads(told.text.removeprefix("PROMPT "))), told.text
    assert (run / "prompt.md").read_text() == "PROMPT"
    assert (run / "prompt.md").stat().st_mode & 0o7777 == 0o600
