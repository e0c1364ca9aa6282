"""prd.json and drafts as they lie on a disk: every trap is a message, and nothing else is raised."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralphy import resources
from ralphy.documents.prd_reader import check_prd, read_prd, read_stories_draft
from ralphy.errors import InvalidInput, NotFound
from ralphy.text.strict_json import dump

SNARKTANK = Path(__file__).parents[1] / "brought" / "snarktank-prd.json"


def story(story_id: str = "US-001", **fields: Any) -> dict[str, Any]:
    return {"id": story_id, "title": "Store users", **fields}


def prd(*stories: Any, **fields: Any) -> bytes:
    return dump({"userStories": list(stories), **fields})


def refusal(data: bytes) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        check_prd(data, "prd.json")
    return caught.value


def draft_refusal(data: bytes) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        read_stories_draft(data, "stories.json")
    return caught.value


def test_a_prd_is_read_with_a_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "prd.json"
    path.write_bytes(b"\xef\xbb\xbf" + prd(story()).replace(b"\n", b"\r\n"))
    assert read_prd(path) == {"userStories": [story()]}


def test_snarktanks_prd_is_valid_as_it_stands() -> None:
    data = SNARKTANK.read_bytes()
    assert check_prd(data, "prd.json") == json.loads(data)


def test_the_example_finds_its_schema() -> None:
    """It is valid and canonical."""
    document = check_prd(resources.example(), "prd.json.example")
    assert len(document["userStories"]) == 3
    assert dump(document) == resources.example()
    root = Path(resources.__file__).parent.parent
    assert json.loads((root / document["$schema"]).read_text(encoding="utf-8")) == resources.schema("prd")


VALID: list[dict[str, Any]] = [
    {"passes": True},
    {"status": "completed"},
    {"passes": True, "status": "completed"},
    {"passes": False, "status": "blocked"},
    {"acceptanceCriteria": ["one", {"description": "two", "done": True, "id": 2, "more": 1}]},
    {"tasks": ["one", {"title": "two", "done": False}]},
    {"execution": {"attempts": 1, "last_error": None, "completed_at": None, "files_modified": ["a"]}},
    {"kind": "docs", "model": None, "context": {"parent_spec": "S02.md", "parent_brief": None}},
    {"priority": 0},
]


def test_stories_of_any_form_and_the_workflow_that_ralphy_writes_are_valid() -> None:
    for fields in VALID:
        assert check_prd(prd(story(**fields)), "prd.json")["userStories"] == [story(**fields)]
    steps = {"spec": {"inputs": {"PRD.md": "1f"}, "outputs": {"SPEC.md": "2e"}, "run": "r1"}}
    approval = {"gate": "spec", "verdict": "approved", "artifact": "SPEC.md", "digest": "2e", "code": "3d"}
    approval |= {"at": "2026-01-14T18:05:00Z", "by": "maria", "text": "", "answered": True}  # type: ignore[dict-item]
    pr = {"url": "https://example.org/pull/1", "number": 1, "branch": "ralph/x", "oid": "4c", "state": "open"}
    workflow = {"phase": "QA", "steps": steps, "approvals": [approval], "pr": pr}
    assert check_prd(prd(workflow=workflow), "prd.json")["workflow"] == workflow


def test_a_wrong_type_is_named_with_its_file_line_and_path(tmp_path: Path) -> None:
    path = tmp_path / "prd.json"
    path.write_bytes(prd(story("a"), story("b"), story("c", priority="high")))
    with pytest.raises(InvalidInput) as caught:
        read_prd(path, where="docs/features/login/prd.json")
    expected = 'docs/features/login/prd.json:14: userStories[2].priority is "high" but must be an integer'
    assert str(caught.value) == expected
    assert caught.value.hint == "see .ralphy/schemas/prd.schema.json, which `ralphy init` writes"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"[]", ":1: the document is an array but must be an object"),
        (b"{}", ":1: userStories is missing"),
        (prd(None), ":3: userStories[0] is null but must be an object"),
        (prd({"id": "a"}), ":3: userStories[0].title is missing"),
        (prd(story(title="")), ':5: userStories[0].title is "" but must be one line of plain text'),
        (
            prd(story("../x")),
            ":4: userStories[0].id is \"../x\" but must be 1 to 64 letters, digits, '.', '_' or '-', the first a "
            "letter or a digit, without '..' and without '.' or '.lock' at the end",
        ),
        (prd(story(priority=True)), ":6: userStories[0].priority is true but must be an integer"),
        (
            prd(story(status="done")),
            ':6: userStories[0].status is "done" but must be one of "pending", "in_progress", "completed", '
            '"failed", "blocked"',
        ),
        (
            prd(story(passes=True, status="failed")),
            ":6: userStories[0].passes is true but must be false unless status is completed",
        ),
        (
            prd(story(passes=False, status="completed")),
            ":6: userStories[0].passes is false but must be true where status is completed",
        ),
        (prd(story(title="a\u202eb")), r':5: userStories[0].title is "a\u202eb" but must be one line of plain text'),
        (prd(story(dependsOn=["x"])), ':7: userStories[0].dependsOn[0] is "x", no such story'),
        (prd(story("a"), story("a")), ':8: userStories[1].id is "a", the same as userStories[0].id'),
        (prd(story("a"), story("A")), ':8: userStories[1].id is "A", the same as userStories[0].id except for case'),
        (prd(branchName="main"), ':3: branchName is "main", which is the base branch'),
        (prd(workflow={"approvals": [{"gate": "qa"}]}), ":5: workflow.approvals[0].verdict is missing"),
        (
            prd(workflow={"steps": {"qa": {"inputs": {"a.md": 1}}}}),
            ':7: workflow.steps.qa.inputs."a.md" is 1 but must be a string',
        ),
    ],
)
def test_what_is_wrong_is_said_with_line_and_path(data: bytes, message: str) -> None:
    assert str(refusal(data)) == "prd.json" + message


def test_another_tools_list_of_stories_is_recognised() -> None:
    assert refusal(b'{"stories": []}').hint == "rename stories to userStories"


def test_up_to_ten_problems_are_listed_each_with_its_line() -> None:
    stories = [story(f"s{n}", priority="high") for n in range(12)]
    lines = str(refusal(prd(*stories))).split("\n")
    assert lines[9] == 'prd.json:51: userStories[9].priority is "high" but must be an integer'
    assert lines[10:] == ["… and 2 more"]


@pytest.mark.fault("I3x")
def test_values_reach_no_terminal_unescaped_or_at_length() -> None:
    wild = "\x1b]0;owned\x07\x9b2J\u202e\x00" + "x" * 5000
    error = refusal(prd(story(wild, status=wild, title=wild), {wild: 1}, branchName=wild))
    assert all(line.isprintable() for line in str(error).split("\n"))
    assert len(str(error)) < 2000


@pytest.mark.fault("I1x")
def test_a_missing_file_says_what_to_run_and_one_over_32_megabytes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "prd.json"
    for missing in (path, tmp_path / "no" / "prd.json"):
        with pytest.raises(NotFound) as caught:
            read_prd(missing)
        assert "ralphy init" in caught.value.hint
        assert "PRD.md" in caught.value.hint
    path.write_bytes(b"[]")
    os.truncate(path, 33 * 1024 * 1024)
    with pytest.raises(InvalidInput, match="is larger than 32 MB"):
        read_prd(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=5), each, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(sorted(resources.schema("prd")["$defs"]["story"]["properties"]))
STORIES = st.builds(lambda fields: story() | fields, st.dictionaries(FIELDS, JSON, max_size=4))


@given(st.lists(STORIES | JSON, max_size=3), st.dictionaries(st.sampled_from(["branchName", "workflow"]), JSON))
@pytest.mark.fault("I1x")
def test_any_document_is_valid_or_every_problem_is_worded(stories: list[Any], fields: dict[str, Any]) -> None:
    data = prd(*stories, **fields)
    try:
        assert dump(check_prd(data, "prd.json")) == data
    except InvalidInput as error:
        assert "does not match its schema" not in str(error)
        assert all(line.isprintable() for line in str(error).split("\n"))


def test_a_draft_gives_its_stories_which_may_depend_on_stories_that_exist() -> None:
    stories = [
        story("a", testing={"removes": ["tests/test_old.py::test_x"]}),
        story("b", dependsOn=["a"], labels=["x"]),
    ]
    assert read_stories_draft(prd(*stories), "stories.json") == stories
    assert read_stories_draft(prd(*stories, project="x", description="y"), "stories.json") == stories
    data = prd(story("new", dependsOn=["old"]))
    assert read_stories_draft(data, "stories.json", known_ids={"old"})
    assert "no such story" in str(draft_refusal(data))


def test_what_only_ralphy_may_say_is_dropped_from_a_draft() -> None:
    claims: dict[str, Any] = {"passes": True, "status": "nearly", "execution": {"attempts": "many"}, "evidence": 5}
    planned: dict[str, Any] = {"acceptanceCriteria": ["one", {"description": "two"}], "tasks": [{"title": "t"}]}
    claimed: dict[str, Any] = {
        "acceptanceCriteria": ["one", {"description": "two", "done": True}],
        "tasks": [{"title": "t", "done": "yes"}],
    }
    assert read_stories_draft(prd(story(**claims, **claimed)), "stories.json") == [story(**planned)]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (prd(), "userStories is an array but must not be empty"),
        (dump([story()]), "the document is an array but must be an object"),
        (b"{}", "userStories is missing"),
        (b'```json\n{"userStories": []}\n```', "found ```json"),
        (prd(story(priority="high")), 'stories.json:6: userStories[0].priority is "high" but must be an integer'),
        (prd(story("a"), story("A")), "except for case"),
        (prd(story("a", dependsOn=["a"])), "is the story itself"),
        (b" " * (8 * 1024 * 1024 + 1), "is larger than 8 MB"),
    ],
)
def test_a_draft_is_refused_in_words_that_its_agent_can_act_on(data: bytes, words: str) -> None:
    assert words in str(draft_refusal(data))


@given(st.lists(STORIES | JSON, max_size=3))
def test_any_draft_is_stories_without_claims_or_invalid_input(stories: list[Any]) -> None:
    try:
        read = read_stories_draft(prd(*stories), "stories.json")
    except InvalidInput:
        return
    assert all("passes" not in each and "status" not in each for each in read)
    check_prd(prd(*read), "prd.json")
