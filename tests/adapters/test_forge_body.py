"""A pull request's text pings nobody, hides nothing and fits; its evidence is a table that holds."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralphy.errors import InvalidInput
from ralphy.forge.body import (
    MAX_BODY,
    PullRequestText,
    StoryEvidence,
    evidence_table,
    neutralise,
    parse_pr_text,
    with_evidence,
)

GAP = "\u200b"


def evidence(number: int = 1, title: str = "Log in", **changes: object) -> StoryEvidence:
    fields = {"attempts": 2, "cost_usd": 0.425, "checks": (("test", 3.24), ("lint", 0.4)), "files": 4,
              "lines": "+41 -3"}  # fmt: skip
    return StoryEvidence(f"US-{number:03}", title, **{**fields, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("markdown", "title", "body"),
    [
        ("# Login with OAuth\n\nIt works.\n", "Login with OAuth", "It works."),
        ("\n\nPlain words\n\nMore\n", "Plain words", "More"),
        ("Before\n# The heading #\nAfter", "The heading", "Before\nAfter"),
        ("```\n# a comment of code\n```\n# Real\n", "Real", "```\n# a comment of code\n```"),
        ("**Bold words**\r\nrest\r\n", "Bold words", "rest"),
        ("## Second level\nrest", "Second level", "rest"),
        ("# Red\x1b[31m \u202etitle\x00\nx", "Red title", "x"),
        ("# \U0001f469\u200d\U0001f4bb at work\nx", "\U0001f469\u200d\U0001f4bb at work", "x"),
        ("# Fixes #12 for @anna\nx", f"F{GAP}ixes #12 for @{GAP}anna", "x"),
    ],
)
def test_the_title_is_the_first_heading_or_the_first_line(markdown: str, title: str, body: str) -> None:
    assert parse_pr_text(markdown) == PullRequestText(title, body)


def test_a_text_without_a_title_is_invalid_and_a_long_one_is_cut_to_120_characters() -> None:
    for markdown in ("", "\n\n", "#  \n", "\x00"):
        with pytest.raises(InvalidInput, match="no title"):
            parse_pr_text(markdown)
    title = parse_pr_text("# " + "word " * 100).title
    assert len(title) <= 120
    assert title.endswith("…")


@pytest.mark.parametrize(
    ("prose", "shown"),
    [
        ("ask @anna and @acme/team", f"ask @{GAP}anna and @{GAP}acme/team"),
        ("@everyone", f"@{GAP}everyone"),
        ("mail a@example.org", "mail a@example.org"),
        ("an unpaired ` and @anna`", f"an unpaired ` and @{GAP}anna`"),
        ("an entity &#64;anna &commat;anna", f"an entity @{GAP}anna @{GAP}anna"),
        ("split @<!-- -->anna", f"split @{GAP}anna"),
        ("Fixes #12, closes acme/widget#3", f"F{GAP}ixes #12, c{GAP}loses acme/widget#3"),
        ("resolved: https://example.org/1", f"r{GAP}esolved: https://example.org/1"),
        ("**Fixes** [#12]", f"**F{GAP}ixes** [#12]"),
        ("fixes a bug; see #12", "fixes a bug; see #12"),
        ("a <!-- hidden\nwords --> b", "a  b"),
        ("a <!<!-- x -->-- hidden --> b", "a &lt;!-- hidden --> b"),
        ("an open <!-- comment", "an open &lt;!-- comment"),
        ("```python\n@dataclass\n```\n@anna", f"```python\n@dataclass\n```\n@{GAP}anna"),
        ("~~~\n```\n@dataclass\n~~~", "~~~\n```\n@dataclass\n~~~"),
        ("``` a`b\n@anna", f"``` a`b\n@{GAP}anna"),
        ("<div>\n```\n@anna\n```\n</div>", f"<div>\n```\n@{GAP}anna\n```\n</div>"),
    ],
)
@pytest.mark.fault("S6")
def test_words_that_the_forge_would_act_on_are_broken(prose: str, shown: str) -> None:
    assert neutralise(prose) == shown


@given(st.text(alphabet="@a#1 `~\n<!->xfixes/\\&;:", max_size=80))
@pytest.mark.fault("S6")
def test_no_comment_and_no_mention_outside_fences_survives(prose: str) -> None:
    body = parse_pr_text(f"# title\n{prose}").body
    outside = "" if re.search(r"^ {0,3}(```|~~~)", body, re.MULTILINE) else body

    assert not re.search(r"(?<![A-Za-z0-9])@[A-Za-z0-9]", outside)
    assert "<!--" not in outside


@given(st.text(max_size=300))
def test_a_text_is_always_valid_unicode_of_one_titled_line(prose: str) -> None:
    text = parse_pr_text(f"# t {prose}")

    assert (text.title + text.body).encode()
    assert len(text.title.splitlines()) == 1


@pytest.mark.parametrize("piece", ["<!--", "@", "fix ", "` ", "# ", " ", "```\n", "&#64;a "])
def test_a_hostile_text_takes_no_time(piece: str) -> None:
    begun = time.process_time()  # of this process alone: what else runs on the machine does not count
    parse_pr_text("title\n" + piece * (400_000 // len(piece)))

    assert time.process_time() - begun < 5


@pytest.mark.fault("S6")
def test_a_long_body_is_cut_at_a_line_with_a_note_and_its_fence_closed() -> None:
    body = parse_pr_text("# t\n```\n" + "some code\n" * 10_000).body

    assert len(body) <= MAX_BODY
    assert body.count("```") == 2
    assert body.rstrip().endswith("exceeds the limit of a pull request.*")


def test_the_evidence_is_kept_when_the_prose_is_too_long() -> None:
    table = evidence_table([evidence(number) for number in range(1, 301)])

    whole = with_evidence(parse_pr_text("# t\n" + "words\n" * 20_000), table).body

    assert len(whole) <= MAX_BODY
    assert whole.endswith(table)
    assert "Cut:" in whole
    assert "| … and 100 more |" in whole


def test_the_table_has_a_row_for_each_story_and_the_totals() -> None:
    assert evidence_table([evidence(1), evidence(2, "Log out", attempts=1, checks=(), files=1, lines="")]) == (
        "| Story | Attempts | Cost | Checks | Files | Lines |\n"
        "|---|---:|---:|---|---:|---:|\n"
        "| US-001 Log in | 2 | $0.42 | test 3.2 s, lint 0.4 s | 4 | +41 -3 |\n"
        "| US-002 Log out | 1 | $0.42 |  | 1 |  |\n"
        "| **2 in all** | 3 | $0.85 | | 5 | |\n"
    )


def test_a_title_stays_in_its_cell() -> None:
    row = evidence_table([evidence(title="a|b\\|c\n| d | @anna <!-- x --> [y](z)")]).splitlines()[2]

    assert row.startswith(f"| US-001 a\\|b\\\\\\|c \\| d \\| @{GAP}anna \\<!-- x --> \\[y](z) | 2 |")


def test_the_table_says_how_many_tests_there_were_and_are_and_what_was_flagged() -> None:
    rows = [evidence(tests="7 → 8 tests", notes=("tests assert less: a | b @anna",)), evidence(2)]

    table = evidence_table(rows)

    assert "test 3.2 s, lint 0.4 s; 7 → 8 tests |" in table
    assert table.endswith(f"Flagged:\n\n- US-001: tests assert less: a \\| b @{GAP}anna\n")
    assert "Flagged" not in evidence_table([evidence()])


def test_files_that_steer_stand_above_the_table_and_ping_nobody() -> None:
    table = evidence_table([evidence()], ["Makefile (US-001): read it before you run make", "@anna/CLAUDE.md"])
    first, rest = table.split("| Story", 1)
    assert first.splitlines()[2:4] == ["- Makefile (US-001): read it before you run make", f"- @{GAP}anna/CLAUDE.md"]
    assert "US-001" in rest
