"""The open sandbox shows a person's machine and keeps it: attempts that went through a simpler one."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import mkdtemp
from typing import ClassVar

import pytest

from ralphy.agents.claude.preset import FOLDER
from ralphy.lanes.lanes_folder import CACHES
from ralphy.sandbox.machine import AgentFolder, Machine
from tests.conftest import RunGit, set_home
from tests.sandbox.inside import Box, Boxes, everything_in

SECRETS = dict.fromkeys((".ssh/id_ed25519", ".aws/credentials", ".netrc", ".config/gh/hosts.yml", ".bash_history",
                         ".cargo/credentials.toml", ".docker/config.json"), "CANARY")  # fmt: skip
OPEN = {".bashrc": "alias x=y\n", ".npmrc": "fund=false\n", "notes/diary.txt": "private",
        ".cache/prompt.sh": "true\n",
        ".claude/settings.json": "{}", ".claude/CLAUDE.md": "be kind", ".claude/.credentials.json": '{"token": "old"}',
        ".claude/shell-snapshots/snapshot-1.sh": "true\n", ".claude/history.jsonl": "{}",
        ".claude/projects/other/1.jsonl": "{}"}  # fmt: skip

# Programs of the person's that lie in folders of caches, and what they say.
BESIDE = {".local/share/uv/tools/ruff/bin/ruff": "tool", ".local/share/uv/python/cpython-3.12/bin/python": "python",
          ".local/share/pnpm/pnpm": "pnpm"}  # fmt: skip


def write(home: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)


@pytest.fixture
def home(private_home: Path) -> Path:
    write(private_home, {**SECRETS, **OPEN})
    return private_home


@pytest.fixture
def agents(home: Path, boxes: Boxes) -> Box:
    """The sandbox of an agent, with the person's folder of Claude Code."""
    return boxes("open", machine=machine(home, boxes))


def machine(
    home: Path, boxes: Boxes, writable: tuple[Path, ...] = (), readable: tuple[Path, ...] = ()
) -> Machine:  # fmt: skip
    sessions = FOLDER.sessions(str(boxes.repo))
    (home / ".claude" / sessions).mkdir(parents=True, exist_ok=True)
    own = AgentFolder(FOLDER.path(os.environ), FOLDER.state, (FOLDER.login, sessions))
    return Machine(os.environ, boxes.caches, own, readable, writable)


@pytest.mark.attempt(84)
@pytest.mark.fault("S5")
def test_the_home_is_not_deleted(agents: Box, home: Path) -> None:
    before = everything_in(home)
    code, _ = agents.runs("sh", "-c", "rm -rf ~ ~/* ~/.[a-z]*")
    assert code != 0
    login = str(Path(".claude", ".credentials.json"))
    after = everything_in(home)
    assert {name: kept for name, kept in after.items() if name != login and not name.startswith(".cache/")} == {
        name: kept for name, kept in before.items() if name != login and not name.startswith(".cache/")
    }
    assert (home / ".cache" / "prompt.sh").exists() and (home / login).exists()


def test_secrets_are_hidden_what_tools_read_is_not_and_the_login_is_renewed_in_place(agents: Box, home: Path) -> None:
    found = agents.tries({name: f"open({str(home / name)!r}).read()" for name in (*SECRETS, *OPEN)})
    assert {name: found[name] for name in SECRETS if found[name] not in ("ENOENT", "")} == {}
    assert found[".netrc"] == "", "programs fail on what is no file"
    seen = (".bashrc", ".npmrc", "notes/diary.txt", ".claude/settings.json", ".claude/CLAUDE.md",
            ".claude/.credentials.json")  # fmt: skip
    assert {name: found[name] for name in OPEN} == {name: OPEN[name] if name in seen else "ENOENT" for name in OPEN}

    sessions = home / ".claude" / FOLDER.sessions(str(agents.root))  # those of the checkout are kept
    login = home / ".claude" / ".credentials.json"
    found = agents.tries(
        login=f"open({str(login)!r}, 'w').write('new')", session=f"put({str(sessions / '1.jsonl')!r})",
        lock=f"os.mkdir({str(home / '.claude' / '.oauth_refresh.lock')!r})",
    )  # fmt: skip
    assert found == {"login": 3, "session": 4, "lock": None}
    assert (login.read_text(), (sessions / "1.jsonl").read_text()) == ("new", "HACK")
    assert not (home / ".claude" / ".oauth_refresh.lock").exists()


@pytest.mark.parametrize("how", ["a link", "another home"])
def test_a_secret_is_hidden_where_it_really_lies(
    boxes: Boxes, home: Path, tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a link, and in the home that ssh and Java ask the machine for."""
    elsewhere = tmp_path / "elsewhere"
    if how == "a link":
        shutil.move(home / ".aws", elsewhere)
        (home / ".aws").symlink_to(elsewhere)
        secret = elsewhere / "credentials"
    else:
        shutil.copytree(home, elsewhere)
        known = pwd.getpwuid(os.getuid())
        fields = [str(elsewhere) if field == known.pw_dir else field for field in known]
        monkeypatch.setattr(pwd, "getpwuid", lambda _: pwd.struct_passwd(fields))
        secret = elsewhere / ".ssh" / "id_ed25519"
    assert secret.read_text() == "CANARY"
    assert boxes("open").tries(secret=f"open({str(secret)!r}).read()") == {"secret": "ENOENT"}


@pytest.mark.attempt(83)
@pytest.mark.fault("S5")
def test_the_machine_is_not_remounted(agents: Box, home: Path) -> None:
    found = agents.tries(
        root="said('mount', '-o', 'remount,rw', '/')[0]",
        home=f"said('mount', '-o', 'remount,rw,bind', {str(home)!r})[0]",
        inner="said('unshare', '-rm', 'sh', '-c', 'mount -o remount,rw,bind docs/features; touch docs/features/x')[0]",
        away="said('umount', '-l', '/proc/sys')[0]", put=f"put({str(home / '.bashrc')!r})",
        powers="[line for line in open('/proc/self/status') if line.startswith(('CapEff', 'CapPrm', 'CapAmb'))]",
    )  # fmt: skip
    assert found["root"] and found["home"] and found["inner"] and found["away"]
    assert found["put"] == "EROFS"
    assert {line.split()[1] for line in found["powers"]} == {"0" * 16}


@pytest.mark.attempt(85)
@pytest.mark.fault("S5")
def test_nothing_is_planted_for_the_persons_next_session(agents: Box, home: Path) -> None:
    places = {
        "snapshot": ".claude/shell-snapshots/snapshot-1.sh", "hook": ".claude/settings.json",
        "new": ".claude/commands/x.md", "memory": ".claude/CLAUDE.md", "history": ".claude/history.jsonl",
        "shell": ".bashrc", "prompt": ".cache/prompt.sh",
        "other": ".claude/projects/other/1.jsonl", "unit": ".config/systemd/user/x.service", "global": ".gitconfig",
    }  # fmt: skip
    attempts = {name: f"(os.makedirs(os.path.dirname({at!r}), exist_ok=True), put({at!r}))"
                for name, at in ((name, str(home / path)) for name, path in places.items())}  # fmt: skip
    before = {name: text for name, text in everything_in(home).items() if name not in (".", ".claude")}
    found = agents.tries(attempts)
    assert {name: text for name, text in everything_in(home).items() if name not in (".", ".claude")} == before
    assert {name: found[name] for name in ("hook", "memory", "shell", "unit", "global")} == dict.fromkeys(
        ("hook", "memory", "shell", "unit", "global"), "EROFS"
    )


def test_checks_have_no_login(boxes: Boxes, home: Path) -> None:
    own = AgentFolder(FOLDER.path(os.environ), FOLDER.state)
    box = boxes("open", machine=Machine(os.environ, boxes.caches, own))
    found = box.tries(login=f"open({str(home / '.claude' / '.credentials.json')!r}).read()",
                      settings=f"open({str(home / '.claude' / 'settings.json')!r}).read()")  # fmt: skip
    assert found == {"login": "ENOENT", "settings": "{}"}


@pytest.mark.attempt(86)
@pytest.mark.fault("S5")
def test_the_ssh_agent_is_not_asked(boxes: Boxes, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor any other daemon with a socket below /tmp or /run: sockets in read-only folders would connect."""
    folder = Path(mkdtemp(prefix="ssh-", dir="/tmp"))
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind(str(folder / "agent.1"))
        agent.listen()
        monkeypatch.setenv("SSH_AUTH_SOCK", str(folder / "agent.1"))
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={folder}/bus")
        found = boxes("open", machine=machine(home, boxes)).tries(
            variables="[name for name in os.environ if name.startswith(('SSH_AUTH', 'DBUS', 'DISPLAY'))]",
            asked=f"connect(socket.AF_UNIX, {str(folder / 'agent.1')!r})", run="sorted(os.listdir('/run'))",
        )  # fmt: skip
    shutil.rmtree(folder)
    assert (found["variables"], found["asked"]) == ([], "ENOENT")
    assert set(found["run"]) <= {"systemd", "resolvconf", "NetworkManager", "nscd", "current-system"}


@pytest.mark.attempt(87)
@pytest.mark.fault("S5")
def test_no_other_checkout_is_edited(agents: Box, git_repo: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    subprocess.run(["git", "clone", "--quiet", str(git_repo), str(other)], check=True)
    before = everything_in(other)
    git = f"'git', '-C', {str(other)!r}"
    found = agents.tries(
        file=f"put({str(other / 'calc.py')!r})", hook=f"put({str(other / '.git/hooks/post-commit')!r})",
        config=f"said({git}, 'config', 'core.fsmonitor', 'evil')[0]",
        commit=f"said({git}, 'commit', '--allow-empty', '-m', 'x')[0]",
    )  # fmt: skip
    assert (found["file"], found["hook"]) == ("EROFS", "EROFS")
    assert found["config"] and found["commit"]
    assert everything_in(other) == before


class Forge(BaseHTTPRequestHandler):
    """It wants a password for everything, and notes those that it hears."""

    heard: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        self.heard.append(self.headers["Authorization"])
        self.send_response(403 if self.heard[-1] else 401)
        self.send_header("WWW-Authenticate", 'Basic realm="forge"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


@pytest.mark.attempt(51)
@pytest.mark.fault("S5")
def test_nothing_is_pushed_with_a_key_of_the_home(boxes: Boxes, home: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Forge) as forge:
        threading.Thread(target=forge.serve_forever, daemon=True).start()
        port = forge.server_port
        (home / ".git-credentials").write_text(f"http://me:CANARY@127.0.0.1:{port}\n")
        agents = boxes("open", machine=machine(home, boxes))
        push = ["git", "-c", f"credential.helper=store --file={home}/.git-credentials", "push",
                f"http://127.0.0.1:{port}/x.git", "HEAD:main"]  # fmt: skip
        env = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "false"}
        subprocess.run(push, cwd=agents.root, env=env, capture_output=True, check=False)
        assert Forge.heard[-1], "outside the key is found"
        Forge.heard.clear()
        code, _ = agents.runs(*push, env=env)
        forge.shutdown()
    assert code
    assert set(Forge.heard) == {None}


@pytest.fixture
def own_caches(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home in which the person has each tool and its caches."""
    for folder in (".npm", ".cargo/registry", ".cargo/git", "go/pkg", ".m2/repository", ".gradle", ".local/share/uv",
                   ".local/share/pnpm"):  # fmt: skip
        (home / folder).mkdir(parents=True, exist_ok=True)
    theirs = (".gradle/init.d/x.gradle", ".cargo/config.toml", ".m2/settings.xml", ".local/share/pnpm/store/v3/x")
    write(home, dict.fromkeys(theirs, "theirs"))
    for program, says in BESIDE.items():
        write(home, {program: f"#!/bin/sh\necho {says}\n"})
        (home / program).chmod(0o755)
    (home / ".cargo" / ".package-cache").touch()
    yield home


@pytest.mark.attempt(88)
def test_what_is_planted_in_a_cache_starts_nothing_of_the_persons(own_caches: Path, boxes: Boxes) -> None:
    """The caches are Ralphy's own, the same ones for all lanes and from night to night."""
    home = own_caches
    planted = (".gradle/init.d/evil.gradle", ".local/share/uv/tools/evil", ".cache/prompt.sh", ".npm/_npx/evil",
               ".cargo/registry/evil", "go/pkg/mod/evil", ".m2/repository/evil", ".cache/pre-commit/evil")  # fmt: skip
    box = boxes("open")
    before = everything_in(home)
    made = box.tries({at: f"(os.makedirs(os.path.dirname({str(home / at)!r}), exist_ok=True), put({str(home / at)!r}))"
                      for at in planted})  # fmt: skip
    assert made == {at: [None, 4] for at in planted}
    assert everything_in(home) == before
    again = boxes("open").tries({at: f"open({str(home / at)!r}).read()" for at in planted})
    assert again == dict.fromkeys(planted, "HACK")
    kept = box.tries({at: f"put({str(home / at)!r})" for at in (".cargo/config.toml", ".m2/settings.xml")})
    assert set(kept.values()) == {"EROFS"}


def test_programs_that_lie_beside_caches_are_there_and_read_only(own_caches: Path, boxes: Boxes) -> None:
    home, box = own_caches, boxes("open")
    for program, says in BESIDE.items():
        assert box.runs(str(home / program)) == (0, f"{says}\n")
        assert box.tries(edit=f"put({str(home / program)!r})") == {"edit": "EROFS"}
    assert box.tries(store=f"os.path.exists({str(home / '.local/share/pnpm/store/v3/x')!r})") == {"store": False}
    assert box.tries(new=f"os.makedirs({str(home / '.local/share/uv/python/cpython-3.14')!r})") == {"new": None}


@pytest.mark.attempt(88)
def test_a_link_in_a_cache_leads_no_mount_away(own_caches: Path, boxes: Boxes, tmp_path: Path) -> None:
    """An agent leaves a link in the place of a mount point: nothing is made or shown where it leads."""
    (tmp_path / "outside").mkdir()
    tools = own_caches / ".local" / "share" / "uv" / "tools"
    code, said = boxes("open").runs(
        "sh", "-c", f"cd {tools}/.. && mv tools away; ln -s {tmp_path}/outside tools; ls -l"
    )
    assert "outside" in said, (code, said)
    assert boxes("open").runs(str(tools / "ruff/bin/ruff")) == (0, "tool\n")
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_tool_whose_cache_is_not_there_finds_a_place(
    boxes: Boxes, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = home / "bin"
    write(home, {"bin/cargo": "#!/bin/sh\n"})
    (tools / "cargo").chmod(0o755)
    (tools / "git").symlink_to(shutil.which("git") or "")
    monkeypatch.setenv("PATH", f"{tools}:/bin:/usr/bin" if not shutil.which("gradle") else str(tools))
    found = boxes("open").tries(
        cargo=f"put({str(home / '.cargo/registry/x')!r})", gradle=f"put({str(home / '.gradle/x')!r})",
        lock=f"put({str(home / '.cargo/.package-cache')!r})",
    )  # fmt: skip
    assert found == {"cargo": 4, "gradle": "ENOENT", "lock": 4}
    assert list((home / ".cargo" / "registry").iterdir()) == []


def test_named_folders_are_writable_and_named_secrets_readable(boxes: Boxes, home: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    shown = machine(home, boxes, writable=(data, home / "notes"), readable=(home / ".netrc",))
    found = boxes("open", machine=shown).tries(
        data=f"put({str(data / 'x')!r})", notes=f"put({str(home / 'notes' / 'x')!r})", home=f"put({str(home / 'x')!r})",
        netrc=f"open({str(home / '.netrc')!r}).read()", edit=f"put({str(home / '.netrc')!r})",
        ssh=f"os.listdir({str(home / '.ssh')!r})",
    )  # fmt: skip
    assert found == {"data": 4, "notes": 4, "home": "EROFS", "netrc": "CANARY", "edit": "EROFS", "ssh": []}


@pytest.mark.attempt(89)
def test_a_link_in_a_writable_folder_shows_nothing(boxes: Boxes, home: Path, tmp_path: Path) -> None:
    """What is named below a folder that agents can write may have become a link to a secret."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "x").symlink_to(home / ".ssh")
    shown = machine(home, boxes, writable=(data,), readable=(data / "x",))
    found = boxes("open", machine=shown).tries(key=f"open({str(home / '.ssh' / 'id_ed25519')!r}).read()")
    assert found == {"key": "ENOENT"}


def test_a_home_below_tmp_is_seen(boxes: Boxes, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(mkdtemp(prefix="home-", dir="/tmp"))
    try:
        set_home(folder, monkeypatch)
        write(folder, {".ssh/id": "CANARY", ".bashrc": "x"})
        found = boxes("open").tries(
            bash=f"open({str(folder / '.bashrc')!r}).read()", put=f"put({str(folder / 'x')!r})",
            ssh=f"os.listdir({str(folder / '.ssh')!r})", cache=f"put({str(folder / '.cache/x')!r})",
        )  # fmt: skip
        assert found == {"bash": "x", "put": "EROFS", "ssh": [], "cache": 4}
    finally:
        shutil.rmtree(folder)


def test_worktrees_of_a_repository_share_its_caches(boxes: Boxes, git: RunGit, tmp_path: Path) -> None:
    git("worktree", "add", "--quiet", str(tmp_path / "wt"))
    pool, other = boxes("open").pool, boxes("open", repo=tmp_path / "wt").pool
    assert pool.folder != other.folder
    assert pool.caches == other.caches == pool.folder / CACHES
    assert [lane.name for lane in other.listed()] == ["1", CACHES]


def test_caches_go_when_nobody_works_with_them(boxes: Boxes) -> None:
    box = boxes("open")
    (box.pool.caches / ".npm").mkdir(exist_ok=True)
    (box.pool.caches / ".npm" / "big").write_bytes(bytes(1 << 20))
    box.pool.let_go([CACHES])
    assert (box.pool.caches / ".npm" / "big").exists(), "a lane is in use"
    assert box.pool.let_go(["1", CACHES]) > 1 << 20
    assert box.pool.listed() == []
