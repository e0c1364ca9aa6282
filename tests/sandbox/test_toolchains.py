"""Real tools in the open sandbox build something with a dependency, from an empty cache, over the network.

A tool that is not installed here, or whose registry cannot be reached, skips its test. All have a home of their own.
"""

from __future__ import annotations

import os
import shutil
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ralphy.sandbox.bubblewrap import interpreter
from tests.conftest import RunGit
from tests.sandbox.inside import Box, Boxes, everything_in

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]

UV = Path(__file__).parents[2] / ".cache" / "uv" / "bin" / "uv"
POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
  <groupId>org.example</groupId><artifactId>toy</artifactId><version>1</version>
  <properties><maven.compiler.source>11</maven.compiler.source><maven.compiler.target>11</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
  <dependencies><dependency><groupId>org.apache.commons</groupId><artifactId>commons-lang3</artifactId>
    <version>3.14.0</version></dependency></dependencies></project>
"""
JAVA = """\
public class Toy {
  public static void main(String[] words) {
    System.out.println(org.apache.commons.lang3.StringUtils.capitalize("works"));
  }
}
"""
CARGO = '[package]\nname = "toy"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nitoa = "1"\nryu = "1"\n'
RUST = 'fn main() { println!("{}", itoa::Buffer::new().format(42)); }\n'
GO = 'package main\n\nimport ("fmt"; "github.com/google/uuid")\n\nfunc main() { fmt.Println(uuid.Nil.String()) }\n'


@dataclass(frozen=True, slots=True)
class Tool:
    """Files of a toy project, the line that builds and runs it, and what it says then.

    `cache` is where the person would have the downloads ("" for pip, which keeps some if the registry allows it);
    `refused` is a line that would change what a person has.
    """

    program: str
    registry: str
    files: Mapping[str, str]
    line: str
    says: str
    cache: str
    refused: str = ""
    env: Mapping[str, str] = field(default_factory=dict)


TOOLS = {
    "pip": Tool("pip", "pypi.org", {"pyproject.toml": "[project]\nname = 'toy'\nversion = '1'\n"
                                    "dependencies = ['six']\n[tool.setuptools]\npy-modules = ['toy']\n", "toy.py": ""},
                f"{interpreter()} -m venv .venv && .venv/bin/pip install -q -e . && .venv/bin/python -c "
                "'import six; print(six.__name__)'", "six", "", env={"PIP_FIND_LINKS": ""}),
    "uv": Tool(str(UV), "pypi.org", {"pyproject.toml": "[project]\nname = 'toy'\nversion = '1'\n"
                                     "requires-python = '>=3.9'\ndependencies = ['six']\n"},
               f"{UV} sync -q --no-install-project && {UV} run --no-sync python -c 'import six; print(six.__name__)'",
               "six", ".cache/uv", refused=f"{UV} tool install pycowsay"),
    "npm": Tool("npm", "registry.npmjs.org",
                {"package.json": '{"name": "toy", "dependencies": {"is-number": "7.0.0"}}'},
                "npm install --no-fund --no-audit && node -p 'require(\"is-number\")(7)'", "true", ".npm",
                refused="npm install -g --prefix ~/.local is-number"),
    "cargo": Tool("cargo", "index.crates.io", {"Cargo.toml": CARGO, "src/main.rs": RUST}, "cargo run -q", "42",
                  ".cargo/registry", refused="cargo install --path .", env={"RUSTUP_HOME": os.environ.get(
                      "RUSTUP_HOME", str(Path(os.environ.get("HOME", "/"), ".rustup")))}),
    "go": Tool("go", "proxy.golang.org", {"go.mod": "module toy\n\ngo 1.20\n", "main.go": GO},
               "go mod tidy && go run .", "00000000-0000-0000-0000-000000000000", "go/pkg/mod",
               refused="go install golang.org/x/example/hello@latest", env={"GOFLAGS": "-buildvcs=false"}),
    "mvn": Tool("mvn", "repo.maven.apache.org", {"pom.xml": POM, "src/main/java/Toy.java": JAVA},
                "mvn -q -B -Duser.home=$HOME package dependency:copy-dependencies"
                " && java -cp 'target/*:target/dependency/*' Toy", "Works", ".m2/repository"),
}  # fmt: skip


@pytest.fixture(params=TOOLS)
def tool(request: pytest.FixtureRequest) -> Tool:
    found = TOOLS[request.param]
    if not shutil.which(found.program):
        pytest.skip(f"{found.program} is not installed")
    try:
        socket.create_connection((found.registry, 443), 20).close()
    except OSError as error:
        pytest.skip(f"{found.registry} cannot be reached: {error}")
    return found


def laid_out(repo: Path, git: RunGit, tool: Tool) -> None:
    for name, text in tool.files.items():
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(text)
    git("add", "-A")
    git("commit", "-qm", "a project")


def built(box: Box, tool: Tool) -> tuple[int, str]:
    """(exit code, what it says when it works, else all that it said)."""
    code, said = box.runs("sh", "-c", tool.line, env={**os.environ, **tool.env}, timeout_s=600)
    return code, tool.says if tool.says in said else said


def test_a_project_with_a_dependency_is_built(
    tool: Tool, boxes: Boxes, git: RunGit, git_repo: Path, private_home: Path
) -> None:
    laid_out(git_repo, git, tool)
    box = boxes("open")
    before = everything_in(private_home)
    assert built(box, tool) == (0, tool.says)
    assert everything_in(private_home) == before
    if tool.cache:
        assert list((boxes.caches / tool.cache).iterdir()), "kept for the next night"
    if tool.refused:
        code, said = box.runs("sh", "-c", tool.refused, env={**os.environ, **tool.env}, timeout_s=600)
        assert code, said
    assert everything_in(private_home) == before


def test_two_lanes_at_once_fill_an_empty_cache(tool: Tool, boxes: Boxes, git: RunGit, git_repo: Path) -> None:
    laid_out(git_repo, git, tool)
    found: dict[int, tuple[int, str]] = {}
    lanes = [boxes("open", slot=slot) for slot in (1, 2)]

    def build(slot: int) -> None:
        found[slot] = built(lanes[slot], tool)

    threads = [threading.Thread(target=build, args=(slot,)) for slot in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == dict.fromkeys((0, 1), (0, tool.says))
