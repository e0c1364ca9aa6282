"""Finding, checking and choosing: which act is played, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from ralphy.errors import InvalidInput
from ralphy.rehearsal.counters import count_run, state_path
from ralphy.rehearsal.scenario import check_scenario
from tests.conftest import RunGit
from tests.rehearsal.conftest import ROOT, SESSION, Rehearse

SCHEMA = json.loads((ROOT / "schemas" / "rehearsal.schema.json").read_text())
GOOD: list[dict[str, Any]] = [
    {},
    {"spec": {"say": "one act alone"}},
    {"defaults": {"cost_usd": 0, "tokens": {"input": 1}}, "stories": {"*": [{"default": True}]}},
    {"qa": [{"run": "pytest -q"}, {"run": ["a", "b"]}, {"run": [["a"], ["b", "c"]]}]},
    {"pr": [{"exit_signal": None, "promise": None, "orphan": {"seconds": 1}, "crash": 0}]},
]
BAD: list[tuple[dict[str, Any], str]] = [
    ({"storys": {}}, 'unknown key "storys" (did you mean "stories"?)'),
    ({"spec": [{"wrte": {"a": "b"}}]}, 'scenario.spec[0]: unknown key "wrte" (did you mean "write"?)'),
    ({"stories": {"US-001": [{}, {"write": "a"}]}}, "scenario.stories.US-001[1].write: must be a mapping"),
    ({"qa": []}, "scenario.qa: must be a list of acts"),
    ({"qa": [{"crash": 256}]}, "crash: must be an exit code"),
    ({"qa": [{"hang": 1}]}, "hang: must be true or false"),
    ({"qa": [{"delay_s": -1}]}, "delay_s: must be a number, 0 or more"),
    ({"qa": [{"cost_usd": True}]}, "cost_usd: must be a number"),
    ({"qa": [{"error": "bad luck"}]}, "error: must be one of overloaded, server"),
    ({"qa": [{"kill": "SIGNOPE"}]}, "kill: must be one of SIGKILL"),
    ({"qa": [{"cheat": {"lie": True}}]}, 'cheat: unknown key "lie"'),
    ({"qa": [{"status": {"MOOD": "fine"}}]}, 'status: unknown key "MOOD"'),
    ({"qa": [{"run": []}]}, "run: must be a command"),
    ({"qa": [{"limit": {"resets_in_s": "soon"}}]}, "limit.resets_in_s: must be a number"),
]


def refusals(scenario: dict[str, Any]) -> list[str]:
    """What the check, and what the schema has to say against a scenario."""
    said = [f"schema: {error.message}" for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(scenario)]
    try:
        check_scenario(scenario, "scenario")
    except InvalidInput as error:
        said.append(f"check: {error}")
    return said


@pytest.mark.parametrize("scenario", GOOD)
def test_a_good_scenario_passes_the_check_and_the_schema(scenario: dict[str, Any]) -> None:
    assert refusals(scenario) == []


@pytest.mark.parametrize(("scenario", "words"), BAD)
def test_a_bad_scenario_fails_the_check_and_the_schema(scenario: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_scenario(scenario, "scenario")
    hint = f" ({refused.value.hint})" if refused.value.hint else ""
    assert words in f"{refused.value}{hint}"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(scenario, SCHEMA)


def test_the_page_for_users_names_every_key() -> None:
    page = (ROOT / "docs" / "rehearsal.md").read_text()
    assert [key for key in SCHEMA["$defs"]["act"]["properties"] if f"| `{key}` |" not in page] == []


def test_the_examples_of_the_page_are_valid() -> None:
    page = (ROOT / "docs" / "rehearsal.md").read_text()
    examples = [part.split("```")[0] for part in page.split("```yaml\n")[1:]]
    assert examples
    for example in examples:
        check_scenario(yaml.safe_load(example), "example")


def test_an_unknown_key_ends_the_run_as_a_usage_error(rehearse: Rehearse) -> None:
    played = rehearse({"wrte": {}})
    assert (played.code, played.stdout) == (1, b"")
    assert 'unknown key "wrte"' in played.stderr
    assert 'did you mean "write"?' in played.stderr


def test_a_missing_or_broken_scenario_is_a_usage_error(rehearse: Rehearse, tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("spec: [")
    for path in (tmp_path / "nowhere.json", broken):
        rehearse.env["RALPHY_REHEARSAL"] = str(path)
        played = rehearse()
        assert (played.code, played.stdout) == (1, b"")
        assert f"{path}: cannot be read" in played.stderr


def test_the_nth_run_takes_the_nth_act_and_the_last_one_again(rehearse: Rehearse) -> None:
    path = rehearse.home / "three.json"
    path.write_text(json.dumps({"stories": {"US-001": [{"say": "one"}, {"crash": 3}, {"say": "three"}]}}))
    rehearse.env["RALPHY_REHEARSAL"] = str(path)
    runs = [rehearse() for _ in range(4)]
    assert [run.code for run in runs] == [0, 3, 0, 0]
    assert [runs[n].text.split("\n")[0] for n in (0, 2, 3)] == ["one", "three", "three"]
    state = json.loads((rehearse.cwd / ".git" / "rehearsal.json").read_text())
    assert state["runs"] == {"story/login/US-001": 4}


def test_a_story_that_is_not_named_takes_the_star(rehearse: Rehearse) -> None:
    path = rehearse.home / "star.json"
    path.write_text(json.dumps({"stories": {"US-001": {"say": "named"}, "*": {"say": "any"}}}))
    rehearse.env |= {"RALPHY_REHEARSAL": str(path), "RALPHY_STORY": "US-007"}
    assert rehearse().text.startswith("any")


def test_a_step_that_is_not_named_plays_the_default(rehearse: Rehearse) -> None:
    rehearse.env["RALPHY_REHEARSAL"] = str(rehearse.scenario({"qa": {"say": "x"}}))
    rehearse()
    assert (rehearse.cwd / "rehearsal" / "us_001.py").exists()


def test_an_act_can_start_from_the_default(rehearse: Rehearse) -> None:
    played = rehearse({"default": True, "say": "My own words.", "cost_usd": 3})
    assert (rehearse.cwd / "rehearsal" / "us_001.py").exists()
    assert played.text.startswith("My own words.")
    assert played.result["total_cost_usd"] == 3


def test_defaults_hold_for_every_act(rehearse: Rehearse) -> None:
    path = rehearse.scenario({"defaults": {"cost_usd": 0.5}, "stories": {"*": {"say": "x"}}})
    rehearse.env["RALPHY_REHEARSAL"] = str(path)
    assert rehearse().result["total_cost_usd"] == 0.5


@pytest.mark.parametrize("name", ["rehearsal.yaml", "rehearsal.json"])
def test_the_repository_has_its_own_scenario(rehearse: Rehearse, name: str) -> None:
    (rehearse.cwd / ".ralphy").mkdir()
    (rehearse.cwd / ".ralphy" / name).write_text('{"stories": {"*": [{"say": "from the repository"}]}}')
    assert rehearse().text.startswith("from the repository")


def test_worktrees_share_their_counts(rehearse: Rehearse, git: RunGit, tmp_path: Path) -> None:
    git("worktree", "add", "--quiet", str(tmp_path / "second"))
    assert state_path({}, str(tmp_path / "second")) == str(rehearse.cwd / ".git" / "rehearsal.json")
    act = {"say": "x"}
    rehearse(act)
    rehearse.cwd = tmp_path / "second"
    rehearse(act)
    state = json.loads((tmp_path / "repo" / ".git" / "rehearsal.json").read_text())
    assert state["runs"] == {"story/login/US-001": 2}


def test_the_state_file_can_be_named(rehearse: Rehearse) -> None:
    rehearse.env["RALPHY_REHEARSAL_STATE"] = str(rehearse.home / "counts.json")
    rehearse({"say": "x"})
    assert json.loads((rehearse.home / "counts.json").read_text())["runs"] == {"story/login/US-001": 1}
    assert not (rehearse.cwd / ".git" / "ralphy").exists()


def test_outside_of_a_repository_the_attempt_is_the_count(rehearse: Rehearse, tmp_path: Path) -> None:
    rehearse.cwd = tmp_path / "bare"
    rehearse.cwd.mkdir()
    path = rehearse.scenario({"stories": {"*": [{"say": "one"}, {"say": "two"}]}})
    rehearse.env |= {"RALPHY_REHEARSAL": str(path), "RALPHY_ATTEMPT": "2"}
    assert rehearse().text.startswith("two")
    assert list(rehearse.cwd.iterdir()) == []


def test_in_a_lane_of_ralphys_its_number_of_the_run_is_the_count(rehearse: Rehearse) -> None:
    path = rehearse.scenario({"stories": {"*": [{"say": "one"}, {"say": "two"}]}})
    rehearse.env |= {"RALPHY_REHEARSAL": str(path), "RALPHY_REPO": "somewhere", "RALPHY_RUN_NUMBER": "2"}
    assert rehearse().text.startswith("two")
    assert not (rehearse.cwd / ".git" / "rehearsal.json").exists()


def test_a_state_that_cannot_be_written_is_said_and_the_run_goes_on(rehearse: Rehearse) -> None:
    rehearse.env["RALPHY_REHEARSAL_STATE"] = "calc.py/state.json"
    played = rehearse({"say": "x"})
    assert played.code == 0
    assert "cannot be written" in played.stderr


def test_runs_side_by_side_are_all_counted(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(lambda _: count_run(str(tmp_path / "state.json"), "story/a"), range(40)))
    assert sorted(numbers) == list(range(1, 41))


def test_a_damaged_state_counts_from_zero(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text('{"runs": ')
    assert count_run(str(tmp_path / "state.json"), "story/a") == 1
    assert count_run(str(tmp_path / "state.json"), "story/a") == 2


def test_a_session_is_used_once(rehearse: Rehearse) -> None:
    act = {"say": "x"}
    assert rehearse(act, "--session-id", SESSION).result["session_id"] == SESSION
    again = rehearse(act, "--session-id", SESSION)
    assert (again.code, again.stdout) == (1, b"")
    assert f"Session ID {SESSION} is already in use." in again.stderr
    assert rehearse(act, "--resume", SESSION).result["session_id"] == SESSION
