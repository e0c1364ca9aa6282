"""The default scenario: the usual turn of each step, made from the PRD of any repository."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ralphy.rehearsal import prd
from ralphy.rehearsal.context import Context
from ralphy.rehearsal.languages import language_of
from ralphy.rehearsal.tools import text_of

CLARIFICATIONS = """# Clarifications: {feature}

## Q1. How much of it is rehearsed?

- A. All of it (recommended)
- B. The first requirement alone

Answer:
"""
ACCEPTANCE = """## tests/acceptance/test_{slug}.py

- {story}.1: test_{slug}

```python
def test_{slug}():
    from rehearsal.{slug} import {slug}

    assert {slug}() == "{story}"
```
"""


def usual_turn(context: Context) -> dict[str, Any]:
    """The default turn of this run's step, in which everything goes well."""
    return TURNS[context.step](context)


def _clarify(context: Context) -> dict[str, Any]:
    return {"outbox": {"CLARIFICATIONS.md": CLARIFICATIONS.format(feature=context.feature)}, "say": "One question."}


def _spec(context: Context) -> dict[str, Any]:
    path = context.artifact("PRD.md")
    text = text_of(path)
    stories = prd.existing_stories(context) or prd.new_stories(text, context)
    head = f"# {prd.title(text, context)}: specification\n\nWritten by a rehearsal.\n\n"
    spec = head + "\n".join(prd.section(story) for story in stories)
    return {
        "read": [str(path)],
        "outbox": {"SPEC.md": spec, "stories.json": {"userStories": stories}},
        "say": f"The specification of {context.feature} has {len(stories)} stories.",
    }


def _acceptance(context: Context) -> dict[str, Any]:
    """A test for the first criterion of each story: its function returns the story's id."""
    stories = [context._replace(story=str(story["id"])) for story in prd.existing_stories(context)
               if story.get("acceptanceCriteria")]  # fmt: skip
    tests = [ACCEPTANCE.format(story=one.story, slug=one.slug) for one in stories]
    text = f"# Acceptance tests: {context.feature}\n\nWritten by a rehearsal.\n\n" + "\n".join(tests)
    return {"outbox": {"ACCEPTANCE.md": text}, "say": f"{len(tests)} acceptance tests are written."}


def _story(context: Context) -> dict[str, Any]:
    """One small function with its test; a story that was done before gets another one, so that there is a diff."""
    language = language_of(context.cwd)
    done = list(context.cwd.glob(f"rehearsal/{context.slug}*"))
    name = f"{context.slug}_{len(done) + 1}" if done else context.slug
    path = f"rehearsal/{name}{language.suffix}"
    texts = {path: language.code, language.test_file: language.test}
    filled = {"name": name, "story": context.story, "up": language.up}
    return {
        "think": f"{context.story} needs one small function.",
        "write": {file.format(**filled): text.format(**filled) for file, text in texts.items() if file},
        "say": f"{context.story} is done: see {path}.",
    }


def _split(context: Context) -> dict[str, Any]:
    """One smaller story is split off."""
    piece = {"id": "A", "title": f"Prepare {context.story}", "acceptanceCriteria": ["The ground is laid"],
             "priority": 1}  # fmt: skip
    return {"outbox": {"stories.json": {"userStories": [piece]}}, "say": f"{context.story} is split in two."}


def _qa(context: Context) -> dict[str, Any]:
    rows = ", ".join(f"{{id: {name}, met: yes}}" for name in prd.criteria_done(context))
    front = "---\nverdict: pass\nfindings: []\n" + (f"criteria: [{rows}]\n" if rows else "") + "---\n"
    body = f"# QA report: {context.feature}\n\nA rehearsal looked at nothing and found nothing.\n"
    return {"outbox": {"QA_REPORT.md": f"{front}\n{body}"}, "say": "No findings."}


def _pr(context: Context) -> dict[str, Any]:
    head = prd.title(text_of(context.artifact("PRD.md")), context)
    body = f"# {head}\n\nThe stories of `{context.feature}`, rehearsed.\n"
    return {"outbox": {"PR.md": body}, "say": "The text of the pull request is written."}


def _other(context: Context) -> dict[str, Any]:
    return {"say": f"Nothing to do for {context.feature or 'this prompt'}; this is a rehearsal."}


TURNS: dict[str, Callable[[Context], dict[str, Any]]] = {
    "clarify": _clarify,
    "spec": _spec,
    "acceptance": _acceptance,
    "story": _story,
    "split": _split,
    "qa": _qa,
    "pr": _pr,
    "other": _other,
}
