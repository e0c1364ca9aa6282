"""Criteria and tasks in every accepted form: their words reach every place where a story is read."""

from __future__ import annotations

from itertools import product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ralphy.documents.criteria import WORDS, Item, item_of
from ralphy.documents.prd_reader import prd_problems
from ralphy.documents.progress import ProgressEntry, story_document
from ralphy.engine.view.view import tasks_text
from ralphy.pipeline.model import Prd
from ralphy.prompts.render import render
from ralphy.prompts.review_brief import stories_for_review
from tests.core.building import examples

PLAIN = st.text(st.characters(categories=["L", "N"], max_codepoint=0x2FFF), min_size=1, max_size=12)
SENTENCE = st.lists(PLAIN, min_size=1, max_size=5).map(" ".join)
BLANK = st.sampled_from(["", " ", "\n"])
FORM = SENTENCE | st.fixed_dictionaries(
    {},
    optional={"id": PLAIN | st.integers(0, 99), "title": SENTENCE | BLANK, "text": SENTENCE | BLANK,
              "description": SENTENCE | BLANK, "done": st.booleans(), "verify": SENTENCE},
)  # fmt: skip


def prd_with(*items: Any, name: str = "acceptanceCriteria") -> dict[str, Any]:
    return {"userStories": [{"id": "US-001", "title": "Sign in", name: list(items)}]}


FORMS: list[tuple[Any, str]] = [
    ("Hashed", "Hashed"),
    ({"id": "AC1", "description": "Hashed", "done": False}, "AC1: Hashed"),
    ({"id": 1, "text": "Hashed"}, "1: Hashed"),
    ({"text": " Hashed\n"}, "Hashed"),
    ({"title": "Hashed", "done": True}, "Hashed"),
    ({"title": "Hashed", "description": "with a salt"}, "Hashed: with a salt"),
    ({"title": "Hashed", "description": "Hashed"}, "Hashed"),
    ({"description": "Hashed", "verify": "grep salt", "status": "open"}, "Hashed\nverify: grep salt"),
    ({"title": "Sign in", "steps": ["open", "type"], "size": 3}, "Sign in\nsteps: open; type"),
]
NO_WORDS: list[Any] = ["", " \n", {}, {"id": "AC1", "done": False}, {"title": " "}, {"note": "x"}]


def test_every_form_is_read_and_what_has_no_words_is_refused() -> None:
    for raw, said in FORMS:
        assert str(item_of(raw)) == said
        assert not prd_problems(prd_with(raw))
    for raw, name in product(NO_WORDS, ["acceptanceCriteria", "tasks"]):
        (found,) = prd_problems(prd_with("fine", raw, name=name))
        assert found.path == ("userStories", 0, name, 1)
        assert "must be a sentence, or an object with a sentence in title, text or description" in found.message


@given(FORM)
def test_what_has_words_is_taken(raw: Any) -> None:
    values = [raw.get(name, "") for name in WORDS] if isinstance(raw, dict) else [raw]
    assert bool(prd_problems(prd_with(raw))) is not any(value.strip() for value in values)


def words_of(raw: Any) -> set[str]:
    """Every word that a person wrote into a criterion."""
    values = raw.values() if isinstance(raw, dict) else [raw]
    return {word for value in values if not isinstance(value, bool) for word in str(value).split()}


@settings(max_examples=examples(60))
@given(st.lists(FORM.filter(lambda raw: not prd_problems(prd_with(raw))), min_size=1, max_size=4))
def test_every_word_of_a_valid_criterion_reaches_prompts_views_and_the_document(listed: list[Any]) -> None:
    story = Prd.of({**prd_with(*listed)}).stories[0]
    entry = ProgressEntry("2026-01-14T02:31:07Z", "US-001", "Sign in", 1, 5, "failed", 1, "r1", 1.0, (), ())
    texts = [
        render("story", {"feature": "login", "outbox": "/o", "nonce": "f" * 8, "story": story.raw}, []).text,
        tasks_text(Prd.of(prd_with(*listed, name="tasks"))),
        story_document("", story, entry),
        stories_for_review([story], 49152, "prd.json"),
    ]
    for text in texts:
        assert set().union(*map(words_of, listed)) <= set(text.replace(":", " ").split())


def test_a_criterion_has_the_digest_that_earlier_reviews_have_recorded_and_a_bullet_its_further_lines() -> None:
    assert Item("", "Hashed").digest == "644ae255cece"
    assert Item("AC1", "one\ntwo").bullet("- [ ]") == "- [ ] AC1: one\n  two"
