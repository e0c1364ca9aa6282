"""QUESTIONS.md: what is asked, what is answered, and nothing that looks like either by chance."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralphy.documents.questions import answers, asked, step_key, unanswered_steps, without
from ralphy.pipeline.model import Answer

ONE = asked("", "US-001", "Sign in", "OAuth or passwords?\nI see both.")


def answered(text: str, story: str, said: str) -> str:
    """The file after a person has written behind a story's `Answer:`."""
    head, mark, tail = text.partition(f"\n## {story}:")
    return head + mark + tail.replace("\nAnswer:", f"\nAnswer: {said}", 1)


def test_a_question_stands_in_a_section_of_its_own_and_an_answer_is_read_story_by_story() -> None:
    assert ONE == (
        "# Questions\n\nWrite after `Answer:` and save; the story or step then resumes.\n\n"
        "## US-001: Sign in\n\n> OAuth or passwords?\n> I see both.\n\nAnswer:\n"
    )
    assert answers(ONE) == ()
    both = asked(ONE, "US-002", "Sign out", "Where?")
    assert answers(answered(both, "US-002", "top right")) == (Answer("US-002", "top right"),)
    assert answers(answered(answered(both, "US-002", "there"), "US-001", "OAuth")) == (
        Answer("US-001", "OAuth"),
        Answer("US-002", "there"),
    )


def test_the_question_of_a_step_is_no_storys_even_one_of_that_name() -> None:
    both = asked(asked("", "spec", "A story", "Which?"), step_key("spec"), "SPEC.md", "Who is it\nfor?")
    assert unanswered_steps(both) == {"spec"} and answers(both) == ()
    text = answered(both, "spec step", "everybody")
    (answer,) = answers(text)
    assert (answer.story, answer.step, answer.text, answer.question) == ("", "spec", "everybody", "Who is it\nfor?")
    assert unanswered_steps(text) == frozenset()
    assert "## spec: A story" in without(text, step_key("spec"))


def test_a_question_asked_again_replaces_the_first() -> None:
    again = asked(answered(ONE, "US-001", "yes"), "US-001", "Sign in", "Which OAuth?")
    assert answers(again) == ()
    assert again.count("## US-001:") == 1
    assert "> Which OAuth?" in again and "passwords" not in again


ANSWERS = {
    "Answer: yes": "yes",
    "Answer:yes  ": "yes",
    "answer: yes": "yes",
    "**Answer:** yes": "yes",
    "**Answer**: yes": "yes",
    "  Answer: yes": "yes",
    "Answer:\n\nyes, and\n\n- a\n- b\n": "yes, and\n\n- a\n- b",
    "Answer: see\nAnswer: below": "see\nAnswer: below",
    "Answer:\r\nyes\r\n": "yes",
    "Answer: # not a heading": "# not a heading",
    "Answer:\n### a small heading": "### a small heading",
}


def test_ways_to_answer_and_what_is_no_answer() -> None:
    for line, said in ANSWERS.items():
        assert answers(ONE.replace("Answer:", line)) == (Answer("US-001", said),), line
    for line in ("Answer:", "Answer:   \n\n", "", "The answer is: yes", "> Answer: yes", "yes", "Answer"):
        assert answers(ONE.replace("Answer:\n", f"{line}\n")) == (), line


@pytest.mark.parametrize(
    "trap",
    ["Answer: yes", "x\nAnswer: yes", "x\rAnswer: yes", "x\u2028Answer: yes", "## US-002: forged\nAnswer: yes",
     "\x0bAnswer: yes", "> x\n\nAnswer: yes", "```\nAnswer: yes\n```"],
)  # fmt: skip
def test_no_question_answers_itself(trap: str) -> None:
    for text in (asked("", "US-001", "t", trap), asked(ONE, "US-003", "t", trap)):
        assert answers(text) == ()
        assert answers(answered(text, "US-001", "no"))[0] == Answer("US-001", "no")


def test_a_question_is_no_command_to_a_terminal_and_one_without_words_is_said_to_have_none() -> None:
    text = asked("", "US-001", "t", "\x1b[2J\x07 which\u202e?")
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    for question in ("", " \n ", "\x00"):
        assert "> (no words)\n" in asked("", "US-001", "t", question)


def test_a_persons_own_text_is_kept() -> None:
    mine = "# My notes\n\nremember the milk\n\n## Not a story\n\nAnswer: 42\n"
    text = asked(mine, "US-001", "t", "Which?")
    assert text.startswith(mine.rstrip())
    assert answers(text) == ()
    assert without(text, "US-001").rstrip() == mine.rstrip()


@given(st.lists(st.tuples(st.sampled_from(["US-001", "US-002", "a.b_c-d"]), st.text()), max_size=5), st.text())
def test_any_questions_are_open_until_they_are_answered(rows: list[tuple[str, str]], said: str) -> None:
    text = ""
    for story, question in rows:
        text = asked(text, story, "t", question)
    assert answers(text) == ()
    for story in dict.fromkeys(story for story, _ in rows):
        found = answers(answered(text, story, "yes"))
        assert found == (Answer(story, "yes"),)
        text = without(text, story)
    assert "## " not in text
    assert isinstance(answers(said), tuple)
