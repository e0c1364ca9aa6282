"""What Ralphy writes into a repository: everything that is missing, over nothing that is there."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from ralphy.cli.commands import COMMANDS
from ralphy.config import load as settings
from ralphy.config.values import Check, Config
from ralphy.detect.stack import StackReport
from ralphy.documents.feature_folder import IGNORE_TEXT, NAME
from ralphy.errors import Conflict, InvalidInput
from ralphy.pipeline.steps.table import steps
from ralphy.prompts.render import render
from ralphy.resources import schema, template_root
from ralphy.scaffold.writer import (
    INCLUDE_LINE,
    FileAction,
    apply,
    init_prompts,
    new_feature,
    plan,
    prd_text,
    slug,
    to_do_first,
)
from tests.conftest import RunGit, program

STEP_PROMPTS = [f"{step.name}.md.j2" for step in steps()]
CHECKS = (Check("test", "pytest -q"), Check("lint", 'ruff check "a b"', 60.5))
MADE = [
    ".ralphy/.gitignore", ".ralphy/config.yaml", ".ralphy/ralphy.mk", ".ralphy/schemas/config.schema.json",
    ".ralphy/schemas/prd.schema.json", "Makefile",
]  # fmt: skip


def a_stack(language: str = "", checks: tuple[Check, ...] = (), setup: str = "") -> StackReport:
    return StackReport(language, None, None, checks, (), setup)


def files(root: Path) -> dict[str, bytes]:
    """Every file below a folder, by its path."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def set_up(root: Path) -> list[str]:
    return apply(plan(root, a_stack("python", CHECKS)))


def make(folder: Path, name: str, description: str) -> Path:
    return new_feature(folder, name, "PRD.md", prd_text(description))


def action_of(root: Path, path: str) -> FileAction:
    return next(file.action for file in plan(root, a_stack()) if file.path == path)


def test_the_settings_fit_the_schema_that_lies_beside_them(tmp_path: Path) -> None:
    """In a bare folder; they load without a warning and say what was found."""
    said = set_up(tmp_path)
    assert sorted(files(tmp_path)) == MADE
    assert said[0] == "created .ralphy/config.yaml: the settings; checks found: test, lint"
    assert (tmp_path / ".ralphy/ralphy.mk").read_bytes() == (template_root() / "ralphy.mk").read_bytes()

    loaded = settings.load(tmp_path, None, env={"HOME": str(tmp_path / "home")})
    assert loaded.warnings == ()
    assert loaded.config.checks == CHECKS
    assert loaded.config.stack.language == "python" and loaded.config.stack.test_command == "pytest -q"
    assert loaded.config.project.name == tmp_path.name

    text = (tmp_path / ".ralphy/config.yaml").read_text(encoding="utf-8")
    assert text.startswith("# yaml-language-server: $schema=./schemas/config.schema.json\n")
    beside = json.loads((tmp_path / ".ralphy/schemas/config.schema.json").read_text(encoding="utf-8"))
    assert beside == schema("config")
    Draft202012Validator(beside).validate(yaml.safe_load(text))


def test_what_is_there_is_kept_byte_for_byte(tmp_path: Path) -> None:
    (tmp_path / ".ralphy").mkdir()
    (tmp_path / ".ralphy/config.yaml").write_bytes(b"# mine\r\n")
    (tmp_path / ".ralphy/ralphy.mk").write_bytes(b"")
    said = set_up(tmp_path)
    assert (tmp_path / ".ralphy/config.yaml").read_bytes() == b"# mine\r\n"
    assert (tmp_path / ".ralphy/ralphy.mk").read_bytes() == b""
    assert "kept .ralphy/config.yaml: it already exists" in said


def test_a_file_that_appears_after_the_plan_is_kept(tmp_path: Path) -> None:
    planned = plan(tmp_path, a_stack())
    (tmp_path / "Makefile").write_text("all: ; true\n", encoding="utf-8")
    assert apply(planned)[-1] == "kept Makefile: it already exists"
    assert (tmp_path / "Makefile").read_text(encoding="utf-8") == "all: ; true\n"


def test_the_setup_of_the_stack_and_the_features_folder_are_written_and_load(tmp_path: Path) -> None:
    checks = (Check("test", "meson test -C build"),)
    apply(plan(tmp_path, a_stack("cpp", checks, "meson setup build"), "specs/features"))
    loaded = settings.load(tmp_path, None, env={"HOME": str(tmp_path / "home")})
    assert (loaded.config.setup, loaded.warnings) == ("meson setup build", ())
    assert "features_dir: specs/features" in (tmp_path / ".ralphy/config.yaml").read_text(encoding="utf-8")
    assert "FEATURES_DIR ?= specs/features\n" in (tmp_path / ".ralphy/ralphy.mk").read_text(encoding="utf-8")


def test_the_commented_settings_are_the_defaults(tmp_path: Path) -> None:
    apply(plan(tmp_path, a_stack()))
    path = tmp_path / ".ralphy/config.yaml"
    written = path.read_text(encoding="utf-8")
    assert max(map(len, written.splitlines())) < 120
    shown = re.sub(r"^# (?=\w+: [\[{\"]|  \w+: )", "", written, flags=re.M)
    path.write_text(re.sub(r"^(stack|project): .*$", "", shown, flags=re.M), encoding="utf-8")
    loaded = settings.load(tmp_path, None, env={"HOME": str(tmp_path / "home")})
    assert loaded.config == Config()
    assert {name.split(".")[0] for name, place in loaded.sources.items() if place != "default"} >= {
        "agent", "models", "timeouts", "circuit_breaker", "limits", "gates", "safety", "git", "pr",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["my app", "yes", "1.0", "a: b", "ünï", 'q"uote', "#x", "~"])
def test_a_folder_of_any_name_gives_valid_settings(name: str, tmp_path: Path) -> None:
    root = tmp_path / name
    root.mkdir()
    apply(plan(root, a_stack()))
    assert yaml.safe_load((root / ".ralphy/config.yaml").read_text(encoding="utf-8"))["project"]["name"] == name


def test_the_workflow_of_pull_requests_is_written_where_asked_for_and_calls_what_is_there(tmp_path: Path) -> None:
    path = ".github/workflows/prove.yml"
    assert path not in [file.path for file in plan(tmp_path, a_stack())]
    apply(plan(tmp_path, a_stack(), with_ci=True))

    job = yaml.safe_load((tmp_path / path).read_text(encoding="utf-8"))["jobs"]["prove"]
    calls = [shlex.split(step["run"])[1:] for step in job["steps"] if step.get("run", "").startswith("ralphy ")]
    assert [call[0] for call in calls] == ["trust", "prove"]
    for name, *words in calls:
        module, _ = COMMANDS[name]
        known = getattr(import_module(f"ralphy.cli.{module}"), name).params
        assert {word for word in words if word.startswith("-")} <= {option for one in known for option in one.opts}


@pytest.mark.parametrize(
    ("noted", "source"),
    [
        ({"url": "https://example.com/a/ralphy", "vcs_info": {"vcs": "git", "commit_id": "a" * 40}},
         f"git+https://example.com/a/ralphy@{'a' * 40}"),
        ({"url": "file:///home/me/ralphy", "dir_info": {"editable": True}}, ""),
        ({"url": "file:///home/me/ralphy", "vcs_info": {"vcs": "git", "commit_id": "a" * 40}}, ""),
        (None, ""),
    ],
)  # fmt: skip
def test_the_workflows_install_the_ralphy_that_wrote_them_or_say_that_none_is_named(
    noted: dict[str, Any] | None, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    info = site / "ralphy_pipeline-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ralphy-pipeline\nVersion: 1\n", encoding="utf-8")
    if noted:
        (info / "direct_url.json").write_text(json.dumps(noted), encoding="utf-8")
    monkeypatch.syspath_prepend(str(site))
    root = tmp_path / "root"
    root.mkdir()
    planned = plan(root, a_stack(), with_ci=True)
    apply(planned)

    texts = [(root / ".github/workflows" / name).read_text(encoding="utf-8") for name in ("prove.yml", "ralphy.yml")]
    assert [yaml.safe_load(text)["env"]["RALPHY_SOURCE"] for text in texts] == [source, source]
    assert any("set RALPHY_SOURCE" in step for step in to_do_first(planned)) == (not source)
    action = yaml.safe_load((root / ".github/actions/ralphy/action.yml").read_text(encoding="utf-8"))["runs"]
    steps = [*yaml.safe_load(texts[0])["jobs"]["prove"]["steps"], *action["steps"]]
    scripts = [step["run"] for step in steps if "pip install" in step.get("run", "")]
    program(tmp_path / "pip", 'echo "$@"\nexit 1')
    for script in scripts:
        env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "RALPHY_SOURCE": source}
        done = subprocess.run(["bash", "-e", "-c", script], env=env, capture_output=True, text=True, check=False)
        assert done.returncode != 0 and (source in done.stdout if source else "RALPHY_SOURCE" in done.stderr)
    assert len(scripts) == 2


@pytest.mark.parametrize("text", ["all: ; true\n", "all: ; true", "all: ; true\nX = a \\", ""])
def test_a_makefile_gets_one_line_at_its_end(text: str, tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text(text, encoding="utf-8")
    assert set_up(tmp_path)[-1].startswith("added to Makefile")
    after = (tmp_path / "Makefile").read_text(encoding="utf-8")
    assert after.startswith(text) and after.endswith(f"\n{INCLUDE_LINE}\n")
    shown = subprocess.run(["make", "-n", "loop"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert shown.stdout.startswith("ralphy loop")
    assert action_of(tmp_path, "Makefile") is FileAction.KEEP


@pytest.mark.parametrize("name", ["GNUmakefile", "makefile"])
def test_the_makefile_that_make_reads_is_the_one_that_is_changed(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("all: ; true\n", encoding="utf-8")
    set_up(tmp_path)
    assert INCLUDE_LINE in (tmp_path / name).read_text(encoding="utf-8")
    assert not (tmp_path / "Makefile").exists()


@pytest.mark.parametrize("rule", ["loop: ; true", "loop::\n\ttrue", "a loop b : x", ".PHONY: loop\nloop:"])
def test_a_makefile_with_a_loop_of_its_own_is_left_alone(rule: str, tmp_path: Path) -> None:
    for line in ("loop := 1", "# loop: x", "\tloop: x", "loops: ; true", "x: loop"):  # it is only mentioned
        (tmp_path / "Makefile").write_text(f"all:\n{line}\n", encoding="utf-8")
        assert action_of(tmp_path, "Makefile") is FileAction.APPEND
    (tmp_path / "Makefile").write_text(f"{rule}\n", encoding="utf-8")
    planned = plan(tmp_path, a_stack(checks=CHECKS))
    assert apply(planned)[-1] == "kept Makefile: it has its own target `loop`"
    assert (tmp_path / "Makefile").read_text(encoding="utf-8") == f"{rule}\n"
    assert f"for `make loop`, add this line to Makefile: {INCLUDE_LINE}" in to_do_first(planned)


def test_targets_that_the_makefile_has_stay_its_own(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("status: ; @echo mine\n", encoding="utf-8")
    set_up(tmp_path)
    done = subprocess.run(["make", "status"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("mine\n", "")
    shown = subprocess.run(["make", "-n", "why"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert shown.stdout.startswith("ralphy why ||")


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    root, outside = tmp_path / "repo", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / ".ralphy").symlink_to(outside)
    with pytest.raises(Conflict, match="through a symlink"):
        set_up(root)
    assert files(outside) == {}
    (root / ".ralphy").unlink()
    (tmp_path / "theirs.mk").write_text("all:\n", encoding="utf-8")
    (root / "Makefile").symlink_to(tmp_path / "theirs.mk")
    assert set_up(root)[-1] == "kept Makefile: it is not a plain file"
    assert (tmp_path / "theirs.mk").read_text(encoding="utf-8") == "all:\n"


def test_a_check_is_asked_for_only_where_none_was_found(tmp_path: Path) -> None:
    assert any("at least one check" in step for step in to_do_first(plan(tmp_path, a_stack())))
    with_checks = to_do_first(plan(tmp_path, a_stack(checks=CHECKS)))
    assert not any("at least one check" in step for step in with_checks)
    assert any("look at `checks:`" in step for step in with_checks)


def test_git_keeps_the_settings_and_not_what_runs_leave(git_repo: Path, git: RunGit) -> None:
    set_up(git_repo)
    init_prompts(git_repo)
    for name in ("streams/r1.ndjson", "written.json", "secrets-allow"):
        (git_repo / ".ralphy" / name).parent.mkdir(exist_ok=True)
        (git_repo / ".ralphy" / name).write_text("x", encoding="utf-8")
    seen = set(git("status", "--porcelain", "--untracked-files=all").replace("?? ", "").splitlines())
    assert seen == {*MADE, ".ralphy/secrets-allow", *(f".ralphy/prompts/{name}" for name in STEP_PROMPTS)}


def test_copied_prompts_work_as_they_are_and_are_the_ones_used(tmp_path: Path) -> None:
    said = init_prompts(tmp_path)
    folder = tmp_path / ".ralphy/prompts"
    assert sorted(path.name for path in folder.iterdir()) == sorted(STEP_PROMPTS)
    assert len(said) == len(STEP_PROMPTS)
    for name in STEP_PROMPTS:
        step = name.split(".")[0]
        given = {"feature": "login", "outbox": "/o", "nonce": "0123456789abcdef"}
        mine, built_in = render(step, given, [folder]), render(step, given, [])
        assert mine.warnings == () and mine.template == str(folder / name)
        assert mine.text == built_in.text
        assert "TO CUSTOMISE" in (folder / name).read_text(encoding="utf-8")


def test_an_edited_prompt_is_kept_unless_it_is_to_be_overwritten(tmp_path: Path) -> None:
    init_prompts(tmp_path)
    path = tmp_path / ".ralphy/prompts/qa.md.j2"
    built_in = path.read_bytes()
    path.write_bytes(b"mine")
    assert "kept .ralphy/prompts/qa.md.j2: it already exists" in init_prompts(tmp_path)
    assert path.read_bytes() == b"mine"
    messages = init_prompts(tmp_path, force=True)
    assert [message for message in messages if not message.endswith("already up to date")] == [
        "replaced .ralphy/prompts/qa.md.j2: edit or delete it"]  # fmt: skip
    assert path.read_bytes() == built_in


def test_a_description_becomes_a_feature_and_stands_whole_under_a_short_title(tmp_path: Path) -> None:
    feature = make(tmp_path / "docs/features", "oauth2", "add user authentication with OAuth2.")
    assert feature == tmp_path / "docs/features/oauth2"
    assert sorted(files(feature)) == [".gitattributes", ".gitignore", "PRD.md"]
    prd = (feature / "PRD.md").read_text(encoding="utf-8")
    assert prd.startswith("# Add user authentication with OAuth2\n\n## Objective\n\nadd user authentication")
    assert (feature / ".gitattributes").read_text(encoding="utf-8") == "progress.txt merge=union\n"
    description = "word " * 40 + "\n\nMore \x1b[31mof it."
    prd = (make(tmp_path, "long", description) / "PRD.md").read_text(encoding="utf-8")
    title = prd.split("\n", 1)[0]
    assert len(title) <= 75 and title.endswith("…")
    assert "word " * 39 in prd and "More  [31mof it." in prd


def test_a_feature_that_exists_is_not_made_again_and_a_name_that_is_none_makes_nothing(tmp_path: Path) -> None:
    (tmp_path / "login").mkdir()
    (tmp_path / "login/PRD.md").write_text("# Mine", encoding="utf-8")
    with pytest.raises(Conflict, match="already exists"):
        make(tmp_path, "login", "x")
    for name in ("", "../x", "-x", "a b", "a/b", "é", "x\n", "."):
        with pytest.raises(InvalidInput, match="is not a feature name"):
            make(tmp_path, name, "x")
    assert files(tmp_path) == {"login/PRD.md": b"# Mine"}


def test_git_ignores_the_markers_and_the_private_folder_of_a_feature(git_repo: Path, git: RunGit) -> None:
    feature = make(git_repo / "docs/features", "login", "log in")
    assert (feature / ".gitignore").read_text(encoding="utf-8") == IGNORE_TEXT
    for name in ("APPROVED", "TASKS.md", "stories/APPROVED", ".ralphy/config.yaml", ".ralphy/r1/stream", ".ralphy/x"):
        (feature / name).parent.mkdir(parents=True, exist_ok=True)
        (feature / name).write_text("x", encoding="utf-8")
    init = feature / ".ralphy/prompts"
    init.mkdir()
    (init / "qa.md").write_text("x", encoding="utf-8")
    shown = git("status", "--porcelain", "--untracked-files=all", "docs").splitlines()
    assert {line.removeprefix("?? docs/features/login/") for line in shown} == {
        ".gitattributes", ".gitignore", "PRD.md", "stories/APPROVED", ".ralphy/config.yaml", ".ralphy/prompts/qa.md",
    }  # fmt: skip


NAMES = {
    "Add user authentication with OAuth2": "add-user-authentication-with-oauth2",
    "Implement dark mode toggle": "implement-dark-mode-toggle",
    "Don’t lose the user's cart!": "dont-lose-the-users-cart",
    "Größere Übersicht für Çelik & Søren": "grossere-ubersicht-fur-celik-soren",
    "--force ../../etc": "force-etc",
    "one two three four five six seven eight nine ten": "one-two-three-four-five-six-seven-eight",
    "x" * 90: "x" * 40,
}


def test_a_description_gives_a_readable_name() -> None:
    assert {description: slug(description) for description in NAMES} == NAMES


@given(st.text())
def test_any_description_gives_a_valid_name(description: str) -> None:
    assert NAME.match(slug(description)) and len(slug(description)) <= 40
