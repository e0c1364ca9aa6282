"""The documents: links lead somewhere, commands and targets exist, what the README tells people to type works."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import click
import pytest

from ralphy import __version__
from ralphy.cli.commands import COMMANDS
from ralphy.cli.main import cli
from ralphy.cli.status.look import bare
from tests.e2e.project import shell

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
STEPS = "On your own repository"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
SHELL_BLOCKS = ("", "sh", "console")

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_MODULE = re.compile(r"`(\w+/[\w/.]+\.(?:py|json|j2))`")
_LINK = re.compile(r"\[[^\]\n]+\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+?)[ #]*$", re.M)
_ASSIGNMENT = re.compile(r"([A-Z_]+)=.*", re.S)


@dataclass(frozen=True, slots=True)
class Typed:
    """Words of a command that a document names; `is_example` if they are to be typed just so."""

    document: str
    words: tuple[str, ...]
    is_example: bool


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def prose(path: Path) -> str:
    """A document without its fenced blocks."""
    return _FENCE.sub("", path.read_text(encoding="utf-8"))


def blocks(text: str) -> Iterator[str]:
    """The fenced blocks that are for a shell."""
    return (body for language, body in _FENCE.findall(text) if language in SHELL_BLOCKS)


@cache
def anchors(path: Path) -> set[str]:
    """What a link can name in a document, as GitHub makes it of the headings."""
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in _HEADING.findall(prose(path)))
    return {heading.replace(" ", "-") for heading in plain}


def commands_of(line: str) -> Iterator[tuple[str, ...]]:
    """The commands of a shell's line, the settings before them left out."""
    try:
        lexer = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars="();<>|&")
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:  # a quotation that goes on, or no shell at all
        return
    command: list[str] = []
    for word in [*words, ";"]:
        if word and set(word) <= set("();|&"):
            if command:
                yield tuple(command)
            command = []
        elif command or not _ASSIGNMENT.fullmatch(word):
            command.append(word)


def typed(program: str) -> list[Typed]:
    """Every call of a program that a document names, in a block or within a sentence."""
    found = []
    for path in DOCUMENTS:
        lines = [(line, True) for body in blocks(path.read_text(encoding="utf-8")) for line in body.splitlines()]
        lines += [(line, False) for line in _INLINE.findall(prose(path)) if line.startswith(f"{program} ")]
        for line, is_example in lines:
            calls = [words for words in commands_of(line) if words[0] == program]
            found += [Typed(shown(path), words[1:], is_example) for words in calls]
    return found


def name_of(call: Typed) -> str:
    return f"{call.document}: {' '.join(call.words)}"


def test_every_relative_link_leads_somewhere() -> None:
    links = [(path, link) for path in DOCUMENTS for link in _LINK.findall(prose(path))]
    for path, link in links:
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        assert target.exists(), f"{shown(path)} links to {link}"
        assert not anchor or anchor in anchors(target), f"{shown(path)} links to {link}: no such heading"


def test_the_index_names_every_document() -> None:
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / link).resolve() for link in _LINK.findall(prose(index)) if "://" not in link}
    missing = [shown(path) for path in (ROOT / "docs").rglob("*.md") if path not in linked | {index}]
    assert missing == [], "docs/index.md has no link to these"


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_the_modules_that_a_change_is_sent_to_exist_and_have_what_is_named(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    lost = {path for path in _MODULE.findall(text) if not place_of(path).exists()}
    assert lost == set()
    for name, path in re.findall(r"`(\w+)` (?:in|of) `([\w/]+\.py)`", text):
        defined = rf"^(?:def {name}|class {name}|{name}(?:: .+)?) ?[=(:]"
        assert re.search(defined, place_of(path).read_text(encoding="utf-8"), re.M), f"{name} is not in {path}"


def place_of(path: str) -> Path:
    """A file of the repository, or below ralphy/."""
    return ROOT / path if (ROOT / path).exists() else ROOT / "ralphy" / path


@pytest.fixture
def nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Command lines are read as ever, but no command does anything."""
    context = click.Context(cli, info_name="ralphy")
    found = [bare, *(cli.get_command(context, name) for name in COMMANDS)]
    for command in found:
        assert command
        inner = list(command.commands.values()) if isinstance(command, click.Group) else []
        for one in (command, *inner):
            monkeypatch.setattr(one, "callback", lambda **_: 0)


@pytest.mark.usefixtures("nothing_runs")
def test_every_command_in_a_document_is_one_that_ralphy_takes() -> None:
    wrong = []
    for call in typed("ralphy"):
        try:
            cli.main(list(call.words), prog_name="ralphy", standalone_mode=False)
        except click.UsageError as error:
            if call.is_example or not isinstance(error, click.MissingParameter):
                wrong.append(f"{name_of(call)}: {error.format_message()}")
    assert wrong == []


def makefile_targets() -> set[str]:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z-]+):.*?##", text, re.M))


def repository_targets() -> set[str]:
    """What `.ralphy/ralphy.mk` brings into somebody's repository."""
    text = (ROOT / "templates" / "ralphy.mk").read_text(encoding="utf-8")
    found = re.search(r"^RALPHY_TARGETS \?= (.+)$", text, re.M)
    assert found
    return {*found[1].split(), "ralphy-help"}


def test_every_make_target_in_a_document_exists() -> None:
    makefiles = [path.read_text(encoding="utf-8") for path in (ROOT / "Makefile", ROOT / "templates" / "ralphy.mk")]
    known = makefile_targets() | repository_targets()
    for call in typed("make"):
        for word in call.words:
            if setting := _ASSIGNMENT.fullmatch(word):
                assert any(re.search(rf"^{setting[1]} \??=", text, re.M) for text in makefiles), name_of(call)
            elif not word.startswith("-"):
                assert word in known or re.fullmatch(r"docs/features/[\w-]+/(SPEC|QA_REPORT)\.md", word), name_of(call)


def section(path: Path, heading: str) -> str:
    """What stands below a heading of the second level; a line in a block is no heading."""
    text = path.read_text(encoding="utf-8")
    plain = _FENCE.sub(lambda block: "." * len(block[0]), text)
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", plain, re.M | re.S)
    assert found, f"{shown(path)} has no {heading}"
    return text[found.start(1) : found.end(1)]


def test_the_readme_is_one_screen_and_a_half_and_leads_to_the_rest() -> None:
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 105
    for page in ("reference/cli.md", "reference/exit-codes.md", "troubleshooting.md", "tutorial.md", "index.md"):
        assert f"](docs/{page})" in text
    assert "make test" in text and "make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_what_the_readme_says_in_short_is_what_the_page_says_at_length() -> None:
    short = [line for block in blocks(section(README, STEPS)) for line in block.splitlines()]
    long = "\n".join(blocks((ROOT / "docs" / "howto" / "your-repository.md").read_text(encoding="utf-8")))
    missing = [line for line in short if line.partition("  #")[0].strip() not in long and not line.startswith("#")]
    assert missing == []


def test_contributors_are_told_of_every_make_target_and_people_of_every_one_of_a_repository() -> None:
    listed = re.findall(r"^\| `make ([a-z-]+)` \|", section(ROOT / "CONTRIBUTING.md", "Make targets"), re.M)
    assert set(listed) == makefile_targets() - {"help", "setup"}
    listed = re.findall(r"^\| `make ([a-z-]+)[ `]", section(ROOT / "docs" / "make.md", "Targets"), re.M)
    assert set(listed) == repository_targets()


PROMISES = [ROOT / "docs" / name for name in ("reliability.md", "security.md", "verification.md", "proof.md")]


def promises() -> list[tuple[str, list[str]]]:
    """(page and heading, the tests that prove it) of every promise that ends with "Proved by"."""
    found = []
    for path in PROMISES:
        for heading, body in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", path.read_text(encoding="utf-8"), re.M | re.S):
            _, proved, tests = body.partition("Proved by:")
            if proved:
                found.append((f"{path.name}: {heading}", re.findall(r"`(tests/[\w/]+\.py::test_\w+)`", tests)))
    return found


def test_every_promise_names_tests_that_there_are_and_the_page_of_promises_proves_each() -> None:
    for promise, tests in promises():
        assert tests, promise
        for name in tests:
            path, _, function = name.partition("::")
            assert re.search(rf"^def {function}\(", (ROOT / path).read_text(encoding="utf-8"), re.M), name
    headings = re.findall(r"^## (.+)$", PROMISES[0].read_text(encoding="utf-8"), re.M)
    assert [f"reliability.md: {heading}" for heading in headings] == [
        name for name, _ in promises() if name.startswith("reliability")
    ]


def test_the_changelog_begins_with_this_version_or_with_what_is_unreleased() -> None:
    newest = re.search(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert newest and newest[1] in ("Unreleased", __version__)


GREET_TEST = """\
import unittest

from greet import greet


class GreetTest(unittest.TestCase):
    def test_it_says_the_name(self) -> None:
        self.assertEqual(greet("Ada"), "Hello, Ada!")
"""


@pytest.fixture
def my_app(tmp_path: Path) -> Path:
    """The repository of the README's steps: a small project whose tests are quick."""
    repo = tmp_path / "my-app"
    (repo / "tests").mkdir(parents=True)
    (repo / "greet.py").write_text('def greet(name: str) -> str:\n    return f"Hello, {name}!"\n', encoding="utf-8")
    (repo / "tests" / "__init__.py").touch()
    (repo / "tests" / "test_greet.py").write_text(GREET_TEST, encoding="utf-8")
    for words in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "feat: begin")):
        subprocess.run(["git", *words], cwd=repo, check=True)
    return repo


def typed_in(folder: Path, commands: list[str]) -> subprocess.CompletedProcess[str]:
    """A shell in the folder, in which somebody types these blocks, the rehearsal agent at hand."""
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(commands)],
        cwd=folder, env=shell(RALPHY_AGENT_COMMAND="ralphy-rehearsal"), stdin=subprocess.DEVNULL,
        capture_output=True, encoding="utf-8", check=False, timeout=300,
    )  # fmt: skip


def test_the_tutorial_goes_as_it_says(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    done = typed_in(tmp_path, list(blocks(text)))
    assert done.returncode == 0, done.stdout + done.stderr
    promised = [
        line.strip() for language, body in _FENCE.findall(text) if language == "text" for line in body.splitlines()
    ]
    assert [line for line in promised if line not in done.stdout + done.stderr] == []


def test_what_the_readme_tells_people_to_type_works_as_written(my_app: Path) -> None:
    parts = [(README, STEPS), (ROOT / "docs" / "git.md", "Reverting a story"),
             (ROOT / "docs" / "troubleshooting.md", "When something goes wrong")]  # fmt: skip
    done = typed_in(my_app.parent, [block for path, heading in parts for block in blocks(section(path, heading))])
    assert done.returncode == 0, done.stdout + done.stderr
    waited = re.findall(r"(\S+) is ready for review", done.stderr)
    assert waited == ["SPEC.md", "QA_REPORT.md"]
    assert done.stderr.count("verified and committed US-002") == 2
    assert "3 of 3 stories completed" in done.stdout
