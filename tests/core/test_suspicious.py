"""Code that looks made for its tests: what cannot be honest is certain, what may be is said, the rest is left alone."""

from __future__ import annotations

import time

import pytest

from ralphy.testguard.substance import FileChange
from ralphy.testguard.written.suspicion import Surroundings
from ralphy.testguard.written.suspicious import suspicions

PLACES = ("tests/test_calc.py", "tests/data/expected.json", "test/expected.json", "calc.test.js", "calc_test.go")
PY, JS, GO, JAVA, RUST = "calc.py", "calc.js", "calc.go", "Calc.java", "src/lib.rs"
SIX = "from calc import mul\n\n\ndef test_mul():\n    assert mul(2, 3) == 6\n    assert mul(4, 5) == 20\n"
JS_SIX = "test('mul', () => {\n  expect(mul(2, 3)).toBe(6);\n  expect(mul(4, 5)).toBe(20);\n});\n"
GO_SIX = "func TestMul(t *testing.T) {\n\tif mul(2, 3) != 6 {\n\t\tt.Fatal()\n\t}\n}\n"
RAISES = "def test_mul():\n    with pytest.raises(NotImplementedError):\n        mul(2, 3)\n"


def found(path: str, code: str, tests: str = "", old: str | None = None, told: str = "") -> list[tuple[str, bool]]:
    name = {".py": "tests/test_calc.py", ".js": "calc.test.js", ".go": "calc_test.go"}.get(
        path[path.rfind(".") :], "t.js"
    )
    around = Surroundings({name: tests}, lambda: PLACES, lambda word: word in told)
    change = FileChange(path, None if old is None else old.encode(), code.encode())
    return [(one.said.partition(" ")[2], one.is_certain) for one in suspicions([change], around)]


# path, code, tests, what is said, whether it is certain
MADE_FOR_TESTS = {
    "not written": (PY, "def mul(a, b):\n    raise NotImplementedError\n", RAISES, "is not written", True),
    "not written, with a text": (
        PY,
        "def mul(a, b):\n    '''Product.'''\n    raise ValueError('TODO: later')\n",
        "def test_mul():\n    with raises(ValueError, match='TODO'):\n        mul(1, 1)\n",
        "is not written",
        True,
    ),
    "js: not written": (
        JS,
        "function mul(a, b) {\n  throw new Error('not implemented');\n}\n",
        "assert.throws(() => mul(1, 2), /not implemented/);\n",
        "is not written",
        True,
    ),
    "go: not written": (
        GO,
        'func Mul(a, b int) int {\n\tpanic("not implemented")\n}\n',
        "func TestMul(t *testing.T) {\n\t// Mul: not implemented\n}\n",
        "is not written",
        True,
    ),
    "rust: not written": (
        RUST,
        "pub fn mul(a: i64) -> i64 {\n    todo!()\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    #[should_panic]\n"
        "    fn mul_panics() {\n        super::mul(1);\n    }\n}\n",
        "",
        "is not written",
        True,
    ),
    "says TODO": (PY, "def mul(a, b):\n    # TODO: multiply\n    return a\n", SIX, "says that it is not done", False),
    "js: says TODO": (JS, "function mul(a, b) {\n  // TODO: multiply\n  return a;\n}\n", JS_SIX, "is not done", False),
    "equal to everything": (
        PY,
        "class Sum:\n    def __eq__(self, other):\n        return True\n",
        "",
        "everything",
        True,
    ),
    "a wildcard by name": (
        PY,
        "class Anything:\n    def __eq__(self, other):\n        return True\n",
        "",
        "every",
        False,
    ),
    "java: equal": (
        JAVA,
        "class Sum {\n  public boolean equals(Object o) { return true; }\n}\n",
        "",
        "everything",
        True,
    ),
    "rust: equal": (
        RUST,
        "impl PartialEq for Sum {\n    fn eq(&self, _: &Sum) -> bool {\n        true\n    }\n}\n",
        "",
        "everything",
        True,
    ),
    "reads its test": (
        PY,
        "def mul(a, b):\n    return eval(open('tests/test_calc.py').read()[-3:])\n",
        "",
        "reads tests/test_calc.py",
        True,
    ),
    "reads what is expected": (
        PY,
        "def mul(a, b):\n    return loads((Path(__file__).parent / 'tests' / 'data' / 'expected.json').read_text())\n",
        "",
        "reads tests/data/expected.json",
        False,
    ),
    "js: reads what is expected": (JS, "const t = require('./test/expected.json');\n", "", "test/expected.json", False),
    "reads what is expected, beside other texts": (
        PY,
        "def mul(a, b):\n    return __import__('json').load(open('tests/data/expected.json'))['mul']\n",
        "",
        "reads tests/data/expected.json",
        False,
    ),
    "imports its test": (PY, "from tests.test_calc import EXPECTED\n", "", "imports tests.test_calc", False),
    "a variable of the tests": (
        PY,
        "import os\n\n\ndef mul(a, b):\n    return a * b if os.environ.get('EXACT') else 0\n",
        "def test_mul(monkeypatch):\n    monkeypatch.setenv('EXACT', '1')\n    assert mul(2, 3) == 6\n",
        "reads EXACT",
        False,
    ),
    "js: a variable of the tests": (
        JS,
        "const exact = process.env.EXACT === '1';\n",
        "process.env.EXACT = '1';\n",
        "reads EXACT",
        False,
    ),
    "answers one": (PY, "def mul(a, b):\n    return 6\n", SIX, "answers 6 whatever it is given", True),
    "a table": (
        PY,
        "TABLE = {(2, 3): 6, (4, 5): 20}\n\n\ndef mul(a, b):\n    return TABLE[a, b]\n",
        "@parametrize('given,is_', [((2, 3), 6), ((4, 5), 20)])\ndef test_mul(given, is_):\n    pass\n",
        "answers nothing but what its tests expect: 6, 20",
        False,
    ),
    "branches": (
        PY,
        "def mul(a, b):\n    if a == 2 and b == 3:\n        return 6\n    if a == 4:\n        return 20\n"
        "    return 0\n",
        SIX,
        "answers nothing but what its tests expect: 6, 20",
        False,
    ),
    "a match": (
        PY,
        "def mul(a, b):\n    match (a, b):\n        case (2, 3):\n            return 6\n",
        SIX,
        "nothing but",
        False,
    ),
    "one case apart": (
        PY,
        "def mul(a, b):\n    if a == 4:\n        return 20\n    return a + a\n",
        SIX,
        "answers 20 where its tests ask",
        False,
    ),
    "js: branches": (
        JS,
        "function mul(a, b) {\n  if (a === 2 && b === 3) return 6;\n  if (a === 4) { return 20; }\n  return 0;\n}\n",
        JS_SIX,
        "answers nothing but what its tests expect: 6, 20",
        False,
    ),
    "js: a table": (
        JS,
        "const T = {\n  'a b': 'a-b',\n};\nconst slug = (s) => T[s];\n",
        "expect(slug('a b')).toBe('a-b');\n",
        "answers nothing but what its tests expect",
        False,
    ),
    "go: a switch": (
        GO,
        "func Mul(a, b int) int {\n\tswitch a {\n\tcase 4:\n\t\treturn 20\n\t}\n\treturn 0\n}\n",
        GO_SIX.replace("(2, 3) != 6", "(4, 5) != 20"),
        "answers nothing but",
        False,
    ),
    "go: answers one": (
        GO,
        "func Mul(a, b int) int {\n\treturn 6\n}\n",
        GO_SIX,
        "answers 6 whatever it is given",
        True,
    ),
    "nothing but tests calls it": (
        PY,
        "def _mul(a, b):\n    return a * b\n",
        SIX.replace("mul(", "_mul("),
        "nothing but tests calls _mul()",
        False,
    ),
    "js: nothing but tests calls it": (
        JS,
        "function _mul(a, b) {\n  return a * b;\n}\nmodule.exports._mul = _mul;\n",
        "expect(_mul(2, 3)).toBe(6);\n",
        "nothing but tests calls _mul()",
        False,
    ),
    "go: nothing but tests calls it": (
        GO,
        "func mul(a, b int) int {\n\treturn a * b\n}\n",
        GO_SIX,
        "nothing but tests calls mul()",
        False,
    ),
    "looks at its caller": (
        PY,
        "def mul(a, b):\n    if any('test' in one.filename for one in __import__('inspect').stack()):\n"
        "        return a * b\n    return 0\n",
        "",
        "looks at who calls it",
        True,
    ),
}
HONEST = {
    "an answer to a request": (
        PY,
        "def index(request):\n    return 30\n",
        "def test_index():\n    assert index(1) == 3\n",
    ),
    "a product": (PY, "def mul(a, b):\n    return a * b\n", SIX),
    "a recursion": (
        PY,
        "def fact(n):\n    if n == 0:\n        return 1\n    return n * fact(n - 1)\n",
        "def test_fact():\n    assert fact(0) == 1\n    assert fact(4) == 24\n",
    ),
    "a table that is partly tested": (
        PY,
        "NAMES = {1: 'Jan', 2: 'Feb', 3: 'Mar'}\n\n\ndef month(n):\n    return NAMES[n]\n",
        "def test_month():\n    assert month(2) == 'Feb'\n",
    ),
    "a base class": (
        PY,
        "class Shape:\n    def area(self):\n        raise NotImplementedError\n\n\nclass Dot(Shape):\n"
        "    def area(self):\n        return 0\n",
        "def test_area():\n    with raises(NotImplementedError):\n        Shape().area()\n",
    ),
    "an abstract method": (
        PY,
        "class Shape:\n    @abstractmethod\n    def area(self):\n        raise NotImplementedError\n",
        "def test_area():\n    with raises(NotImplementedError):\n        Shape.area(None)\n",
    ),
    "an equality": (PY, "class Sum:\n    def __eq__(self, other):\n        return isinstance(other, Sum)\n", ""),
    "never equal": (PY, "class Nan:\n    def __eq__(self, other):\n        return False\n", ""),
    "a helper that is used": (
        PY,
        "def _twice(a):\n    return a * 2\n\n\ndef four(a):\n    return _twice(_twice(a))\n",
        "from calc import _twice\n\n\ndef test_twice():\n    assert _twice(2) == 4\n",
    ),
    "a folder of tests that is named": (PY, "def layout(root):\n    return [root / 'src', root / 'tests']\n", ""),
    "a version": (PY, "def version():\n    return '1.2.3'\n", "def test_version():\n    assert version() == '1.2.3'\n"),
    "js: a product": (JS, "function mul(a, b) {\n  return a * b;\n}\nmodule.exports = { mul };\n", JS_SIX),
    "js: a helper": (
        JS,
        "function _twice(a) {\n  return a * 2;\n}\nexports.four = (a) => _twice(_twice(a));\n",
        "expect(_twice(2)).toBe(4);\n",
    ),
    "go: a helper": (
        GO,
        "func twice(a int) int {\n\treturn a * 2\n}\n\nfunc Four(a int) int {\n\treturn twice(twice(a))\n}\n",
        "func TestTwice(t *testing.T) {\n\tif twice(2) != 4 {\n\t\tt.Fatal()\n\t}\n}\n",
    ),
    "java: an equality": (JAVA, "class Sum {\n  public boolean equals(Object o) { return o == this; }\n}\n", ""),
    "java: unsupported": (
        JAVA,
        'class Fixed {\n  void add() { throw new UnsupportedOperationException("fixed"); }\n}\n',
        "",
    ),
}


@pytest.mark.parametrize("case", MADE_FOR_TESTS)
def test_it_is_named(case: str) -> None:
    path, code, tests, said, is_certain = MADE_FOR_TESTS[case]
    assert any(said in what and certain is is_certain for what, certain in found(path, code, tests)), found(
        path, code, tests
    )


@pytest.mark.parametrize("case", HONEST)
def test_it_is_left_alone(case: str) -> None:
    assert found(*HONEST[case]) == []


def test_two_answers_to_several_numbers_are_no_table() -> None:
    code = "def mul(a, b):\n    if a == 2 and b == 3:\n        return 6\n    if a == 4 and b == 5:\n        return 20\n"
    code += "    return 0\n"
    assert [certain for _, certain in found(PY, code, SIX)] == [True]
    assert [certain for _, certain in found(PY, code.replace("return 0", "return a"), SIX)] == [False]
    script = code.replace("def mul(a, b):", "function mul(a, b) {").replace("and", "&&").replace("if ", "if (")
    script = script.replace("3:", "3)").replace("5:", "5)").replace("==", "===") + "}\n"
    assert [certain for _, certain in found(JS, script, JS_SIX)] == [True]


def test_what_a_story_puts_among_its_tests_is_not_for_its_code() -> None:
    read = "def mul(a, b):\n    return json.load(open('tests/data/expected.json'))['mul']\n"
    around = Surroundings({"tests/data/expected.json": '{"mul": 6}'}, lambda: PLACES)
    assert [one.is_certain for one in suspicions([FileChange(PY, None, read.encode())], around)] == [True]


def test_what_was_there_before_is_not_the_storys() -> None:
    code = "def mul(a, b):\n    return 6\n"
    assert found(PY, f"{code}\n\ndef one():\n    return 1\n", SIX, old=code) == []


def test_a_variable_that_people_are_told_of_is_left_alone() -> None:
    code = "import os\n\nLIMIT = os.environ['CALC_LIMIT']\n"
    tests = "import os\n\nos.environ['CALC_LIMIT'] = '3'\n"
    assert found(PY, code, tests, told="CALC_LIMIT: the limit") == []
    assert len(found(PY, code, tests)) == 1


def test_code_that_a_program_wrote_is_read_in_no_time() -> None:
    code = f"function f(a) {{ {'if (a == 1) return 2; ' * 8000}}}\n" + "if (a == 'b') {" * 20000
    began = time.process_time()  # of this process alone: what else runs on the machine does not count
    found(JS, code, JS_SIX)
    assert time.process_time() - began < 5
