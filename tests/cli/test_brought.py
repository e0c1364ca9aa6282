"""Small files as other tools write them (tests/brought): what becomes of each, and what is left out, line by line.

`expected.json` says it: the format, the stories as (id, title, done, depends on), the criteria and what is left out, or
the refusal.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ralphy.documents.prd_reader import check_prd
from ralphy.exchange.formats import read
from tests.cli.conftest import CallIn, Make
from tests.conftest import set_home
from tests.engine.building import ROOT, Project, build, story

BROUGHT = ROOT / "tests" / "brought"
EXPECTED: dict[str, dict[str, Any]] = json.loads((BROUGHT / "expected.json").read_text(encoding="utf-8"))


def told(stories: list[dict[str, Any]]) -> list[Any]:
    return [[raw["id"], raw["title"], raw["passes"], raw.get("dependsOn", []), raw.get("acceptanceCriteria", [])]
            for raw in stories]  # fmt: skip


def test_each_file_is_expected_to_become_something() -> None:
    assert {path.name for path in BROUGHT.iterdir()} == {*EXPECTED, "expected.json"}
    assert len(EXPECTED) >= 20


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """The repository that all files are imported into, each as a feature of its own."""
    with pytest.MonkeyPatch.context() as patch:
        place = tmp_path_factory.mktemp("shelf")
        set_home(place / "home", patch)
        yield build(place, story("US-001"))


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_file_of_another_tool_is_imported_and_what_is_left_out_is_named(
    shelf: Project, call_in: CallIn, name: str
) -> None:
    call, expected, feature = call_in(shelf), EXPECTED[name], f"n-{sorted(EXPECTED).index(name)}"
    code, out, err = call("import", str(BROUGHT / name), "--name", feature, *expected.get("options", []))
    if "refused" in expected:
        assert code == 3 and expected["refused"] in err, err
        assert not shelf.folder.with_name(feature).exists()
        return
    assert code == 0, err
    prd = shelf.folder.with_name(feature) / "prd.json"
    stories = json.loads(prd.read_text(encoding="utf-8"))["userStories"]
    left_out = [line.removeprefix("left out: ") for line in out.splitlines() if line.startswith("left out: ")]
    assert (told(stories), left_out) == (expected["stories"], expected["left_out"])
    counted = "1 story" if len(stories) == 1 else f"{len(stories)} stories"
    assert f"{counted}, read as " in out and f"; left out: {len(left_out) or 'nothing'}; " in out
    check_prd(prd.read_bytes(), "prd.json")

    written = call("export", feature)[1]
    again = read({"prd.json": written}, "prd.json")[1].stories
    assert told(again) == told(stories)  # there and back


def test_another_tag_of_task_master_is_imported_by_its_name(made: Make) -> None:
    _, call = made(story("US-001"))
    code, value = call.json("import", str(BROUGHT / "taskmaster-tags.json"), "--name", "phone", "--tag", "mobile")
    assert (code, told(value["stories"])) == (0, [["1", "App", False, [], []]])
    assert value["left_out"] == [
        "taskmaster-tags.json:4: Model: has another tag (--tag master)",
        "taskmaster-tags.json:24: View: has another tag (--tag master)",
        "taskmaster-tags.json:34: Old idea: has another tag (--tag master)",
    ]
    code, _, err = call("import", str(BROUGHT / "taskmaster-tags.json"), "--name", "web", "--tag", "web")
    assert code == 3 and "has no tag web with tasks" in err and "hint: --tag master, mobile" in err
    assert call("import", str(BROUGHT / "speckit.md"), "--tag", "web")[0] == 3
