"""Code that looks made for its tests: what cannot be honest is certain, what may be is said, the rest is left alone."""

from __future__ import annotations

import pytest

from ralphy.testguard.substance import FileChange
from ralphy.testguard.suspicions import suspicions

PY, JS, GO, JAVA, RUST = "calc.py", "calc.js", "calc.go", "Calc.java", "src/lib.rs"
SIX = "from calc import mul\n\n\ndef test_mul():\n    assert mul(2, 3) == 6\n    assert mul(4, 5) == 20\n"
GO_SIX = "func TestMul(t *testing.T) {\n\tif mul(2, 3) != 6 {\n\t\tt.Fatal()\n\t}\n}\n"
RAISES = "def test_mul():\n    with pytest.raises(NotImplementedError):\n        mul(2, 3)\n"


def found(path: str, code: str, tests: str = "", old: str | None = None, told: str = "") -> list[tuple[str, bool]]:
    name = {".js": "calc.test.js", ".go": "calc_test.go"}.get(path[path.rfind(".") :], "tests/test_calc.py")
    change = FileChange(path, None if old is None else old.encode(), code.encode())
    said = suspicions([change], {name: tests}, lambda word: word in told)
    return [(one.text.partition(" ")[2], one.is_certain) for one in said]


# path, code, tests, what is said, whether it is certain
MADE_FOR_TESTS = {
    "not written": (PY, "def mul(a, b):\n    raise NotImplementedError\n", RAISES, "is not written", True),
    "not written, with a text": (
        PY, "def mul(a, b):\n    '''Product.'''\n    raise ValueError('TODO: later')\n",
        "def test_mul():\n    with raises(ValueError, match='TODO'):\n        mul(1, 1)\n", "is not written",
        True,
    ),
    "js: not written": (
        JS, "function mul(a, b) {\n  throw new Error('not implemented');\n}\n",
        "assert.throws(() => mul(1, 2), /not implemented/);\n", "is not written", True,
    ),
    "says TODO": (PY, "def mul(a, b):\n    # TODO: multiply\n    return a\n", SIX, "says that it is not done", False),
    "equal to everything": (
        PY, "class Sum:\n    def __eq__(self, other):\n        return True\n", "", "everything", True,
    ),
    "equal to everything, by a lambda": (
        PY, "class Sum:\n    __eq__ = lambda self, other: True\n", "", "everything", True,
    ),
    "a wildcard by name": (
        PY, "class Anything:\n    def __eq__(self, other):\n        return True\n", "", "every", False,
    ),
    "java: equal": (
        JAVA, "class Sum {\n  public boolean equals(Object o) { return true; }\n}\n", "", "everything", True,
    ),
    "rust: equal": (
        RUST, "impl PartialEq for Sum {\n    fn eq(&self, _: &Sum) -> bool {\n        true\n    }\n}\n", "",
        "everything", True,
    ),
    "reads its test": (
        PY, "def mul(a, b):\n    return eval(open('tests/test_calc.py').read()[-3:])\n", "",
        "reads tests/test_calc.py", True,
    ),
    "reads its test, by a path in parts": (
        PY, "def mul(a, b):\n    return load(Path(__file__).parent / 'tests' / 'test_calc.py', 'utf-8')\n", "",
        "reads tests/test_calc.py", True,
    ),
    "a variable of the tests": (
        PY, "import os\n\n\ndef mul(a, b):\n    return a * b if os.environ.get('EXACT') else 0\n",
        "def test_mul(monkeypatch):\n    monkeypatch.setenv('EXACT', '1')\n    assert mul(2, 3) == 6\n",
        "reads EXACT", False,
    ),
    "a table": (
        PY, "TABLE = {(2, 3): 6, (4, 5): 20}\n\n\ndef mul(a, b):\n    return TABLE[a, b]\n",
        "@parametrize('given,is_', [((2, 3), 6), ((4, 5), 20)])\ndef test_mul(given, is_):\n    pass\n",
        "holds what its tests ask, with the answers (2 3 4 5 6 20)", False,
    ),
    "branches": (
        PY,
        "def mul(a, b):\n    if a == 2 and b == 3:\n        return 6\n    if a == 4:\n        return 20\n"
        "    return 0\n", SIX, "holds what its tests ask, with the answers (2 3 6)", False,
    ),
    "nothing but tests calls it": (
        PY, "def _mul(a, b):\n    return a * b\n", SIX.replace("mul(", "_mul("),
        "nothing but tests calls _mul()", False,
    ),
    "go: nothing but tests calls it": (
        GO, "func mul(a, b int) int {\n\treturn a * b\n}\n", GO_SIX, "nothing but tests calls mul()", False,
    ),
    "two answers": (
        PY,
        "def mul(a, b):\n    if a == 2 and b == 3:\n        return 6\n    if (a, b) == (4, 5):\n        return 20\n",
        SIX, "with the answers (2 3 6, 4 5 20)", True,
    ),
    "go: a switch": (
        GO, "func Sq(a int) int {\n\tswitch a {\n\tcase 4:\n\t\treturn 16\n\t}\n\treturn 0\n}\n",
        GO_SIX.replace("mul(2, 3) != 6", "Sq(4) != 16"), "with the answers (4 16)", False,
    ),
}  # fmt: skip
# path, code, tests
HONEST = {
    "a product": (PY, "def mul(a, b):\n    return a * b\n", SIX),
    "a recursion": (
        PY, "def fact(n):\n    if n == 0:\n        return 1\n    return n * fact(n - 1)\n",
        "def test_fact():\n    assert fact(0) == 1\n    assert fact(4) == 24\n",
    ),
    "a table that is partly tested": (
        PY, "NAMES = {1: 'Jan', 2: 'Feb', 3: 'Mar'}\n\n\ndef month(n):\n    return NAMES[n]\n",
        "def test_month():\n    assert month(2) == 'Feb'\n",
    ),
    "a base class": (
        PY,
        "class Shape:\n    def area(self):\n        raise NotImplementedError\n\n\nclass Dot(Shape):\n"
        "    def area(self):\n        return 0\n",
        "def test_area():\n    with raises(NotImplementedError):\n        Shape().area()\n",
    ),
    "an abstract method": (
        PY, "class Shape:\n    @abstractmethod\n    def area(self):\n        raise NotImplementedError\n",
        "def test_area():\n    with raises(NotImplementedError):\n        Shape.area(None)\n",
    ),
    "an equality": (PY, "class Sum:\n    def __eq__(self, other):\n        return isinstance(other, Sum)\n", ""),
    "never equal": (PY, "class Nan:\n    def __eq__(self, other):\n        return False\n", ""),
    "a helper that is used": (
        PY, "def _twice(a):\n    return a * 2\n\n\ndef four(a):\n    return _twice(_twice(a))\n",
        "from calc import _twice\n\n\ndef test_twice():\n    assert _twice(2) == 4\n",
    ),
    "a folder of tests that is named": (PY, "def layout(root):\n    return [root / 'src', root / 'tests']\n", ""),
    "data of its own, in a folder of the same name": (
        PY, "def rates():\n    return load(Path(__file__).parent / 'data' / 'test_calc.json')\n", "",
    ),
    "a version": (PY, "def version():\n    return '1.2.3'\n", "def test_version():\n    assert version() == '1.2.3'\n"),
    "java: an equality": (JAVA, "class Sum {\n  public boolean equals(Object o) { return o == this; }\n}\n", ""),
    "numbers of a rule": (
        PY, "def cost(n):\n    return 5 if n <= 2 else 5 + 2 * (n - 2)\n",
        "def test_cost():\n    assert cost(2) == 5\n",
    ),
    "an example for people": (
        PY, 'def mul(a, b):\n    """As in `mul(2, 3) == 6`."""\n    return a * b  # 4 * 5 == 20\n', SIX,
    ),
    "a table of rates": (PY, "RATES = {'DE': 19, 'FR': 20}\n", "def test_rate():\n    assert RATES['DE'] == 19\n"),
}  # fmt: skip


@pytest.mark.parametrize("case", MADE_FOR_TESTS)
def test_it_is_named(case: str) -> None:
    path, code, tests, said, is_certain = MADE_FOR_TESTS[case]
    told = found(path, code, tests)
    assert [certain for what, certain in told if said in what] == [is_certain], told


@pytest.mark.parametrize("case", HONEST)
def test_it_is_left_alone(case: str) -> None:
    path, code, tests = HONEST[case]
    assert found(path, code, tests) == []


def test_what_a_story_puts_among_its_tests_is_not_for_its_code() -> None:
    read = "import json\n\nANSWERS = json.load(open('tests/data/answers.json'))\n"
    told = "".__contains__
    code = FileChange(PY, None, read.encode())
    assert [one.is_certain for one in suspicions([code], {"tests/data/answers.json": "{}"}, told)] == [True]
    assert suspicions([code], {"tests/data/other.json": "{}", "data/answers.json.py": ""}, told) == []
    assert suspicions([FileChange(PY, None, b"NAME = 'config.json'\n")], {"tests/data/config.json": "{}"}, told) == []


def test_what_was_there_before_is_not_the_storys_and_a_variable_that_people_are_told_of_is_left_alone() -> None:
    code = "def mul(a, b):\n    return 6 if a == 2 and b == 3 else 0\n"
    assert len(found(PY, code, SIX)) == 1
    assert found(PY, f"{code}\n\ndef one():\n    return 1\n", SIX, old=code) == []

    code = "import os\n\nLIMIT = os.environ['CALC_LIMIT']\n"
    tests = "import os\n\nos.environ['CALC_LIMIT'] = '3'\n"
    assert found(PY, code, tests, told="CALC_LIMIT: the limit") == []
    assert len(found(PY, code, tests)) == 1
