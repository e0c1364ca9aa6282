"""Tests that follow a new name are as they were; whatever else differs is an edit."""

from __future__ import annotations

import pytest

from ralphy.testguard.kept.new_names import NewNames

RENAMED = NewNames.of([("calc.py", "def add(a, b):\n    return a + b\n", "def plus(a, b):\n    return a + b\n")])
MOVED = NewNames.of([("calc.js", "exports.add = 1;\n", None), ("src/math.js", None, "exports.add = 1;\n")])
TEST = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"


def test_a_function_of_another_name_is_followed() -> None:
    assert RENAMED.explain(TEST, TEST.replace("import add", "import plus").replace("add(1", "plus(1"))


def test_a_module_of_another_name_is_followed_where_it_is_imported() -> None:
    text = "const { add } = require('../calc.js');\nassert.equal(add(1), 'calc');\n"
    assert MOVED.explain(text, text.replace("../calc.js", "../math.js"))
    assert not MOVED.explain(text, text.replace("calc", "math"))


@pytest.mark.parametrize(
    "text",
    [
        TEST.replace("== 3", "== 4"),
        TEST.replace("add", "sub"),
        TEST.replace("import add", "import plus").replace("add(1, 2) == 3", "plus(1, 2) == 4"),
        TEST.replace("import add", "import plus").replace("assert add(1, 2) == 3", "plus(1, 2)"),
        TEST,
    ],
    ids=["another value", "a name that is not new", "both", "without an assertion", "nothing differs"],
)
def test_whatever_else_differs_is_an_edit(text: str) -> None:
    assert not RENAMED.explain(TEST, text)


def test_a_word_that_the_code_still_has_is_not_followed() -> None:
    kept = NewNames.of([("calc.py", "def add():\n    pass\n", "def add():\n    pass\n\n\ndef plus():\n    pass\n")])
    assert not kept.explain(TEST, TEST.replace("import add", "import plus").replace("add(1", "plus(1"))


def test_a_text_that_the_code_says_is_no_name() -> None:
    said = NewNames.of([("calc.py", "def hi():\n    return 'hello'\n", "def hi():\n    return 'goodbye'\n")])
    assert not said.explain("assert hi() == 'hello'\n", "assert hi() == 'goodbye'\n")


def test_where_a_text_stands_is_known_far_below_as_well() -> None:
    renamed = NewNames.of([("calc.py", "def hello():\n    pass\n", "def goodbye():\n    pass\n")])
    text = "x = 1\n" * 30 + "assert say() == 'hello'\n"
    assert not renamed.explain(text, text.replace("hello", "goodbye"))
    called = "x = 1\n" * 30 + "assert hello() == 'x'\n"
    assert renamed.explain(called, called.replace("hello", "goodbye"))
