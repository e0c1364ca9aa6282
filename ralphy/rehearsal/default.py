"""The embedded scenario: what an agent would usually do, made from the PRD of any repository."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ralphy.rehearsal import files
from ralphy.rehearsal.languages import language_of
from ralphy.rehearsal.scene import Scene


def usual_act(scene: Scene) -> dict[str, Any]:
    """The act of this step in a run where everything goes well."""
    return ACTS[scene.step](scene)


CLARIFICATIONS = """# Clarifications: {feature}

## Q1. How much of it is rehearsed?

- A. All of it (recommended)
- B. The first requirement alone

Answer:
"""


def _clarify(scene: Scene) -> dict[str, Any]:
    return {"outbox": {"CLARIFICATIONS.md": CLARIFICATIONS.format(feature=scene.feature)}, "say": "One question."}


def _spec(scene: Scene) -> dict[str, Any]:
    from ralphy.rehearsal import prd

    path = scene.artifact("PRD.md")
    wanted = files.read_or_empty(path)
    stories = prd.existing_stories(scene) or prd.new_stories(wanted, scene)
    head = f"# {prd.title(wanted, scene)}: specification\n\nWritten by a rehearsal.\n\n"
    spec = head + "\n".join(prd.section(story) for story in stories)
    return {
        "read": [path],
        "outbox": {"SPEC.md": spec, "stories.json": {"userStories": stories}},
        "say": f"The specification of {scene.feature} has {len(stories)} stories.",
    }


ACCEPTANCE = """## {path}

- {story}.1: test_{slug}

```python
def test_{slug}():
    from rehearsal.{slug} import {slug}

    assert {slug}() == "{story}"
```
"""


def _acceptance(scene: Scene) -> dict[str, Any]:
    """A test for the first criterion of each story: that its function names it."""
    from ralphy.rehearsal import prd

    stories = [scene._replace(story=str(story["id"])) for story in prd.existing_stories(scene)
               if story.get("acceptanceCriteria")]  # fmt: skip
    files = [ACCEPTANCE.format(path=f"tests/acceptance/test_{one.slug}.py", story=one.story, slug=one.slug)
             for one in stories]  # fmt: skip
    text = f"# Acceptance tests: {scene.feature}\n\nWritten by a rehearsal.\n\n" + "\n".join(files)
    return {"outbox": {"ACCEPTANCE.md": text}, "say": f"{len(files)} acceptance tests are written."}


def _story(scene: Scene) -> dict[str, Any]:
    """One tiny real function with its test; a file that exists already gets one more, so that there is a diff."""
    language = language_of(scene.cwd)
    slug, name = scene.slug, f"rehearsal/{scene.slug}{language.suffix}"
    parts = {name: (language.begin.format(story=scene.story), language.function)}
    if language.file:
        parts[language.file.format(slug=slug)] = (language.begin_test, language.test)
    again = files.read_or_empty(files.join(scene.cwd, name)).count("  return ")
    function = f"{slug}_{again + 1}" if again else slug
    act: dict[str, Any] = {"think": f"{scene.story} needs one small function.",
                           "say": f"{scene.story} is done: see {name}."}  # fmt: skip
    for path, (begin, text) in parts.items():
        filled = text.format(name=function, story=scene.story, source=language.source.format(slug=slug))
        if files.read_or_empty(files.join(scene.cwd, path)):
            act.setdefault("append", {})[path] = filled
        else:
            act.setdefault("write", {})[path] = begin + filled
    return act


def _split(scene: Scene) -> dict[str, Any]:
    """One piece is cut off: enough to go on with."""
    piece = {"id": "A", "title": f"Prepare {scene.story}", "acceptanceCriteria": ["The ground is laid"], "priority": 1}
    return {"outbox": {"stories.json": {"userStories": [piece]}}, "say": f"{scene.story} is split in two."}


def _qa(scene: Scene) -> dict[str, Any]:
    from ralphy.rehearsal.prd import criteria_done

    rows = ", ".join(f"{{id: {name}, met: yes}}" for name in criteria_done(scene))
    front = "---\nverdict: pass\nfindings: []\n" + (f"criteria: [{rows}]\n" if rows else "") + "---\n"
    body = f"# QA report: {scene.feature}\n\nA rehearsal looked at nothing and found nothing.\n"
    return {"outbox": {"QA_REPORT.md": f"{front}\n{body}"}, "say": "No findings."}


def _pr(scene: Scene) -> dict[str, Any]:
    from ralphy.rehearsal.prd import title

    head = title(files.read_or_empty(scene.artifact("PRD.md")), scene)
    body = f"# {head}\n\nThe stories of `{scene.feature}`, rehearsed.\n"
    return {"outbox": {"PR.md": body}, "say": "The text of the pull request is written."}


def _other(scene: Scene) -> dict[str, Any]:
    return {"say": f"Nothing to do for {scene.feature or 'this prompt'}; this is a rehearsal."}


ACTS: dict[str, Callable[[Scene], dict[str, Any]]] = {
    "clarify": _clarify,
    "spec": _spec,
    "acceptance": _acceptance,
    "story": _story,
    "split": _split,
    "qa": _qa,
    "pr": _pr,
    "other": _other,
}
