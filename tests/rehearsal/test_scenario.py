"""Finding, checking and choosing: which turn is played, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ralphy.errors import InvalidInput
from ralphy.rehearsal.scenario import check_scenario
from tests.rehearsal.conftest import ROOT, Rehearse

SCHEMA = json.loads((ROOT / "schemas" / "rehearsal.schema.json").read_text())
BAD: list[tuple[dict[str, Any], str]] = [
    ({"storys": {}}, "'storys' was unexpected"),
    (
        {"spec": [{"wrte": {"a": "b"}}]},
        "scenario: spec[0]: Additional properties are not allowed ('wrte' was unexpected)",
    ),
    ({"qa": [{"kill": "SIGNOPE"}]}, "qa[0].kill: 'SIGNOPE' is not one of ['SIGKILL'"),
    ({"qa": [{"run": " "}]}, "qa[0].run: "),
    ({"qa": [{"error": "bad luck"}]}, "qa[0].error: 'bad luck' is not one of ['overloaded'"),
]


@pytest.mark.parametrize(("scenario", "words"), BAD)
def test_a_bad_scenario_is_refused_with_its_place(scenario: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_scenario(scenario, "scenario")
    assert words in str(refused.value)


def test_the_page_for_users_names_every_key() -> None:
    page = (ROOT / "docs" / "rehearsal.md").read_text()
    assert [key for key in SCHEMA["$defs"]["turn"]["properties"] if f"| `{key}` |" not in page] == []


def test_the_examples_of_the_page_are_valid() -> None:
    page = (ROOT / "docs" / "rehearsal.md").read_text()
    examples = [part.split("```")[0] for part in page.split("```yaml\n")[1:]]
    assert examples
    for example in examples:
        check_scenario(yaml.safe_load(example), "example")


def test_a_missing_or_broken_scenario_is_a_usage_error(rehearse: Rehearse, tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("spec: [")
    for path in (tmp_path / "nowhere.json", broken):
        rehearse.env["RALPHY_REHEARSAL"] = str(path)
        played = rehearse()
        assert (played.code, played.stdout) == (1, b"")
        assert f"{path}: cannot be read" in played.stderr


@pytest.mark.parametrize(("number", "said", "code"), [(1, "one", 0), (2, "", 3), (3, "three", 0), (4, "three", 0)])
def test_the_nth_run_takes_the_nth_turn_and_the_last_one_again(
    rehearse: Rehearse, number: int, said: str, code: int
) -> None:
    path = rehearse.scenario({"stories": {"US-001": [{"say": "one"}, {"crash": 3}, {"say": "three"}]}})
    rehearse.env |= {"RALPHY_REHEARSAL": str(path), "RALPHY_RUN_NUMBER": str(number)}
    played = rehearse()
    assert played.code == code
    assert code or played.text.split("\n")[0] == said


def test_by_hand_the_prompts_first_line_has_the_number_of_the_run(rehearse: Rehearse) -> None:
    path = rehearse.scenario({"stories": {"*": [{"say": "one"}, {"say": "two"}]}})
    rehearse.env["RALPHY_REHEARSAL"] = str(path)
    assert rehearse(prompt="<!-- ralphy number=2 -->\nDo it.").text.startswith("two")


def test_a_step_that_is_not_named_plays_the_default(rehearse: Rehearse) -> None:
    rehearse.env["RALPHY_REHEARSAL"] = str(rehearse.scenario({"qa": {"say": "x"}}))
    rehearse()
    assert (rehearse.cwd / "rehearsal" / "us_001.py").exists()


def test_a_turn_can_start_from_the_default(rehearse: Rehearse) -> None:
    played = rehearse({"default": True, "say": "My own words.", "cost_usd": 3})
    assert (rehearse.cwd / "rehearsal" / "us_001.py").exists()
    assert played.text.startswith("My own words.")
    assert played.result["total_cost_usd"] == 3


def test_defaults_hold_for_every_turn(rehearse: Rehearse) -> None:
    path = rehearse.scenario({"defaults": {"cost_usd": 0.5}, "stories": {"*": {"say": "x"}}})
    rehearse.env["RALPHY_REHEARSAL"] = str(path)
    assert rehearse().result["total_cost_usd"] == 0.5


@pytest.mark.parametrize("name", ["rehearsal.yaml", "rehearsal.json"])
def test_the_repository_has_its_own_scenario(rehearse: Rehearse, name: str) -> None:
    (rehearse.cwd / ".ralphy").mkdir()
    (rehearse.cwd / ".ralphy" / name).write_text('{"stories": {"*": [{"say": "from the repository"}]}}')
    assert rehearse().text.startswith("from the repository")
