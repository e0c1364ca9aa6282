"""Tests as they are written: an assertion counts where it is reached and can fail."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralphy.testguard.read.test_parser import Case, functions_of, parsed, python_cases


def cases(text: str, *others: str) -> list[Case]:
    trees = [tree for source in (text, *others) if (tree := parsed(source.encode())) is not None]
    return list(python_cases("tests/test_x.py", trees[0], functions_of(trees)))


def asserted(body: str) -> int:
    """How many assertions count in a test of this body."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return len(cases(f"def test_x(a, self, mock):\n{lines}\n")[0].asserts)


EFFECTIVE = {
    "assert a == 1": 1,
    "assert a == 1\nassert a": 2,
    "with pytest.raises(ValueError):\n    f(a)": 1,
    "self.assertEqual(a, 1)": 1,
    "mock.assert_called_once_with(1)": 1,
    "expect(a).to_be(3)": 1,
    "check_user('bob')": 1,
    "for x in a:\n    assert x": 1,
    "if a:\n    raise AssertionError('no')": 1,
    "if a:\n    pytest.fail('no')": 1,
    "try:\n    f(a)\nexcept ValueError:\n    assert a": 1,
    "try:\n    assert a\nfinally:\n    f()": 1,
    "try:\n    assert a\nexcept Exception:\n    raise": 1,
    "def inner():\n    assert a\ninner()": 2,
    "def inner():\n    assert a\nmock.on(inner)": 1,
    "try:\n    assert a\nexcept AssertionError:\n    assert self.b": 2,
    "for x in range(a):\n    assert x": 1,
    "if not a:\n    assert self.b": 1,
    "assert [x for x in a]": 1,
    "assert {**a}": 1,
    "assert f'{a}'": 1,
    "assert a.total == mock.ANY.total": 1,
    "self.assertEqual(f(a), f(self))": 1,
    "with self.subTest(a):\n    assert a": 1,
}
EMPTY = [
    "pass",
    "...",
    "assert True",
    "assert 1 == 1",
    "assert a == a",
    "assert a or True",
    "assert (a, 'message')",
    "assert lambda: a",
    "self.assertTrue(True)",
    "return\nassert a",
    "pytest.skip('slow')\nassert a",
    "self.skipTest('slow')\nassert a",
    "raise SkipTest\nassert a",
    "if False:\n    assert a",
    "while False:\n    assert a",
    "for x in []:\n    assert x",
    "try:\n    assert a\nexcept AssertionError:\n    pass",
    "try:\n    assert a\nexcept:\n    print(a)",
    "with suppress(AssertionError):\n    assert a",
    "f(a)",
    "assert [a == 1]",
    "assert (x == 1 for x in a)",
    "assert f'is {a}'",
    "assert {'a': a}",
    "assert not a != a",
    "assert a == ANY",
    "self.assertEqual(f(a), f(a))",
    "self.assertTrue(a == 1 or True)",
    "for x in range(0):\n    assert a",
    "for x in {}:\n    assert a",
    "if not True:\n    assert a",
    "if a and False:\n    assert a",
    "try:\n    assert a\nexcept AssertionError:\n    assert True",
    "try:\n    assert a\nfinally:\n    return",
    "def inner():\n    assert a",
]


@pytest.mark.parametrize("body", EFFECTIVE)
def test_an_assertion_counts(body: str) -> None:
    assert asserted(body) == EFFECTIVE[body]


@pytest.mark.parametrize("body", EMPTY)
def test_no_assertion_counts(body: str) -> None:
    assert asserted(body) == 0


def test_the_assertions_of_a_helper_are_those_of_the_test() -> None:
    helper = "def adds(a, b):\n    assert a\n    assert b\n"
    found = cases(f"{helper}def test_x():\n    adds(1, 2)\n")
    assert len(found[0].asserts) == 2


def test_a_helper_of_another_changed_file_is_known() -> None:
    found = cases("def test_x():\n    adds(1, 2)\n", "def adds(a, b):\n    assert a == b\n")
    assert len(found[0].asserts) == 1


def test_a_helper_that_asserts_nothing_does_not_count_by_its_name() -> None:
    assert cases("def check(a):\n    pass\ndef test_x():\n    check(1)\n")[0].asserts == ()


def test_helpers_that_call_each_other_come_to_an_end() -> None:
    text = "def a():\n    b()\ndef b():\n    a()\n    assert x\ndef test_x():\n    a()\n"
    assert len(cases(text)[0].asserts) == 1


QUIET = (
    "def quiet(f):\n    def inner():\n        try:\n            f()\n        except AssertionError:\n            pass\n"
)
MANAGERS = {
    "a generator": "@contextmanager\ndef quiet():\n    try:\n        yield\n    except AssertionError:\n        pass\n",
    "a class": "class quiet:\n    def __exit__(self, *found):\n        return True\n",
}


def test_a_decorator_of_the_tests_own_may_swallow_what_fails() -> None:
    test = "@quiet\ndef test_x():\n    assert a\n"
    assert cases(QUIET + test)[0].asserts == ()
    assert len(cases(QUIET.replace("pass", "raise") + test)[0].asserts) == 1


@pytest.mark.parametrize("manager", MANAGERS)
def test_a_context_manager_of_the_tests_own_may_swallow_what_fails(manager: str) -> None:
    test = "def test_x():\n    with quiet():\n        assert a\n"
    assert cases(MANAGERS[manager] + test)[0].asserts == ()
    assert len(cases(test)[0].asserts) == 1


@pytest.mark.parametrize(("behind", "number"), [("test_x = lambda: None", 0), ("del test_x", 0), ("x = 1", 1),
                                                ("test_x = slow(test_x)", 1)])  # fmt: skip
def test_a_test_that_is_given_another_meaning_behind_it_is_not_written_there(behind: str, number: int) -> None:
    assert len(cases(f"def test_x():\n    assert a\n{behind}\n")) == number


@pytest.mark.parametrize(
    ("mark", "expected"),
    [("xfail", True), ("xfail(reason='slow')", True), ("xfail(True, reason='')", True),
     ("xfail(sys.platform == 'win32', reason='')", False), ("skip", False)],
)  # fmt: skip
def test_a_test_that_is_expected_to_fail_may_fail_unless_there_is_a_condition(mark: str, expected: bool) -> None:
    assert cases(f"@pytest.mark.{mark}\ndef test_x():\n    assert a\n")[0].may_fail is expected
    assert cases(f"pytestmark = [pytest.mark.{mark}]\ndef test_x():\n    assert a\n")[0].may_fail is expected


@pytest.mark.parametrize(
    "text",
    [
        "@pytest.mark.skip\ndef test_x():\n    assert a\n",
        "@pytest.mark.skipif(a, reason='')\ndef test_x():\n    assert a\n",
        "@unittest.expectedFailure\ndef test_x():\n    assert a\n",
        "pytestmark = pytest.mark.skip\ndef test_x():\n    assert a\n",
        "pytest.skip('no', allow_module_level=True)\ndef test_x():\n    assert a\n",
        "class TestX:\n    __test__ = False\n    def test_x(self):\n        assert a\n",
    ],
)
def test_a_test_takes_itself_out(text: str) -> None:
    assert cases(text)[0].is_skipped


def test_only_exceptions_that_skip_take_a_test_out() -> None:
    text = "def test_x(a):\n    if a:\n        raise %s\n    assert a\n"
    assert cases(text % "SkipTest")[0].silencers and not cases(text % "ValueError")[0].silencers


def test_a_parametrised_test_has_the_shape_of_those_it_was_made_of() -> None:
    one, other = cases("def test_a():\n    assert add(1, 2) == 3\ndef test_b(a, b, c):\n    assert add(a, b) == c\n")
    assert one.shapes == other.shapes
    assert one.asserts != other.asserts
    assert cases("def test_c(a, b):\n    assert add(a, b) == SUMS[a, b]\n")[0].shapes == one.shapes
    assert cases("def test_d(a, b, c):\n    assert mul(a, b) == c\n")[0].shapes != one.shapes


def test_white_space_and_docstrings_do_not_make_another_body() -> None:
    one, other = cases('def test_a():\n    assert   x\ndef test_b():\n    """Why."""\n    assert x\n')
    assert one.body == other.body


@given(st.text(max_size=300))
def test_any_text_is_read_or_held_back(text: str) -> None:
    tree = parsed(text.encode("utf-8", "replace"))
    assert tree is None or list(python_cases("x.py", tree, {})) is not None


def test_deep_nesting_is_held_back() -> None:
    assert parsed(b"(" * 100_000) is None
    nested = ast.unparse(parsed(b"def test_x():\n    assert a\n") or ast.Module([], []))
    assert len(cases(nested)) == 1


def test_a_fixture_is_no_test_whatever_its_name() -> None:
    assert cases("@pytest.fixture\ndef test_client():\n    return 1\n") == []
