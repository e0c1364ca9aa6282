"""Signed where the person signs: with their format, their program and their key; found out before an agent is paid."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from ralphy.errors import EnvironmentProblem, ExitCode
from ralphy.git import commands, signing
from tests.cli.conftest import Make
from tests.conftest import program
from tests.engine.building import Project, assert_clean, build, story, works

GPG = "Key-Type: eddsa\nKey-Curve: ed25519\nName-Email: person@example.org\nName-Real: Test Person\n"
X509 = ("Key-Type: RSA\nKey-Length: 2048\nKey-Usage: sign\nSerial: random\nName-DN: CN=Test Person\n"
        "Name-Email: person@example.org\nHash-Algo: SHA256\n")  # fmt: skip
PASSPHRASE = "correct horse"


@pytest.fixture
def keyring(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A keyring of the test's own; its agent ends with it. The path of the agent's socket must be short."""
    if not shutil.which("gpg") or not shutil.which("gpgsm"):
        pytest.skip("gpg and gpgsm are not installed")
    with TemporaryDirectory(prefix="gpg-", dir="/tmp") as folder:
        monkeypatch.setenv("GNUPGHOME", folder)
        yield Path(folder)
        subprocess.run(["gpgconf", "--kill", "all"], check=False)


def run(*words: str, stdin: str = "") -> bytes:
    return subprocess.run(words, input=stdin.encode(), capture_output=True, check=True).stdout


def set_up(project: Project, **settings: str) -> None:
    for name, value in settings.items():
        project.git("config", name.replace("_", "."), value)


def ssh_key(project: Project, passphrase: str = "") -> Path:
    key = project.repo.parent / "id"
    key.unlink(missing_ok=True)
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", str(key))
    allowed = project.repo.parent / "allowed"
    allowed.write_text(f"person@example.org {key.with_suffix('.pub').read_text()}", encoding="utf-8")
    set_up(project, gpg_format="ssh", user_signingKey=str(key), gpg_ssh_allowedSignersFile=str(allowed))
    return key


def gpg_key(_: Project, passphrase: str = "") -> None:
    protection = f"Passphrase: {passphrase}\n" if passphrase else "%no-protection\n"
    run("gpg", "--batch", "--pinentry-mode", "loopback", "--gen-key", stdin=GPG + protection)
    run("gpgconf", "--kill", "all")  # it would remember the passphrase


def x509_key(project: Project) -> None:
    home = Path(project.env["GNUPGHOME"])
    (home / "gpgsm.conf").write_text("disable-crl-checks\n", encoding="utf-8")
    (home / "request").write_text(X509, encoding="utf-8")
    making = ("gpgsm", "--batch", "--pinentry-mode", "loopback", "--passphrase-fd", "0", "--generate-key")
    (home / "cert").write_bytes(run(*making, str(home / "request"), stdin="\n"))
    run("gpgsm", "--batch", "--import", str(home / "cert"))
    rows = run("gpgsm", "--list-secret-keys", "--with-colons").decode().splitlines()
    key = next(row.split(":")[9] for row in rows if row.startswith("fpr"))
    (home / "trustlist.txt").write_text(f"{key} S relax\n", encoding="utf-8")
    run("gpgconf", "--kill", "all")
    set_up(project, gpg_format="x509", user_signingKey=key)


def signatures(project: Project) -> set[str]:
    """git's letters for the commits of the feature's branch: G and U are good signatures, N is none."""
    return set(project.git("log", "--format=%G?", f"main..{project.branch}").split())


@pytest.mark.fault("G10")
@pytest.mark.parametrize("key", [ssh_key, gpg_key, pytest.param(x509_key, marks=pytest.mark.soak)])
def test_every_commit_of_the_branch_is_signed_by_the_persons_settings_and_can_be_verified(
    tmp_path: Path, keyring: Path, key: Callable[[Project], object]
) -> None:
    project = build(tmp_path, story("US-001"))
    key(project)
    project.git("config", "--global", "commit.gpgSign", "true")
    project.play(
        stories={"US-001": [works(run=[["sh", "-c", "git add -A && git commit -qm wip && git log -1 | cat"]])]}
    )

    assert project.loop().code == ExitCode.WAITING

    commit = project.commit_of("US-001")
    assert signatures(project) <= {"G", "U"}
    project.git("verify-commit", commit)
    assert project.trailer("Ralphy-Story", commit) == "login/US-001"
    assert_clean(project)


def silent(project: Project) -> None:
    """A program of a key that wants to be touched."""
    signer = program(project.repo.parent / "op-ssh-sign", "exec sleep 600")
    ssh_key(project)
    set_up(project, gpg_ssh_program=str(signer))


CANNOT: dict[str, tuple[Callable[[Project], object], str]] = {
    "an ssh key with a passphrase": (lambda project: ssh_key(project, PASSPHRASE), "passphrase"),
    "a gpg key with a passphrase": (lambda project: gpg_key(project, PASSPHRASE), "pinentry"),
    "no key": (lambda project: set_up(project, gpg_format="ssh"), "user.signingkey"),
    "no program": (lambda project: set_up(project, gpg_program="/nonexistent/gpg"), "/nonexistent/gpg"),
    "a program that does not answer": (silent, "no signature within"),
}


@pytest.mark.fault("G10")
def test_a_signature_that_cannot_be_made_is_found_by_doctor_and_before_an_agent_is_paid(
    made: Make, keyring: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, call = made(story("US-001"))
    monkeypatch.setattr(signing, "_LONGEST_S", 2.0)
    config = project.repo / ".git" / "config"
    plain = config.read_bytes()
    for prepare, why in CANNOT.values():
        config.write_bytes(plain)
        prepare(project)
        set_up(project, commit_gpgSign="true")
        before = sorted(str(path) for path in project.repo.rglob("*"))

        found = call.findings()["signing"]
        code, _, said = call("loop", "login")

        assert (found["state"], code) == ("fail", ExitCode.ENVIRONMENT)
        assert why in found["said"].lower() and "git.sign off" in found["fix"]
        assert found["said"] in said
        assert sorted(str(path) for path in project.repo.rglob("*")) == before
    assert call("config", "set", "git.sign", "off")[0] == 0
    project.git("commit", "--quiet", "--no-gpg-sign", "--all", "-m", "chore: unsigned")
    found = call.findings()["signing"]
    assert found["state"] == "warn"
    assert call("loop", "login")[0] == ExitCode.WAITING
    assert (project.landed(), signatures(project)) == (["login/US-001"], {"N"})


def test_a_key_that_goes_in_the_night_ends_it_and_costs_no_work(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    key = ssh_key(project)
    set_up(project, commit_gpgSign="true")
    project.play(stories={"US-001": [works(run=[["mv", str(key), f"{key}.away"]])]})

    with pytest.raises(EnvironmentProblem, match="could not be signed"):
        project.loop()
    assert project.landed() == []
    Path(f"{key}.away").rename(key)
    project.play(stories={"US-001": [works()]})
    ended = project.loop()

    assert (project.landed(), signatures(project)) == (["login/US-001"], {"G"})
    assert project.story("US-001")["execution"]["attempts"] == 1, ended.text
    assert_clean(project)


def test_a_signer_in_the_working_tree_is_never_run(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    set_up(project, commit_gpgSign="true", gpg_program="./sign")
    repository = commands.discover(project.repo, project.env)
    assert repository.programs_in_tree == {"gpg.program": "./sign"}
    with pytest.raises(EnvironmentProblem, match="runs a program from the working tree"):
        project.loop()
