"""A PRD as the rehearsed spec step reads it: a title and two to five stories."""

from __future__ import annotations

import json
import re
import textwrap
from typing import Any

from ralphy.rehearsal.context import Context

FEWEST, MOST = 2, 5
TITLE_LENGTH = 72
# Patterns as texts: only the spec step compiles them.
BULLET = r"(?m)^ ?(?:[-*+]|\d+[.)])[ \t]+(?:\[[ xX]\]\s+)?(\S.*)"
HEADING = r"(?m)^(#{1,6})[ \t]+(\S.*)"
FENCED = r"(?ms)^\s*```.*?^\s*```"
STORY_ID = r"US-\d+\s*[:.–—-]*\s*"
MARKUP = r"[*_`#]|\[([^\]]*)\]\([^)]*\)"
LEFT_OUT = r"(?i)non.?goal|out of scope|hors|risk|risque|reference|glossar|metric|question"
GENERAL = r"(?i)objecti|^scope|context|background|overview|introduc|requirement|exigence|stories"
FIELDS = ("id", "title", "description", "kind", "acceptanceCriteria", "priority", "dependsOn", "testing")


def existing_stories(context: Context) -> list[dict[str, Any]]:
    """The stories of prd.json with the same ids, texts and order."""
    return [
        {**{name: story[name] for name in FIELDS if name in story}, **_spec_of(story)} for story in _stories(context)
    ]


def criteria_done(context: Context) -> list[str]:
    """The ids of the criteria of completed stories, such as US-003.2."""
    done = [story for story in _stories(context) if story.get("passes") is True]
    return [f"{story['id']}.{place}" for story in done
            for place, _ in enumerate(story.get("acceptanceCriteria") or (), 1)]  # fmt: skip


def _stories(context: Context) -> list[dict[str, Any]]:
    try:
        prd = json.loads(context.artifact("prd.json").read_text(encoding="utf-8"))
        return [story for story in prd["userStories"] if story.get("id")]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


def new_stories(prd: str, context: Context) -> list[dict[str, Any]]:
    """Two to five stories; the last one depends on the first, to show an order."""
    name = title(prd, context)
    wishes = (_wishes(prd) or [name])[:MOST]
    wishes += [f"Rehearse {name} ({number})" for number in range(len(wishes) + 1, FEWEST + 1)]
    stories = [_new_story(number, wish) for number, wish in enumerate(wishes, start=1)]
    stories[-1]["dependsOn"] = ["US-001"]
    return stories


def _new_story(number: int, wish: str) -> dict[str, Any]:
    name = f"us_{number:03d}"
    story = {
        "id": f"US-{number:03d}",
        "title": textwrap.wrap(wish, TITLE_LENGTH)[0].rstrip(" .,;:"),
        "description": f"{wish} (planned by a rehearsal)",
        "acceptanceCriteria": [f"rehearsal/{name}.py defines {name}()", "All checks pass"],
        "priority": number,
        "dependsOn": [],
    }
    return {**story, **_spec_of(story)}


def _spec_of(story: dict[str, Any]) -> dict[str, Any]:
    """Where the story's section of SPEC.md is, with the anchor that its heading gets."""
    words = re.sub(r"[^\w -]", "", _heading(story).lower())
    return {"context": {"parent_spec": "SPEC.md#" + words.replace(" ", "-")}}


def _heading(story: dict[str, Any]) -> str:
    return f"{story['id']} {story.get('title', '')}".strip()


def section(story: dict[str, Any]) -> str:
    """The story's section of SPEC.md."""
    criteria = story.get("acceptanceCriteria") or []
    texts = [item.get("description", "") if isinstance(item, dict) else item for item in criteria]
    lines = "".join(f"- {text}\n" for text in texts)
    return f"## {_heading(story)}\n\n{story.get('description', '')}\n\nAcceptance:\n\n{lines}"


def _wishes(prd: str) -> list[str]:
    """The PRD's bullet points, or its lesser headings where it has fewer than two."""
    sections = re.split(r"^(?=#)", re.sub(FENCED, "", prd), flags=re.MULTILINE)
    wanted = [section for section in sections if not re.search(LEFT_OUT, section.split("\n", 1)[0])]
    bullets = [text for section in wanted for text in re.findall(BULLET, section)]
    headings = [match[2] for section in wanted if (match := re.match(HEADING, section))
                and len(match[1]) > 1 and not re.search(GENERAL, match[2])]  # fmt: skip
    chosen = bullets if len(bullets) >= FEWEST else bullets + headings
    return [wish for wish in dict.fromkeys(map(_plain, chosen)) if wish]


def title(prd: str, context: Context) -> str:
    """The PRD's first heading, without a `PRD:` before it; else the feature's name."""
    match = re.search(HEADING, prd)
    text = re.sub(r"^PRD\s*[:–—-]\s*", "", _plain(match[2])) if match else ""
    return text or context.feature or "feature"


def _plain(text: str) -> str:
    """One line without Markdown, control characters, or a story's id in front."""
    bare = re.sub(MARKUP, lambda match: match[1] or "", text)
    return re.sub(STORY_ID, "", "".join(sign for sign in bare if sign.isprintable())).strip()
