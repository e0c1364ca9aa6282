"""What a PRD asks for, as a rehearsed spec step understands it: a title and two to five stories."""

from __future__ import annotations

import json
import re
from typing import Any

from ralphy.rehearsal import files
from ralphy.rehearsal.scene import Scene

FEWEST, MOST = 2, 5
TITLE_LENGTH = 72
BULLET = re.compile(r" {0,1}(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?(\S.*)")
HEADING = re.compile(r"(#{1,6})\s+(\S.*)")
STORY_ID = re.compile(r"US-\d+\s*[:.–—-]*\s*")
MARKUP = re.compile(r"[*_`#]|\[([^\]]*)\]\([^)]*\)")
LEFT_OUT = re.compile(r"non.?goal|out of scope|hors|risk|risque|reference|glossar|metric|question", re.IGNORECASE)
GENERAL = re.compile(r"objecti|context|background|overview|introduc|requirement|exigence|stories", re.IGNORECASE)


def existing_stories(scene: Scene) -> list[dict[str, Any]]:
    """The stories that prd.json has already: their ids, texts and order are kept."""
    found = _stories(scene)
    kept = ("id", "title", "description", "kind", "acceptanceCriteria", "priority", "dependsOn", "testing")
    return [{**{name: story[name] for name in kept if name in story}, **_context(story)} for story in found]


def _stories(scene: Scene) -> list[dict[str, Any]]:
    try:
        prd = json.loads(files.read(scene.artifact("prd.json")))
        return [story for story in prd["userStories"] if story.get("id")]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


def criteria_done(scene: Scene) -> list[str]:
    """The criteria of the completed stories, as a review names them: US-003.2."""
    done = [story for story in _stories(scene) if story.get("passes") is True]
    return [f"{story['id']}.{place}" for story in done
            for place, _ in enumerate(story.get("acceptanceCriteria") or (), 1)]  # fmt: skip


def new_stories(prd: str, scene: Scene) -> list[dict[str, Any]]:
    """Two to five stories; the last one waits for the first, so that an order is to be seen."""
    name = title(prd, scene)
    titles = (_wishes(prd) or [f"First slice of {name}"])[:MOST]
    titles += [f"Rehearse {name} ({number})" for number in range(len(titles) + 1, FEWEST + 1)]
    stories = [_new_story(number, wish) for number, wish in enumerate(titles, start=1)]
    stories[-1]["dependsOn"] = ["US-001"]
    return stories


def _new_story(number: int, wish: str) -> dict[str, Any]:
    story = f"US-{number:03d}"
    name = story.lower().replace("-", "_")
    head = {"id": story, "title": _short(wish)}
    return {
        **head,
        "description": f"{wish} (planned by a rehearsal)",
        "acceptanceCriteria": [f"rehearsal/{name}.py defines {name}()", "All checks pass"],
        "priority": number,
        "dependsOn": [],
        **_context(head),
    }


def _short(wish: str) -> str:
    """A title of it that ends with a whole word."""
    if len(wish) > TITLE_LENGTH:
        wish = wish[: TITLE_LENGTH + 1].rsplit(" ", 1)[0][:TITLE_LENGTH]
    return wish.rstrip(" .,;:")


def _context(story: dict[str, Any]) -> dict[str, Any]:
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
    bullets: list[str] = []
    headings: list[str] = []
    wanted, fenced = True, False
    for line in prd.splitlines():
        fenced ^= line.lstrip().startswith("```")
        if fenced:
            continue
        if found := HEADING.match(line):
            wanted = not LEFT_OUT.search(found[2])
            is_wish = wanted and len(found[1]) > 1 and not GENERAL.search(found[2])
            headings += [_plain(found[2])] if is_wish else []
        elif wanted and (found := BULLET.match(line)):
            bullets.append(_plain(found[1]))
    chosen = bullets if len(bullets) >= FEWEST else bullets + headings
    return list(dict.fromkeys(wish for wish in chosen if wish))


def title(prd: str, scene: Scene) -> str:
    """The PRD's first heading, without a `PRD:` before it; else the feature's name."""
    found = next((match for line in prd.splitlines() if (match := HEADING.match(line))), None)
    text = re.sub(r"^PRD\s*[:–—-]\s*", "", _plain(found[2])) if found else ""
    return text or scene.feature or "feature"


def _plain(text: str) -> str:
    """One line without Markdown, control characters, or a story's id in front."""
    bare = MARKUP.sub(lambda found: found[1] or "", text)
    return STORY_ID.sub("", "".join(sign for sign in bare if sign.isprintable())).strip()
