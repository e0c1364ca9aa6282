"""What a prompt gets of long texts: the parts that matter, within their bytes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ralphy.prompts.budget import FAILURE_BYTES, clip, digest_failure, pick_progress
from ralphy.prompts.spec_section import pick_spec_section

SPEC = """\
# Login

## Design
Words.

## US-001 Store users
The table.

### Columns
Three.

## US-0010 Another one
Not this.

```sh
## US-002 a comment in a script
```

## US-002 Add the *sign-in* form!
The form.
"""


def size(text: str) -> int:
    return len(text.encode())


def entry(story: str, at: str, status: str = "completed", body: str = "Files: a.py") -> str:
    return f"## [{at}] - {story} (attempt 1/5) - {status}\n{body}\n---\n"


@given(st.text(max_size=400), st.integers(0, 300), st.floats(0, 1))
def test_clipped_text_never_exceeds_its_bytes(text: str, room: int, share: float) -> None:
    assert size(clip(text, room, share)) <= room


def test_a_clipped_text_keeps_both_ends_and_says_what_is_missing() -> None:
    clipped = clip("first" + "é" * 5000 + "last", 300)
    assert clipped.startswith("first") and clipped.endswith("last")
    assert "10,009 bytes in total" in clipped
    assert "�" not in clipped


def test_a_failure_is_told_by_its_checks_and_the_end_of_their_output_without_terminal_codes_and_repeated_lines() -> (
    None
):
    digest = digest_failure(["test (exit 1)", "lint"], "collecting\nE  assert 1 == 2\n1 failed", reason="red")
    assert digest == "red\nFailed: test (exit 1), lint\n\ncollecting\nE  assert 1 == 2\n1 failed"

    output = "\x1b[31mred\x1b[0m\r\n10%\r50%\r100%\n" + "same\n" * 1000 + "\x07end\x1b]0;title\x07"
    assert digest_failure([], output) == "red\n100%\nsame\n[the line above 1000 times]\nend"

    noise = "".join(f"line {n}\n" for n in range(100_000))
    digest = digest_failure(["test"] * 5000, f"{noise}the cause", "why " * 9000)
    assert size(digest) <= FAILURE_BYTES
    assert digest.endswith("the cause")
    assert digest.startswith("why ") and "Failed: test" in digest


SECTIONS = [
    ("US-001", None, "## US-001 Store users", "Three."),
    ("us-001", None, "## US-001 Store users", "Three."),
    ("US-002", None, "## US-002 Add the *sign-in* form!", "The form."),
    ("X", "SPEC.md#us-002-add-the-sign-in-form", "## US-002 Add the *sign-in* form!", "The form."),
    ("US-002", "SPEC.md#design", "## Design", "Words."),
    ("US-001", "SPEC.md#gone", "## US-001 Store users", "Three."),
    ("Columns", "SPEC.md", "### Columns", "Three."),
]


def test_a_story_finds_its_section_and_where_it_has_none_gets_none() -> None:
    for story, parent, starts, ends in SECTIONS:
        section = pick_spec_section(SPEC, story, parent)
        assert section.startswith(starts) and section.endswith(ends), (story, parent)
    for story, parent in (("US-003", None), ("US-00", None), ("", None), ("9", "S#no")):
        assert pick_spec_section(SPEC, story, parent) == ""
    again = "## Notes\nfirst\n\n## Notes\nsecond\n"
    assert pick_spec_section(again, "US-1", "SPEC.md#notes-1") == "## Notes\nsecond"


def test_progress_gives_the_patterns_and_the_newest_entries_first_or_free_notes() -> None:
    text = "# Ralphy Progress Log\n\n## Codebase Patterns\n- use uv\n\n---\n"
    text += entry("US-001", "2026-01-01T01:00:00Z") + entry("US-002", "2026-01-01T02:00:00Z")
    assert pick_progress(text, [], 2000) == (
        "## Codebase Patterns\n- use uv\n\n"
        "## [2026-01-01T02:00:00Z] - US-002 (attempt 1/5) - completed\nFiles: a.py\n\n"
        "## [2026-01-01T01:00:00Z] - US-001 (attempt 1/5) - completed\nFiles: a.py"
    )

    text = entry("US-002", "2026-01-02T00:00:00Z") + entry("US-001", "2026-01-01T00:00:00Z")
    picked = pick_progress(text, [], 2000)
    assert picked.index("US-002") < picked.index("US-001")

    assert pick_progress("just a note", [], 500) == "just a note"


def test_an_old_entry_of_a_dependency_is_picked_before_newer_ones_of_others() -> None:
    entries = [entry(f"US-{n:03}", f"2026-01-01T00:00:{n:02}Z", body="x" * 300) for n in range(1, 31)]
    picked = pick_progress("".join(entries), ["US-030", "US-002"], 900)
    assert "- US-002 " in picked and "- US-030 " in picked
    assert "- US-015 " not in picked
    assert picked.index("US-030") < picked.index("US-002")


@given(st.text(max_size=600), st.lists(st.text(max_size=8), max_size=4), st.integers(200, 900))
def test_progress_of_any_text_is_bounded(text: str, ids: list[str], room: int) -> None:
    assert size(pick_progress(text, ids, room)) <= room
