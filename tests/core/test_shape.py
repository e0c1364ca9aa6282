"""The quick check answers as jsonschema does."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from ralphy.resources import schema
from ralphy.text.schema_compiler import compile_check
from tests.core.building import examples

PRD = schema("prd")
PRD_FITS = compile_check(PRD)
PRD_VALIDATOR = Draft202012Validator(PRD)

STORIES_FITS = compile_check(schema("stories"), {"prd.schema.json": PRD})
REGISTRY: Registry[Any] = Registry().with_resource(PRD["$id"], Resource.from_contents(PRD))
STORIES_VALIDATOR = Draft202012Validator(schema("stories"), registry=REGISTRY)

ODD: st.SearchStrategy[Any] = (
    st.sampled_from(
        [
            None,
            True,
            False,
            0,
            1,
            -1,
            1.0,
            0.0,
            1.5,
            -2.0,
            1e300,
            2**63,
            "",
            " ",
            "x",
            "a\n",
            "\n",
            "../x",
            "completed",
        ]
    )
    | st.builds(list)
    | st.builds(dict)
)
JSON = st.recursive(
    ODD, lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=3), each, max_size=3)
)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly what the schema wants, now and then something else."""
    return st.one_of(strategy, strategy, strategy, strategy, strategy, strategy, ODD)


def an_object(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return maybe(st.fixed_dictionaries({}, optional={name: maybe(each) for name, each in fields.items()}))


WORDS = st.sampled_from(["a", "US-001", "tests/test_a.py", "x" * 64, "x" * 65, "ümlaut"])
COUNTS = st.integers(0, 5) | st.floats(0, 3)
ITEMS = st.lists(maybe(WORDS | an_object(id=WORDS, description=WORDS, done=st.booleans())), max_size=3)
STATUSES = st.sampled_from(["pending", "in_progress", "completed", "failed", "blocked"])
STORY = st.builds(
    lambda needed, rest: {**needed, **rest} if isinstance(rest, dict) else rest,
    st.fixed_dictionaries({}, optional={"id": maybe(WORDS), "title": maybe(WORDS)})
    | st.fixed_dictionaries({"id": WORDS, "title": WORDS}),
    an_object(
        acceptanceCriteria=ITEMS,
        priority=COUNTS,
        passes=st.booleans(),
        status=STATUSES,
        dependsOn=st.lists(maybe(WORDS), max_size=2),
        model=WORDS | st.none(),
        tasks=ITEMS,
        execution=an_object(attempts=COUNTS, last_error=WORDS | st.none(), files_modified=st.lists(maybe(WORDS))),
        testing=an_object(test_files=st.lists(maybe(WORDS)), removes=st.lists(maybe(WORDS))),
        context=an_object(parent_spec=WORDS | st.none()),
        evidence=an_object(anything=JSON),
        unknown=JSON,
    ),
)
DIGESTS = maybe(st.dictionaries(WORDS, maybe(WORDS), max_size=2))
WORKFLOW = an_object(
    phase=WORDS,
    steps=st.dictionaries(WORDS, an_object(inputs=DIGESTS, outputs=DIGESTS), max_size=2),
    approvals=st.lists(
        an_object(gate=WORDS, verdict=st.sampled_from(["approved", "revise", "no"]), answered=st.booleans()),
        max_size=2,
    ),
    pr=an_object(url=WORDS, number=st.integers() | st.none()),
)
DOCUMENTS = maybe(
    st.fixed_dictionaries(
        {"userStories": maybe(st.lists(STORY, max_size=3))},
        optional={
            "project": maybe(WORDS),
            "branchName": maybe(WORDS),
            "workflow": WORKFLOW,
            "metadata": maybe(JSON),
        },
    )
)


@settings(max_examples=examples(400), deadline=None)
@given(DOCUMENTS)
@example({"userStories": []})
@example({"userStories": [{"id": "a", "title": "a", "priority": 1.0, "passes": True, "status": "completed"}]})
@example({"userStories": [{"id": "a", "title": "a", "passes": 1, "status": "completed"}]})
@example({"userStories": [{"id": "a", "title": "a", "passes": True}]})
@example({"userStories": [{"id": "a", "title": "a", "status": "completed"}]})
@example({"userStories": [{"id": "a\n", "title": "a"}]})
def test_the_check_accepts_exactly_what_jsonschema_accepts(document: Any) -> None:
    assert PRD_FITS(document) == PRD_VALIDATOR.is_valid(document)
    assert STORIES_FITS(document) == STORIES_VALIDATOR.is_valid(document)


SCALAR = st.sampled_from([None, True, False, 0, 1, 1.0, 1.5, -1, "", "a", "ab", "1"])
TYPES = st.sampled_from(["object", "array", "string", "boolean", "null", "integer", "number"])
SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    st.booleans()
    | st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
            "enum": st.lists(SCALAR, min_size=1, max_size=3),
            "const": SCALAR,
            "required": st.lists(st.sampled_from("ab"), unique=True),
            "minLength": st.integers(0, 2),
            "maxLength": st.integers(0, 2),
            "minItems": st.integers(0, 2),
            "maxItems": st.integers(0, 2),
            "minimum": st.integers(-1, 2),
            "maximum": st.integers(-1, 2),
            "pattern": st.sampled_from(["^a", "b$", ".", "^$"]),
            "title": st.text(),
        },
    ),
    lambda each: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from("ab"), each),
            "additionalProperties": each,
            "items": each,
            "anyOf": st.lists(each, min_size=1, max_size=3),
            "allOf": st.lists(each, min_size=1, max_size=3),
            "not": each,
            "if": each,
            "then": each,
            "else": each,
        },
    ),
    max_leaves=6,
)
SMALL = st.recursive(
    SCALAR,
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.sampled_from("abc"), each),
    max_leaves=5,
)


@settings(max_examples=examples(400), deadline=None)
@given(SCHEMAS, st.lists(SMALL, min_size=1, max_size=5))
def test_every_keyword_means_what_jsonschema_means_by_it(any_schema: Any, values: list[Any]) -> None:
    fits = compile_check({"allOf": [any_schema]})
    validator = Draft202012Validator({"allOf": [any_schema]})
    assert [fits(value) for value in values] == [validator.is_valid(value) for value in values]


def test_a_schema_may_contain_itself() -> None:
    tree = {"$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}, "$ref": "#/$defs/tree"}
    fits = compile_check(tree)
    assert fits([[], [[]]])
    assert not fits([[], [[1]]])


@pytest.mark.parametrize("keyword", ["uniqueItems", "patternProperties", "oneOf", "$dynamicRef", "prefixItems", "x-y"])
def test_an_unknown_keyword_is_not_compiled(keyword: str) -> None:
    with pytest.raises(ValueError, match="not known here"):
        compile_check({"properties": {"a": {keyword: True}}})


@pytest.mark.parametrize("reference", ["#/$defs/none", "other.json#/$defs/a"])
def test_a_reference_that_leads_nowhere_is_not_compiled(reference: str) -> None:
    with pytest.raises(ValueError, match="leads nowhere"):
        compile_check({"items": {"$ref": reference}})


@pytest.mark.parametrize("keywords", [{"const": [1]}, {"enum": ["a", {}]}])
def test_constants_that_are_not_plain_are_not_compiled(keywords: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="plain values"):
        compile_check(keywords)


@pytest.mark.parametrize("name", ["prd", "stories"])
def test_the_published_schemas_are_valid_and_say_everything_with_examples(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))
    assert schema(name)["$id"] == f"https://ralphy.dev/schemas/{name}.schema.json"
    for path, each in fields(schema(name)):
        assert each.get("$ref") or each.get("description"), path
        assert each.get("$ref") or each.get("examples"), path
        frame = {key: schema(name)[key] for key in ("$schema", "$id", "$defs") if key in schema(name)}
        validator = Draft202012Validator({**frame, **each}, registry=REGISTRY)
        for good in each.get("examples", ()):
            assert not [error.message for error in validator.iter_errors(good)], path


def fields(part: dict[str, Any], path: str = "") -> Any:
    for keyword in ("properties", "$defs"):
        for name, each in part.get(keyword, {}).items():
            yield f"{path}/{name}", each
            yield from fields(each, f"{path}/{name}")
