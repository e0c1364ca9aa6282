"""Strict JSON in, canonical JSON out, and where things stand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralphy.errors import InvalidInput
from ralphy.text.line_numbers import lines_of
from ralphy.text.strict_json import MAX_DEPTH, dump, parse, preview

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
NUMBERS = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS
VALUES = st.recursive(SCALARS, lambda each: st.lists(each) | st.dictionaries(TEXTS, each), max_leaves=20)


def refusal(data: bytes, **options: Any) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        parse(data, "prd.json", **options)
    return caught.value


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


@pytest.mark.fault("I1x")
def test_what_is_empty_or_not_utf8_is_refused_by_name() -> None:
    for data in (b"", b" \n\t", b"\xef\xbb\xbf"):
        assert str(refusal(data)) == "prd.json: is empty"
    for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"):
        error = refusal('{"a": 1}'.encode(encoding))
        assert error.what == f"is {encoding[:6].upper()} but must be UTF-8"
        assert error.hint == "save it as UTF-8"
    assert str(refusal(b'{\n"a": "\xe9"}')) == "prd.json:2: is not UTF-8"


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ('{"a": 1, "a": 2}', 1, "a"),
        ('{"a": {},\n"b": [{"c": 1},\n{"c": 1,\n"c": 2}]}', 4, "c"),
        ('{"a": 1,\n"b": {"a": 1},\n"\\u0061": 3}', 3, "a"),
        ('{"x": "}{,\\"",\n"y\\n": 1,\n"y\\n": 1}', 3, "y\\n"),
    ],
)
@pytest.mark.fault("I1x")
def test_a_key_given_twice_is_refused_at_its_second_place(text: str, line: int, key: str) -> None:
    error = refusal(text.encode())
    assert str(error) == f'prd.json:{line}: has the key "{key}" twice in one object'
    assert error.hint


@pytest.mark.fault("I1x")
def test_numbers_that_json_has_not_or_that_overflow_are_refused() -> None:
    for literal in ("NaN", "Infinity", "-Infinity"):
        error = refusal(f'{{"text": "{literal}",\n"b": {literal}}}'.encode())
        assert str(error) == f"prd.json:2: holds {literal}, which is not JSON"
    for literal in ("1e999", "-1e999", "1" * 400 + ".0"):
        error = refusal(f"[1.5,\n{literal}]".encode())
        assert error.where == "prd.json:2"
        assert error.what.startswith("has a number that is too large, ")
    for literal in (str(2**64), str(-(2**63) - 1), "9" * 100_000):
        error = refusal(f"[1,\n\n{literal}]".encode())
        assert error.where == "prd.json:3"
        assert error.what.startswith("has an integer of more than 64 bits, ")
        assert len(error.what) < 100


@pytest.mark.fault("I1x")
@pytest.mark.attempt(58)
def test_nesting_is_bounded_and_a_hundred_thousand_levels_are_refused_like_a_hundred_and_one() -> None:
    assert parse(nested(MAX_DEPTH), "prd.json")
    assert str(refusal(nested(MAX_DEPTH + 1))) == f"prd.json: is nested deeper than {MAX_DEPTH} levels"
    for opening in (b"[", b'{"a":', b'[{"a":'):
        assert "nested deeper" in refusal(opening * 100_000).what


@pytest.mark.fault("I1x")
def test_half_a_surrogate_pair_and_a_word_that_goes_on_with_what_is_no_json_are_refused() -> None:
    for text in ('"\\ud800"', '"\\uDC00 x"', '"\\ud83d\\ud83d"', '{"\\ude00": 1}'):
        error = refusal(f'["\\ud83d\\ude00", "\\\\ud800",\n{text}]'.encode())
        assert str(error) == "prd.json:2: has half of a surrogate pair"
    for data in (b"NaN\0", b"[-Infinity\1]", b'{"a": 1e310\0}', b"9" * 30 + b"\0", b"NaN\0}]", b"NaN\0,", b"{NaN:"):
        refusal(data)


@pytest.mark.parametrize(
    ("text", "line", "hint"),
    [
        ('{"a": 1} x', 1, ""),
        ('{"a": 1,\n}', 2, "remove the comma before it"),
        ('["a",\n"b",\n]', 3, "remove the comma before it"),
        ("{'a': 1}", 1, 'JSON needs double quotes: "'),
        ('```json\n{"a": 1}\n```', 1, "write only the JSON, without a Markdown fence"),
        ('{\n<<<<<<< HEAD\n"a": 1\n=======', 2, "resolve the merge conflict in it"),
        ('{"a": 1 // one\n}', 1, "JSON has no comments: remove it"),
        ('{"a": True}', 1, "write true"),
        ('{"a": "x\ny"}', 1, ""),
        ('{"a', 1, ""),
        ('{"a": 1\0}', 1, ""),
    ],
)
def test_what_is_not_json_is_refused_with_its_line_and_a_hint(text: str, line: int, hint: str) -> None:
    error = refusal(text.encode())
    assert error.where == f"prd.json:{line}"
    assert error.what.startswith("is not JSON: ")
    assert error.what.isprintable()
    assert error.hint == hint


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a":\n\n', "1: is not JSON: expected a value, found the end of the file"),
        ('{"a": tru}', "1: is not JSON: expected a value, found tru} (column 7)"),
        ('{"a": 1\n"b": 2}', '2: is not JSON: expected a comma or a closing bracket, found "b": (column 1)'),
        ('{"a" 1}', "1: is not JSON: expected a colon, found 1} (column 6)"),
        ("{a: 1}", "1: is not JSON: expected a name in double quotes, found a: (column 2)"),
        ('{"a": "x', '1: is not JSON: a text without a closing quote: "x (column 7)'),
        ('{"a": "x\ny"}', '1: is not JSON: a text with a line break or a tab, before y"} (column 9)'),
        ("{}\n{}", "2: is not JSON: expected the end of the file, found {} (column 1)"),
    ],
)
def test_what_is_wrong_is_said_in_words(text: str, said: str) -> None:
    assert str(refusal(text.encode())) == f"prd.json:{said}"


def test_dump_is_indented_keeps_the_order_and_refuses_what_parse_could_not_have_given() -> None:
    assert dump({"b": ["é"], "a": {}}) == '{\n  "b": [\n    "é"\n  ],\n  "a": {}\n}\n'.encode()
    for value in ({1: "one"}, ["\ud800"], [2**64]):
        with pytest.raises(TypeError):
            dump(value)


@given(VALUES)
def test_what_is_dumped_here_or_by_others_is_parsed_to_the_same(value: Any) -> None:
    data = dump(value)
    assert parse(data, "prd.json") == value
    assert dump(parse(data, "prd.json")) == data
    assert parse(json.dumps(value).encode(), "prd.json") == value


TEXT = '{\n"a": [\n1,\n{"b": "]},",\n"c": {}\n}],\n\n"d": [],\n"e": [[\n2]]}'


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ((), 1),
        (("a",), 2),
        (("a", 0), 3),
        (("a", 1), 4),
        (("a", 1, "b"), 4),
        (("a", 1, "c"), 5),
        (("a", 1, "missing"), 4),
        (("a", 7, "b"), 2),
        (("d", 0), 8),
        (("e", 0, 0), 10),
        (("nowhere", 3), 1),
    ],
)
def test_a_value_is_located_by_its_path(path: tuple[str | int, ...], line: int) -> None:
    assert lines_of(TEXT, [path]) == [line]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("high", '"high"'),
        (True, "true"),
        (None, "null"),
        (1.5, "1.5"),
        ([1], "an array"),
        ({"a": 1}, "an object"),
        ("\x1b[31m\x9b\u202e", '"\\u001b[31m\\u009b\\u202e"'),
    ],
)
def test_a_value_is_shown_harmlessly(value: Any, text: str) -> None:
    assert preview(value) == text


@given(TEXTS, st.integers(5, 80))
def test_a_shown_text_is_short_and_prints(text: str, limit: int) -> None:
    assert len(preview(text, limit)) <= limit
    assert preview(text, limit).isprintable()
