"""The morning menu: each story is taken out of the finished branch alone, and the checks say whether it is missed.

Taking out is Git's own three-way merge, of code alone; no checkout and no branch is touched. What was found is kept for
this code and these checks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from ralphy.checks.listing import FAILED
from ralphy.checks.runner_output import failing_tests
from ralphy.engine.feature.lane_tree import tip_of
from ralphy.engine.lane_use.checks import argv
from ralphy.engine.lane_use.lane_layout import is_set_up_for
from ralphy.engine.lane_use.take_over import candidate_of
from ralphy.engine.lane_use.trial import Beside, Told, tried, words_for
from ralphy.engine.runs.onto_tip import merge_trees
from ralphy.engine.verify.baseline import key_of
from ralphy.engine.workspace.changes import is_control
from ralphy.engine.workspace.workspace import Workspace
from ralphy.files.notes import read_note, write_note
from ralphy.git.ledger import commits_of
from ralphy.pipeline.menu import Dish, dish
from ralphy.pipeline.model import Prd, Story
from ralphy.testguard.kept.test_keys import Key
from ralphy.text.json_coerce import mapping_of

_LEAST_STORIES = 2
_MOST_RED = 20


def known_menu(w: Workspace, prd: Prd, tip: str) -> list[Dish]:
    """What is known of each story, for the code as it is at `tip`."""
    rows = _noted(w, tip)
    return [_dish(story.id, rows[story.id]) for story in prd.stories if story.id in rows]


def is_menu_open(w: Workspace, prd: Prd) -> bool:
    """Is the branch finished, and the menu is not? One story alone has no menu."""
    is_finished = len(prd.stories) >= _LEAST_STORIES and all(story.is_completed for story in prd.stories)
    if not (w.checks and is_finished):
        return False
    tip = tip_of(w)
    return bool(tip) and "" not in _noted(w, tip)


def make_menu(w: Workspace, prd: Prd, beside: Beside) -> None:
    """Take out one story after the other. Raises GaveWay."""
    tip = tip_of(w)
    commits = commits_of(w.repository, w.feature.name, tip)
    for story in prd.stories:
        rows = _noted(w, tip)
        if story.id in commits and story.id not in rows:
            found = _without(w, prd, story, commits[story.id], tip, beside)
            _note(w, tip, {**rows, story.id: asdict(found)} if found else rows)
    _note(w, tip, {**_noted(w, tip), "": {}})  # it is made; stories that could not be tried are not on it


def _without(w: Workspace, prd: Prd, story: Story, commit: str, tip: str, beside: Beside) -> Dish | None:
    """What becomes of the branch without a story; None if that cannot be tried."""
    work = candidate_of(w, commit)
    with_control = w.objects.tree_of(commit)
    back = {path: was for path, was, _ in w.objects.changes(work.green, with_control) if not is_control(w, path)}
    tree, conflicts = merge_trees(w, commit, w.objects.graft(with_control, back), tip)
    if conflicts:
        return Dish(story.id, tuple(_owners_of(prd, story, conflicts)))
    if not is_set_up_for(w, tree):
        return None
    red = list[str]()
    for check in w.checks:
        told = tried(w, tree, check, argv(check), "part", check.timeout_s, beside)
        if told is None:
            return None
        red += [] if told.stopped == "" and told.is_green else _red_in(told) or [check.name]
    owners = {test: one.id for one in prd.stories for test in _own_tests(one)}
    new = [test for test in dict.fromkeys(red) if test not in w.history.known_red][:_MOST_RED]
    return dish(story.id, new, owners, is_missed=_is_missed(w, story, tree, tip, beside))


def _is_missed(w: Workspace, story: Story, tree: str, tip: str, beside: Beside) -> bool | None:
    """Do the story's own tests fail without its code? None if they cannot be asked alone."""
    files = sorted({path for test in _own_tests(story) if (path := Key.of(test).path)})
    with_tests = w.objects.graft(tree, {path: w.objects.at(w.objects.tree_of(tip), path) for path in files})
    asked = [tried(w, with_tests, check, words, "part", check.timeout_s, beside)
             for check in w.checks if (words := words_for(w, check, files))]  # fmt: skip
    said = [not told.is_green for told in asked if told]
    return any(said) if said else None


def _own_tests(story: Story) -> list[str]:
    tests = mapping_of(mapping_of(story.raw.get("evidence")).get("tests"))
    return [str(test) for test in mapping_of(tests.get("red_first")).get("tests") or ()]


def _red_in(told: Told) -> list[str]:
    listed = [test for test, said in told.listing.tests.items() if said == FAILED] if told.listing else []
    return listed or list(failing_tests(told.output))


def _owners_of(prd: Prd, story: Story, paths: tuple[str, ...]) -> Iterator[str]:
    """The other stories that changed these files; the files themselves where nobody else did."""
    others = [one.id for one in prd.stories if one.id != story.id
              and not set(paths).isdisjoint(one.execution.get("files_modified") or ())]  # fmt: skip
    yield from others or paths[:5]


def _noted(w: Workspace, tip: str) -> Mapping[str, Any]:
    note = read_note(w.repository.state_dir / "menu" / f"{w.feature.name}.json")
    return mapping_of(note.get("stories")) if note.get("of") == _key(w, tip) else {}


def _note(w: Workspace, tip: str, rows: Mapping[str, Any]) -> None:
    place = w.repository.state_dir / "menu" / f"{w.feature.name}.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    write_note(place, {"of": _key(w, tip), "stories": dict(rows)}, durable=False)


def _key(w: Workspace, tip: str) -> str:
    return key_of(w.code_of(w.objects.tree_of(tip)), w.checks) if tip else ""


def _dish(story: str, row: object) -> Dish:
    noted = mapping_of(row)
    conflicts, red, needed_by = (tuple(map(str, noted.get(name) or ())) for name in ("conflicts", "red", "needed_by"))
    missed = noted.get("is_missed")
    return Dish(story, conflicts, red, needed_by, missed if isinstance(missed, bool) else None)
