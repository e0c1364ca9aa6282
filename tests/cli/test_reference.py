"""The committed reference pages are what the code says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ralphy.adapters.config_fields import all_fields
from ralphy.adapters.settings import load
from ralphy.cli.reference import render_config_reference, render_exit_codes
from ralphy.core.errors import EXIT_MEANINGS, ExitCode

ROOT = Path(__file__).parents[2]
SCHEMA: dict[str, Any] = json.loads((ROOT / "schemas" / "config.schema.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("page", "rendered"),
    [("config.md", render_config_reference(SCHEMA)), ("exit-codes.md", render_exit_codes())],
    ids=["config", "exit-codes"],
)
def test_the_committed_page_is_the_generated_one(page: str, rendered: str) -> None:
    committed = (ROOT / "docs" / "reference" / page).read_text(encoding="utf-8")
    assert committed == rendered, f"docs/reference/{page} is out of date: run `make docs`"


def test_every_setting_is_on_the_page() -> None:
    page = render_config_reference(SCHEMA)
    assert [name for name in all_fields() if f"| `{name}` |" not in page] == []


def test_the_example_on_the_page_is_a_configuration_that_loads(tmp_path: Path) -> None:
    example = render_config_reference(SCHEMA).split("```yaml\n")[1].split("```")[0]
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
