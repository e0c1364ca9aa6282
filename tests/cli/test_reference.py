"""The committed reference pages are what the code says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click
import yaml

from ralphy.cli.commands import COMMANDS
from ralphy.cli.examples import EXAMPLES, same_as
from ralphy.cli.main import cli
from ralphy.config.fields import all_fields
from ralphy.config.load import load
from ralphy.documents.prd_reader import check_prd
from ralphy.errors import EXIT_MEANINGS, ExitCode
from tests.cli.reference_pages import pages, render_cli_reference, render_config_reference, render_exit_codes

ROOT = Path(__file__).parents[2]
SCHEMA: dict[str, Any] = json.loads((ROOT / "schemas" / "config.schema.json").read_text(encoding="utf-8"))
PRD_SCHEMA: dict[str, Any] = json.loads((ROOT / "schemas" / "prd.schema.json").read_text(encoding="utf-8"))


def test_the_committed_page_is_the_generated_one() -> None:
    for page, text in pages().items():
        committed = (ROOT / "docs" / "reference" / page).read_text(encoding="utf-8")
        assert committed == text, f"docs/reference/{page} is out of date: run `make docs`"


def test_every_setting_is_on_the_page_and_its_example_is_a_configuration_that_loads(tmp_path: Path) -> None:
    page = render_config_reference(SCHEMA)
    assert [name for name in all_fields() if f"| `{name}` |" not in page] == []
    example = page.split("```yaml\n")[1].split("```")[0]
    (tmp_path / ".ralphy").mkdir()
    (tmp_path / ".ralphy" / "config.yaml").write_text(example, encoding="utf-8")
    settings = load(tmp_path, None, env={})
    assert settings.warnings == ()
    assert settings.config.limits.until == yaml.safe_load(example)["limits"]["until"]
    assert "default" not in settings.sources.values()


def test_every_exit_code_has_a_meaning_on_the_page() -> None:
    codes = {value for name, value in vars(ExitCode).items() if name.isupper()}
    assert codes == set(EXIT_MEANINGS)
    assert all(f"| {code} | " in render_exit_codes() for code in codes)


def commands() -> dict[str, click.Command]:
    """Every command by what is typed, subcommands too."""
    found: dict[str, click.Command] = {}
    context = click.Context(cli, info_name="ralphy")
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command
        found[name] = command
        if isinstance(command, click.Group):
            found |= {f"{name} {inner}": one for inner, one in command.commands.items()}
    return found


def test_every_command_says_what_it_does_and_shows_how() -> None:
    """On its page, too, with all its options; each takes those that stand everywhere."""
    page = render_cli_reference()
    everywhere = page.split("## On every command")[1].split("\n## ")[0]
    for words, command in commands().items():
        names = [name for p in command.params if isinstance(p, click.Option) for name in p.opts]
        assert command.help, words
        assert all(p.help for p in command.params if isinstance(p, click.Option)), words
        if not isinstance(command, click.Group):
            assert {*names} >= {"-C", "--json", "-q", "-v", "--no-progress", "--color"}, words
            assert f"Examples:\n  ralphy {same_as(words)}" in (command.epilog or ""), words
        if not words.startswith("tasks"):
            section = re.split(rf"^###? ralphy {words}$", page, maxsplit=1, flags=re.M)[1].split("\n#")[0]
            assert [name for name in names if f"`{name}`" not in section + everywhere] == [], words
    assert EXAMPLES.keys() <= commands().keys()


def test_the_page_of_prd_json_has_every_field_links_that_lead_somewhere_and_a_valid_example() -> None:
    page = pages()["prd.md"]
    for node in (PRD_SCHEMA, *PRD_SCHEMA["$defs"].values()):
        missing = [name for name in node.get("properties", {}) if f"| `{name}`" not in page]
        assert missing == []
    assert "| `testing.removes` |" in page
    anchors = {line.strip("# ").lower().replace(" ", "-") for line in page.splitlines() if line.startswith("#")}
    assert set(re.findall(r"\(#([a-z-]+)\)", page)) <= anchors
    check_prd(page.split("```json\n")[1].split("```")[0].encode(), "the example")
