"""The agent's claim: its own last complete block counts, echoes and quotes do not, and no text breaks the reader."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import jinja2
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralphy.agents.status_report import Claim, read

TEMPLATES = Path(__file__).parents[2] / "templates" / "prompts"


def block(**fields: str) -> str:
    """A report block; `EXIT_SIGNAL` is true unless it is named."""
    told = {"STATUS": "COMPLETE", "TESTS_STATUS": "PASSING", "EXIT_SIGNAL": "true", "RECOMMENDATION": "none", **fields}
    rows = "\n".join(f"{name}: {value}" for name, value in told.items())
    return f"---RALPH_STATUS---\n{rows}\n---END_RALPH_STATUS---\n"


COMPLETE = Claim(has_block=True, status="COMPLETE", exit_signal=True)


def test_a_whole_report_is_complete() -> None:
    claim = read(f"I added the form.\n\n{block()}<promise>STORY_DONE</promise>\n")
    assert claim == Claim(True, "COMPLETE", True, "", "STORY_DONE")
    assert claim.is_complete
    assert claim.holds_back == "" and claim.asks == ""


@pytest.mark.parametrize("step", ["story", "spec"])
@pytest.mark.fault("A6")
def test_an_echo_of_the_template_claims_nothing(step: str) -> None:
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=False)
    echoed = environment.get_template("_report.md.j2").render(step=step)
    assert "---RALPH_STATUS---" in echoed
    assert read(echoed) == Claim()
    assert read(echoed.replace("```", "")) == Claim()
    assert read(f"{block()}\n\n{echoed}") == COMPLETE
    assert read(f"{echoed}\n{block(STATUS='BLOCKED', EXIT_SIGNAL='false')}").holds_back


@pytest.mark.parametrize("text", ["", "All done!", "EXIT_SIGNAL", "I would say EXIT_SIGNAL: true if it worked"])
@pytest.mark.fault("A6")
def test_prose_claims_nothing(text: str) -> None:
    assert read(text) == Claim()


@pytest.mark.fault("A6")
def test_a_quote_claims_nothing() -> None:
    quoted = "".join(f"> {line}\n" for line in block().splitlines())
    assert read(f"The prompt says:\n{quoted}\n> <promise>COMPLETE</promise>\n> EXIT_SIGNAL: true\n") == Claim()


def test_a_quote_inside_of_a_block_is_passed_over() -> None:
    assert read(block().replace("EXIT_SIGNAL", "> EXIT_SIGNAL: false\nEXIT_SIGNAL")).exit_signal is True


@pytest.mark.parametrize("fence", ["```\n{}```\n", "```text\n{}```", "~~~\n{}~~~", "    {}"])
def test_a_block_in_a_code_fence_counts(fence: str) -> None:
    assert read(fence.format(block())) == COMPLETE


def test_of_several_blocks_the_last_counts() -> None:
    assert read(block(EXIT_SIGNAL="false") + block()).exit_signal is True
    assert read(block() + "More:\n" + block(EXIT_SIGNAL="false")).exit_signal is False


def test_a_block_that_is_not_closed_is_none() -> None:
    cut = block().replace("---END_RALPH_STATUS---", "")
    assert not read(cut).has_block
    assert not read(cut).is_complete
    assert read(f"{cut}\n{block(STATUS='BLOCKED')}").status == "BLOCKED"


def test_a_block_without_a_word_is_none() -> None:
    assert read("---RALPH_STATUS---\n---END_RALPH_STATUS---\n") == Claim()
    assert read(block() + "---RALPH_STATUS---\nnothing\n---END_RALPH_STATUS---\n") == COMPLETE


@pytest.mark.parametrize(
    "value", ['"true"', "'true',", "true", "True", "TRUE", " true ", "true.", "**true**", "`true`", "yes", "true\t"]
)
def test_ways_to_say_true(value: str) -> None:
    assert read(block(EXIT_SIGNAL=value)).exit_signal is True


@pytest.mark.parametrize(
    "value",
    [
        "false",
        "False",
        "false.",
        "**false**",
        "false (two tests fail)",
        "no",
        "false, not yet",
        '"false"',
        "'false',",
        "(false)",
        "[false]",
        "= false",
        "\u274c false",
    ],
)
def test_ways_to_say_false(value: str) -> None:
    assert read(block(EXIT_SIGNAL=value)).holds_back


@pytest.mark.parametrize(
    "value", ["", "not true", "true or false", "<true or false>", "true once CI is green", "1", "maybe"]
)
def test_what_is_neither_is_not_said(value: str) -> None:
    claim = read(block(EXIT_SIGNAL=value))
    assert claim.exit_signal is None
    assert not claim.is_complete


@pytest.mark.parametrize(
    "row",
    [
        "- EXIT_SIGNAL: false",
        "**EXIT_SIGNAL:** false",
        "**EXIT_SIGNAL**: false",
        "exit_signal:false",
        "EXIT_SIGNAL = false",
        "EXIT_SIGNAL=false",
        '  "EXIT_SIGNAL": false,',
        "1. EXIT_SIGNAL: false",
        "\u2022 EXIT_SIGNAL: false",
        "EXIT_SIGNAL\uff1afalse",
        "### EXIT_SIGNAL: false",
        "| EXIT_SIGNAL: false |",
    ],
)
def test_fields_may_be_dressed_up(row: str) -> None:
    assert read(block().replace("EXIT_SIGNAL: true", row)).exit_signal is False


def test_of_two_signals_in_a_block_false_wins() -> None:
    for rows in ("EXIT_SIGNAL: false\nEXIT_SIGNAL: true", "EXIT_SIGNAL: true\nEXIT_SIGNAL: false"):
        assert read(block().replace("EXIT_SIGNAL: true", rows)).exit_signal is False


def test_a_signal_on_a_line_of_its_own_counts_without_a_block() -> None:
    assert read("It does not work yet.\n\nEXIT_SIGNAL: false\n").holds_back == "the agent says EXIT_SIGNAL: false"
    claim = read("Done.\nEXIT_SIGNAL: true")
    assert claim.exit_signal is True
    assert not claim.is_complete


def test_a_false_behind_the_block_holds_back_and_one_before_it_does_not() -> None:
    assert read(f"{block()}\nWait, a test fails.\nEXIT_SIGNAL: false\n").exit_signal is False
    assert read(f"Last time I said\nEXIT_SIGNAL: false\n\n{block()}").exit_signal is True


@pytest.mark.fault("A6")
def test_a_signal_in_shown_code_is_none() -> None:
    assert read("The docs say:\n```\nEXIT_SIGNAL: false\n```\nDone.").exit_signal is None


@pytest.mark.parametrize(
    "status",
    [
        "BLOCKED",
        "blocked",
        "BLOCKED (no key)",
        "**BLOCKED**",
        "BLOCKED: no key",
        "FAILED",
        '"BLOCKED",',
        "[BLOCKED]",
        "\u26d4 BLOCKED",
        "'FAILED'",
    ],
)
def test_a_status_can_hold_back_whatever_the_signal(status: str) -> None:
    claim = read(block(STATUS=status))
    assert claim.holds_back.startswith("the agent says STATUS: ")
    assert not claim.is_complete


def test_a_status_that_holds_back_nothing() -> None:
    for status in ("IN_PROGRESS", "UNBLOCKED", "NOT BLOCKED", ""):
        assert read(block(STATUS=status)).holds_back == ""


def test_a_question_is_asked_with_its_choices() -> None:
    claim = read(block(STATUS="BLOCKED", EXIT_SIGNAL="false", RECOMMENDATION="Which one?\n1. OAuth\n2. Passwords"))
    assert claim.asks == "Which one?\n1. OAuth\n2. Passwords"
    assert "Which one?" in claim.holds_back
    assert read(block(RECOMMENDATION="Which one?")).asks == ""


@pytest.mark.parametrize("nothing", ["none", "None.", "N/A", "", "<one line>"])
def test_no_recommendation_is_none(nothing: str) -> None:
    assert read(block(RECOMMENDATION=nothing)).recommendation == ""


def test_a_recommendation_is_bounded() -> None:
    assert len(read(block(RECOMMENDATION="x" * 100_000)).recommendation) == 4000


@pytest.mark.parametrize(
    "text, promise",
    [
        ("<promise>COMPLETE</promise>", "COMPLETE"),
        ("  <promise>STORY_DONE</promise>  ", "STORY_DONE"),
        ("<promise>FAILED</promise>\n<promise>COMPLETE</promise>", "COMPLETE"),
        ("I will say <promise>COMPLETE</promise> when it is done", ""),
        ("<promise>complete</promise>", ""),
        ("<promise> COMPLETE </promise>", ""),
        ("`<promise>COMPLETE</promise>`", ""),
    ],
)
def test_a_promise_stands_alone_on_its_line(text: str, promise: str) -> None:
    assert read(text).promise == promise


def test_a_promise_of_failure_holds_back() -> None:
    assert read(f"{block()}<promise>FAILED</promise>").holds_back == "the agent says <promise>FAILED</promise>"


def test_already_satisfied_is_a_claim_of_the_recommendation() -> None:
    assert read(block(RECOMMENDATION="The story is Already satisfied.")).says_satisfied
    assert not read(f"already satisfied\n{block()}").says_satisfied


@pytest.mark.parametrize("ending", ["\r\n", "\r", "\n"])
def test_line_endings_do_not_matter(ending: str) -> None:
    text = f"Done.\n{block(STATUS='BLOCKED', EXIT_SIGNAL='false', RECOMMENDATION='Which?')}<promise>FAILED</promise>\n"
    assert read(text.replace("\n", ending)) == Claim(True, "BLOCKED", False, "Which?", "FAILED")


words = st.sampled_from(
    ["---RALPH_STATUS---", "---END_RALPH_STATUS---", "EXIT_SIGNAL", "STATUS", ":", "true", "false", "\n", " ", ">", "*",
     "```", "<promise>COMPLETE</promise>", "BLOCKED", "\r", "\u2028", "\x00", "\ud800"]
)  # fmt: skip


@settings(deadline=None)
@given(st.one_of(st.text(), st.lists(words, max_size=40).map("".join)))
def test_no_text_breaks_the_reader(text: str) -> None:
    claim = read(text)
    assert claim.has_block or not claim.is_complete
    assert not (claim.is_complete and claim.holds_back)


@settings(deadline=None)
@given(st.text(st.characters(exclude_characters="\n\r")))
def test_an_explicit_false_after_anything_is_heard(text: str) -> None:
    assert read(f"{text}\n\n{block(EXIT_SIGNAL='false')}").exit_signal is False


@pytest.mark.parametrize(
    "text",
    [
        "---RALPH_STATUS---\n" * 50_000,
        "\n" * 500_000,
        "`*_- " * 200_000,
        "EXIT_SIGNAL" * 100_000,
        " \t" * 500_000 + ":",
        "_" * 500_000,
        "*" * 500_000,
        "*" * 500_000 + "a" * 10,
        "_" * 500_000 + ": false",
        "```" * 100_000,
        "```\n" * 100_000,
        "=" * 500_000,
    ],
)
def test_a_text_made_to_be_slow_is_read_in_no_time(text: str) -> None:
    began = time.process_time()
    assert read(text) == Claim()
    assert time.process_time() - began < 2.0


JSON = {"status": "COMPLETE", "exit_signal": True, "work_type": "TESTING", "recommendation": "none"}


@pytest.mark.parametrize(
    "text", [orjson.dumps(JSON).decode(), f"```json\n{orjson.dumps(JSON).decode()}\n```",
             orjson.dumps({"RALPH_STATUS": JSON}).decode()],
)  # fmt: skip
def test_a_message_that_is_a_json_object_is_a_report(text: str) -> None:
    claim = read(text)
    assert claim == COMPLETE and claim.is_complete and claim.work_type == "TESTING"
    assert read(text.replace("true", "false")).holds_back


def test_structured_output_counts_beside_the_text_and_false_wins() -> None:
    assert read("Done.", JSON).is_complete
    assert read(block(), {"exit_signal": False}).holds_back
    assert read(block(EXIT_SIGNAL="false"), JSON).holds_back
    assert read(block(), {"STATUS": "BLOCKED", "recommendation": "Which?"}).asks == "Which?"
    values: list[Any] = [{}, {"exit_signal": []}, {"status": None, 5: 5}, {"STATUS": {"a": 1}}, None]
    for value in values:
        assert read("Done.", value) == Claim()


@pytest.mark.parametrize("told", [{"RALPH_STATUS": JSON}, JSON])
def test_a_report_as_json_may_end_a_message_of_words(told: dict[str, Any]) -> None:
    text = f"The form is there.\n\n```python\nprint(1)\n```\n\n```json\n{orjson.dumps(told).decode()}\n```\n"
    assert read(text).is_complete
    assert read(text.replace("true", "false")).holds_back
    assert read(f"{text}\nThat is what I would say.") == Claim()


@pytest.mark.parametrize("shown", ['{"status": "failed"}', '{"status": "BLOCKED", "recommendation": "x"}', "[1]", "{"])
def test_json_that_a_message_shows_at_its_end_is_no_report(shown: str) -> None:
    assert read(f"The service answers:\n```json\n{shown}\n```") == Claim()


@pytest.mark.parametrize("text", ['{"exit_signal": true', '{"exit_signal": tru}', "[1, 2]", '{"a": 1}', "{", "null"])
def test_json_that_is_broken_or_says_nothing_is_text(text: str) -> None:
    assert read(text) == Claim()
    assert read(f"{text}\n{block()}") == COMPLETE


@pytest.mark.fault("A6")
@pytest.mark.parametrize(
    "text",
    [
        "I am NOT outputting <promise>STORY_DONE</promise> yet.",
        "I will only say <promise>COMPLETE</promise> when all is done",
        "The file says:\n> <promise>STORY_DONE</promise>\n> EXIT_SIGNAL: true",
        "`<promise>STORY_DONE</promise>` is what I would print.",
        "The log has EXIT_SIGNAL: true in it.",
    ],
)
def test_signals_that_are_negated_quoted_or_told_are_none(text: str) -> None:
    claim = read(text)
    assert (claim.promise, claim.exit_signal, claim.is_complete) == ("", None, False)


@pytest.mark.fault("A8")
def test_a_message_without_a_report_that_ends_with_a_question_asks() -> None:
    claim = read("I looked around.\n\nThere are two ways.\nShould people sign in with OAuth or with passwords?\n")
    assert claim.asks == "There are two ways.\nShould people sign in with OAuth or with passwords?"
    assert claim.holds_back and claim.confidence == 0.0
    for text in (f"Shall I go on?\n{block()}", f"{block()}\nShall I go on?", "Why? Because.\nDone.",
                 "EXIT_SIGNAL: true\n\nAnything else?", "Look:\n```\nwhy?\n```\n", "> Really?"):  # fmt: skip
        assert read(text).asks == "", text


def test_prose_is_a_guess_that_says_how_sure_it_is() -> None:
    sure = read("I implemented the form. All tests pass, everything is done.").confidence
    unsure = read("I could not finish: two tests still fail, the form is not implemented yet.").confidence
    assert 0.0 == unsure < read("I looked at it.").confidence < sure <= 0.8
    assert (read("").confidence, read("EXIT_SIGNAL: true").confidence, read(block()).confidence) == (0.0, 0.9, 1.0)
    assert read(f"All done, all tests pass.\n{block(EXIT_SIGNAL='false')}").confidence == 0.0


@given(st.text(), st.none() | st.dictionaries(st.text(), st.text() | st.booleans() | st.none() | st.integers()))
def test_whatever_is_said_is_read_and_never_more_than_sure(text: str, structured: dict[str, object] | None) -> None:
    claim = read(text, structured)
    assert 0.0 <= claim.confidence <= 1.0
    assert not (claim.is_complete and claim.holds_back)
