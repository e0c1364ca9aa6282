"""The pipeline as a table of objects."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from ralphy.config.values import Config, Models, Timeouts
from ralphy.pipeline.steps.story import SPLIT
from ralphy.pipeline.steps.table import step_of, steps

ROOT = Path(__file__).parents[2]


def test_the_steps_stand_in_their_order_and_each_has_a_document_but_those_of_stories() -> None:
    assert [step.name for step in steps()] == ["clarify", "spec", "acceptance", "story", "split", "qa", "pr"]
    documents = ["CLARIFICATIONS.md", "SPEC.md", "ACCEPTANCE.md", "", "", "QA_REPORT.md", "PR.md"]
    assert [step.document for step in steps()] == documents
    assert all(step_of(step.name) is step for step in steps())


def test_a_story_is_split_by_the_best_model_of_its_ladder() -> None:
    config = Config(models=Models(implementation=("a", "b", "c")))
    assert SPLIT.model(config) == "c"


def test_every_step_has_a_model_and_a_time() -> None:
    config = Config()
    assert [step.model(config) for step in steps()] == [
        "sonnet",
        "sonnet",
        "sonnet",
        "sonnet",
        "sonnet",
        "sonnet",
        "haiku",
    ]
    assert [step.active_limit_s(config) for step in steps()] == [1800, 1800, 1800, 14400, 1800, 1800, 600]


def test_the_names_of_the_times_are_those_of_the_configuration() -> None:
    assert {step.timeout for step in steps()} <= {field.name for field in fields(Timeouts)}


# A word that is a step's name, and a field of documents and of the journal as well: it may stand where a field does.
FIELDS = {"acceptance", "story", "split", "pr"}
# (module, word) -> what it is there
OTHER_WORDS = {
    ("ralphy/cli/commands.py", "clarify"): "a command",
    ("ralphy/cli/examples.py", "clarify"): "a command",
    ("ralphy/cli/run/clarifying.py", "clarify"): "a command",
    ("ralphy/cli/run/panel.py", "clarify"): "a command",
    ("ralphy/cli/status/state.py", "clarify"): "a phase of ralph-dev",
    ("ralphy/scaffold/config_template.py", "clarify"): "a section of the settings",
    ("ralphy/exchange/structured.py", "acceptance"): "a field of a feature in other tools' files",
    ("ralphy/cli/records.py", "story"): "an argument of commands",
    ("ralphy/cli/stories/story.py", "story"): "a command",
    ("ralphy/documents/prd_merge.py", "story"): "the whole of a story among its fields",
    ("ralphy/forge/github.py", "pr"): "a command of gh",
    ("ralphy/lanes/pool.py", "story"): "a field of a lane's note",
    ("ralphy/pipeline/requests.py", "story"): "a field of a queued request",
    ("ralphy/prompts/render.py", "story"): "the label of a fence",
    ("ralphy/testguard/substance.py", "spec"): "a folder of tests",
    ("ralphy/testguard/written/suspicion.py", "spec"): "a word in the name of a file of tests",
}


def words(module: Path) -> Iterator[tuple[str, bool]]:
    """The literals that are a step's name, each with whether it stands where a field does."""
    tree, names = ast.parse(module.read_text(encoding="utf-8")), {step.name for step in steps()}
    for parent in ast.walk(tree):
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in names:
                yield node.value, node.value in FIELDS and is_field(node, parent, names)


def is_field(node: ast.AST, parent: ast.AST, names: set[str]) -> bool:
    if isinstance(parent, ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else None for key in parent.keys]
        return node in parent.keys and (len(keys) == 1 or not names.issuperset(keys))
    is_call = isinstance(parent, ast.Call) and ast.unparse(parent.func).endswith((".get", "getattr"))
    return is_call or isinstance(parent, ast.Subscript)


def test_a_steps_name_stands_in_the_steps_alone() -> None:
    found: set[tuple[str, str]] = set()
    for module in sorted((ROOT / "ralphy").rglob("*.py")):
        path = module.relative_to(ROOT).as_posix()
        if not path.startswith(("ralphy/pipeline/steps/", "ralphy/rehearsal/")):
            found |= {(path, word) for word, is_a_field in words(module) if not is_a_field}
    assert found == OTHER_WORDS.keys()
