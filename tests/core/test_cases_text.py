"""Tests as they are written in JavaScript, TypeScript, Go and Rust."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralphy.testguard.read.reachable_text import reached
from ralphy.testguard.read.test_parser import Case
from ralphy.testguard.read.text_test_parser import LANGUAGES, text_cases

JS = """\
import { test, expect } from "vitest"
describe("calc", () => {
  it("adds 1.5 numbers", () => {
    // expect(nothing).toBe(1)
    expect(add(1, 2)).toBe(3)
    expect(add(2, 2)).toBe(4);
  })
  test.each([1, 2])('zero %d', (n) => { expect(sub(n, n)).toBe(0) })
  it.skip("is slow", () => expect(1).toBe(one()))
  it("is empty", () => { expect(true).toBe(true) })
})
"""
GO = """\
package calc

func TestAdd(t *testing.T) {
	if Add(1, 2) != 3 {
		t.Errorf("no")
	}
}

func TestSlow(t *testing.T) {
	t.Skip("slow")
	require.Equal(t, 3, Add(1, 2))
}
"""
RUST = """\
fn add(a: u8, b: u8) -> u8 { a + b }

#[cfg(test)]
mod tests {
    #[test]
    fn adds() {
        assert_eq!(add(1, 2), 3);
    }

    #[tokio::test]
    #[ignore]
    async fn slow() { assert!(add(1, 2) == 3); }

    #[test]
    fn empty() { assert!(true); }
}
"""


def read(path: str, text: str) -> dict[str, Case]:
    return {case.name: case for case in text_cases(path, text)}


def test_tests_of_javascript_are_read() -> None:
    found = read("a.test.ts", JS)
    assert {name: (len(case.asserts), case.is_skipped) for name, case in found.items()} == {
        "adds 1.5 numbers": (2, False), "zero %d": (1, False), "is slow": (1, True), "is empty": (0, False),
    }  # fmt: skip
    assert found["adds 1.5 numbers"].short == "adds 1.5 numbers"


def test_tests_of_go_are_read() -> None:
    found = read("calc_test.go", GO)
    assert {name: (len(case.asserts), case.is_skipped) for name, case in found.items()} == {
        "TestAdd": (1, False), "TestSlow": (1, True),
    }  # fmt: skip
    assert all(case.is_skipped for case in read("calc_test.go", f"//go:build ignore\n{GO}").values())


def test_tests_of_rust_are_read() -> None:
    found = read("src/lib.rs", RUST)
    assert {name: (len(case.asserts), case.is_skipped) for name, case in found.items()} == {
        "adds": (1, False), "slow": (1, True), "empty": (0, False),
    }  # fmt: skip


def test_only_takes_all_others_out() -> None:
    assert all(case.is_skipped for case in read("a.test.js", JS.replace('it("adds', 'it.only("adds')).values())


def test_a_moved_test_asserts_the_same() -> None:
    moved = 'test("adds", async () => {\n      expect(add(1, 2)).toBe(3);\n      expect(add(2, 2)).toBe(4)\n})\n'
    assert read("b.test.js", moved)["adds"].asserts == read("a.test.ts", JS)["adds 1.5 numbers"].asserts


def test_other_files_have_no_tests() -> None:
    assert read("README.md", JS) == {}


def test_an_assertion_is_read_whole_where_a_text_stands_in_the_place_of_a_type() -> None:
    (case,) = text_cases("a.test.ts", "it('a', () => {\n  expect<'<'>(a).toBe(1);\n});\n")
    assert case.asserts == ("expect<'<'>(a).toBe(1",)


@pytest.mark.parametrize("ending", [language.endings[0] for language in LANGUAGES])
@given(text=st.text(max_size=300))
def test_any_text_is_read(ending: str, text: str) -> None:
    assert isinstance(read(f"a{ending}", text), dict)


REACHED = {
    "expect(add(1, 2)).toBe(3)": 1,
    "expect(add(1, 2)).toBe(add(1, 2))": 0,
    "assert.equal(add(1, 2), add(1, 2));": 0,
    "assert.equal(add(1, 2), add(1, 2) + one);": 1,
    "assertAdds(1, 2, 3);": 1,
    "assert.equal;": 0,
    "expect.assertions(0);": 0,
    "add(1, 2); // assert.equal(add(1, 2), 3)": 0,
    "assert.equal(get('http://a.example//b'), 3)": 1,
    "return;\n    assert.equal(add(1, 2), 3)": 0,
    "if (late) {\n      return;\n    }\n    assert.equal(add(1, 2), 3)": 1,
    "return expect(add(1, 2)).toBe(3)": 1,
    "if (false) {\n      assert.equal(add(1, 2), 3);\n    }": 0,
    "if (late) {\n      assert.equal(add('}'), 3);\n    }": 1,
    "try {\n      assert.equal(add(1, 2), 3);\n    } catch (e) {}": 0,
    "try {\n      assert.equal(add(1, 2), 3);\n    } catch {\n      log(1);\n    }\n    expect(a).toBe(1)": 1,
    "try {\n      add(1);\n      assert.fail();\n    } catch (e) {\n      assert.equal(e.message, 1);\n    }": 2,
    "expect(add(1)).resolves.toBe(3).catch(() => {});": 0,
}


@pytest.mark.parametrize("body", REACHED)
def test_assertions_of_javascript_count_where_they_are_reached_and_can_fail(body: str) -> None:
    found = read("a.test.js", f'describe("a", () => {{\n  it("adds", () => {{\n    {body}\n  }});\n}});\n')
    assert len(found["adds"].asserts) == REACHED[body]


def test_a_test_of_javascript_may_be_expected_to_fail() -> None:
    assert read("a.test.js", JS.replace('it("adds', 'it.failing("adds'))["adds 1.5 numbers"].may_fail
    assert not read("a.test.js", JS)["adds 1.5 numbers"].may_fail


@given(st.text(alphabet="{}()try catch if false return;\n\"'`", max_size=200))
def test_any_braces_come_to_an_end(text: str) -> None:
    assert len(reached(text)) <= len(text)


@pytest.mark.parametrize(
    "inside", ["", "a();", "if (a) { b(); }", "if (a) { if (b) { c(); } } else { d(); }", "x = '}';"]
)
def test_what_never_runs_ends_with_its_own_brace(inside: str) -> None:
    before, after = "it('a', () => {\n  ", "\n  expect(add(1)).toBe(2);\n});\n"

    assert reached(f"{before}if (false) {{ {inside} }}{after}") == f"{before}{after}"
    assert (
        reached(f"{before}try {{ {inside} }} catch (e) {{ {inside.replace('expect', '')} }}{after}")
        == f"{before}{after}"
    )


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.rs", "#[test]\nfn x() {\n" + "#[cfg_attr(" * 6000 + "\n}"),
        ("a_test.go", "func TestX(t *testing.T) {\n" + "if " * 20000 + "\n}"),
    ],
    ids=["rust", "go"],
)
def test_a_line_that_begins_the_same_again_and_again_is_read_in_no_time(path: str, text: str) -> None:
    begun = time.process_time()
    assert len(list(text_cases(path, text))) == 1
    assert time.process_time() - begun < 2
