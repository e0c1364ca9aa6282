"""Are the tests still all there? The comparison itself, on values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralphy.checks.listing import OUTCOMES, Listing, merged, number_of_tests, parse_junit
from ralphy.testguard.findings import Finding, Kind, orders, sentences
from ralphy.testguard.red_first import compared
from ralphy.testguard.test_files import WrittenTest, assertions_in, importable
from ralphy.testguard.test_files import tests_in as written_in
from ralphy.testguard.test_keys import Key
from ralphy.testguard.tests_kept import fewer, may_go, skipped, vanished

NAMES = st.sampled_from([f"tests/test_{f}.py::test_{n}{p}" for f in "ab" for n in "xyz" for p in ("", "[1]", "[2]")])
LISTS = st.dictionaries(NAMES, st.sampled_from(OUTCOMES), min_size=1)


def listing(*passed: str, **others: str) -> Listing:
    return Listing.of({**dict.fromkeys(passed, "passed"), **others})


def compare(old: Listing, new: Listing, removes: Sequence[str] = ()) -> list[Finding]:
    """All that the names, or numbers, of one check say; one that vanished is asked for by running it."""
    before, after = {"test": old}, {"test": new}
    found = [*skipped(before, after, removes), *fewer(before, after, removes)]
    return found + [Finding(Kind.REMOVED, test) for test in vanished(old, after, removes)]


def kinds(found: Sequence[Finding]) -> list[Kind]:
    return [finding.kind for finding in found]


@given(LISTS)
def test_what_did_not_change_is_never_found(tests: Mapping[str, str]) -> None:
    assert compare(Listing.of(tests), Listing.of(tests)) == []


@given(LISTS, LISTS)
def test_more_tests_are_never_found(tests: Mapping[str, str], more: Mapping[str, str]) -> None:
    assert compare(Listing.of(tests), Listing.of({**more, **tests})) == []


@given(LISTS, st.data())
def test_a_test_that_runs_no_more_is_always_found(tests: Mapping[str, str], data: st.DataObject) -> None:
    ran = [name for name, outcome in tests.items() if outcome in ("passed", "failed")]
    if not ran:
        return
    gone = data.draw(st.sampled_from(ran))
    after = Listing.of({"tests/test_c.py::test_new": "passed", **{k: v for k, v in tests.items() if k != gone}})
    assert compare(Listing.of(tests), after)
    assert compare(Listing.of(tests), Listing.of({**tests, gone: "skipped"}))


@given(LISTS, LISTS)
def test_a_story_that_may_remove_all_removes_what_it_likes(old: Mapping[str, str], new: Mapping[str, str]) -> None:
    assert compare(Listing.of(old), Listing.of(new), ["tests/*"]) == []


@given(st.binary(max_size=300))
def test_any_bytes_are_a_report_or_none(data: bytes) -> None:
    assert parse_junit(data) is None or parse_junit(data)


def test_a_report_with_a_document_type_is_none() -> None:
    assert parse_junit(b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]><testsuites/>') is None


def test_the_names_of_a_report_are_those_of_pytest() -> None:
    rows = (
        b'<testcase classname="tests.test_a.TestB" name="test_c[x.y]" file="tests/test_a.py"/>'
        b'<testcase classname="tests.test_a" name="test_d" file="tests/test_a.py"><failure/></testcase>'
        b'<testcase classname="tests.test_a" name="test_e" file="tests/test_a.py">'
        b'<skipped type="pytest.skip" message="slow"/></testcase>'
        b'<testcase classname="tests.test_a" name="test_f" file="tests/test_a.py">'
        b'<skipped type="pytest.xfail"/></testcase>'
        b'<testcase classname="tests.test_a.TestG" name="test_h" file="tests/shared.py"/>'
    )
    found = parse_junit(b"<testsuites><testsuite>" + rows + b"</testsuite></testsuites>")
    assert found is not None
    assert found.tests == {
        "tests/test_a.py::TestB::test_c[x.y]": "passed",
        "tests/test_a.py::test_d": "failed",
        "tests/test_a.py::test_e": "skipped",
        "tests/test_a.py::test_f": "xfailed",
        "tests/test_a.py::TestG::test_h": "passed",
    }
    assert found.reasons["tests/test_a.py::test_e"] == "slow"
    assert found.summary() == {"collected": 5, "passed": 2, "failed": 1, "skipped": 1, "xfailed": 1}


def test_a_test_that_ran_in_one_of_two_checks_ran() -> None:
    for outcome, other in (("skipped", "passed"), ("xfailed", "passed"), ("skipped", "xfailed"), ("passed", "failed")):
        for pair in ([outcome, other], [other, outcome]):
            assert merged([Listing.of({"a": each}) for each in pair]).tests == {"a": other}


def test_of_a_test_that_a_report_has_twice_the_failure_counts() -> None:
    rows = [b'<testcase name="test_a" file="t.py">%s</testcase>' % inner for inner in (b"", b"<failure/>", b"")]
    found = parse_junit(b"<testsuites><testsuite>" + b"".join(rows) + b"</testsuite></testsuites>")
    assert found is not None and found.tests == {"t.py::test_a": "failed"}


def test_a_case_without_a_name_is_no_test_that_passed() -> None:
    """pytest reports the test in which its session was ended without a name."""
    rows = b'<testcase name="test_a" file="t.py"/><testcase time="0.000"/>'
    found = parse_junit(b"<testsuites><testsuite>" + rows + b"</testsuite></testsuites>")
    assert found is not None and found.tests == {"t.py::test_a": "passed"}


def test_a_module_and_a_class_stand_for_their_tests() -> None:
    several = ["t/test_a.py::TestA::setUpClass", "t/test_a.py::setUpModule", "t/test_a.py::t.test_a", "t/a.py::a"]
    assert [test for test in several if not Key.of(test).is_for_several] == []
    assert not any(Key.of(test).is_for_several for test in ("t/test_a.py::TestA::test_b", "setUpClass", "adds"))


def test_the_runner_may_stand_in_a_folder_of_the_repository() -> None:
    assert Key.of("tests/test_a.py::TestB::test_c[x::y]").means(WrittenTest("backend/tests/test_a.py", "TestB.test_c"))
    assert not Key.of("tests/test_a.py::test_c").means(WrittenTest("other_tests/test_a.py", "test_c"))


@pytest.mark.parametrize(
    "named",
    ["t/a.py::test_b[1]", "t/a.py::test_b", "t/a.py", "t/", "t", "t/*", "test_b", "*::test_b*", "t.a.test_b", "t.a"],
)
def test_a_test_is_named_by_id_name_glob_file_or_folder(named: str) -> None:
    assert may_go("t/a.py::test_b[1]", [named])
    assert not may_go("u/a.py::test_c", [named])


def test_a_method_is_named_with_its_class_alone() -> None:
    assert may_go("t/a.py::TestB::test_c", ["TestB.test_c"])
    assert not may_go("t/a.py::TestB::test_c", ["B.test_c"])


def test_a_story_names_a_test_by_its_file_though_the_runner_tells_none() -> None:
    wanted = ["tests/cart.test.js::counts", "price/price_test.go::TestLine/zero"]
    assert may_go("counts", wanted) and may_go("cart > counts", wanted) and may_go("TestLine/zero", wanted)
    assert not may_go("adds", wanted) and not may_go("tests/b.test.js::counts", wanted)


@pytest.mark.parametrize("outcome", ["failed", "skipped", "xfailed"])
def test_a_test_that_did_not_pass_must_still_be_there(outcome: str) -> None:
    before, after = Listing.of({"test.py::a": outcome, "test.py::b": "passed"}), listing("test.py::b")
    assert kinds(compare(before, after)) == [Kind.REMOVED]
    assert compare(before, after, ["test.py::a"]) == []


def test_cases_of_a_go_test_are_counted() -> None:
    found = compare(listing("TestAdd", "TestAdd/a", "TestAdd/b"), listing("TestAdd", "TestAdd/a"))
    assert found == [Finding(Kind.REMOVED, "TestAdd/b: 2 of 3 cases of this test are left")]
    cases = [f"t.py::test_a[{n}]" for n in range(3)]
    other = "t.py::test_b"
    assert kinds(compare(listing(*cases, other), listing(*cases[:2], other))) == [Kind.REMOVED]
    assert kinds(compare(listing(*cases, other), listing("t.py::test_a", other))) == [Kind.FEWER]


def test_what_fails_without_the_code_is_the_proof_and_what_is_missing_only_where_its_file_could_not_be_run() -> None:
    there = ["t.py::test_a", "t.py::test_b", "t.py::test_c", "u.py::test_d"]
    without = {"t.py::test_a": "failed", "t.py::test_b": "passed"}
    own = [WrittenTest("t.py", "test_b")]
    found = compared(dict.fromkeys([*there, "t.py::test_e"], "passed"), without, there, own, is_red=True)
    assert (found.tests, found.blind) == (("t.py::test_a", "u.py::test_d"), ("t.py::test_b",))
    assert compared(dict.fromkeys(there, "passed"), without, there, own, is_red=False).tests == ("t.py::test_a",)


def test_of_numbers_alone_fewer_are_found() -> None:
    before, after = Listing({}, {"passed": 5}), Listing({}, {"passed": 4})
    assert kinds(compare(before, after)) == [Kind.REMOVED]
    assert kinds(compare(before, Listing({}, {"passed": 4, "skipped": 1}))) == [Kind.SKIPPED]
    assert compare(before, Listing({}, {"passed": 6})) == []


def test_numbers_are_compared_of_a_check_that_names_no_tests_beside_one_that_does() -> None:
    before = {"a": listing("t.py::test_x"), "web": Listing({}, {"passed": 3})}
    assert kinds([*fewer(before, {**before, "web": Listing({}, {"passed": 2})}, ())]) == [Kind.REMOVED]
    assert [*fewer(before, {**before, "web": Listing({}, {"passed": 4})}, ())] == []


def test_tests_of_one_name_in_two_checks_are_told_apart() -> None:
    both = {"a": listing("t.py::test_x", "t.py::test_y"), "b": listing("t.py::test_x")}
    assert [*skipped(both, both, ()), *fewer(both, both, ())] == []
    assert kinds([*skipped(both, {**both, "b": Listing.of({"t.py::test_x": "skipped"})}, ())]) == [Kind.SKIPPED]
    assert kinds([*fewer(both, {**both, "b": listing("t.py::test_z")}, ())]) == [Kind.REMOVED]


WRITTEN = {
    "t.py": "class TestA:\n    def test_a(self):\n        assert f() == 1\n\n\ndef helper():\n    pass\n",
    "a.test.js": "test('adds', () => {\n  expect(f()).toBe(1)\n})\n",
    "a_test.go": "func TestAdds(t *testing.T) {\n\tt.Fatal(1)\n}\n",
    "src/a.rs": "#[test]\nfn adds() { assert_eq!(f(), 1); }\n",
    "ATest.java": "@Test void adds() { assertEquals(1, f()); }\n",
}


@pytest.mark.parametrize("path", WRITTEN)
def test_the_tests_of_a_file_are_known_and_its_assertions_counted(path: str) -> None:
    data = WRITTEN[path].encode()
    (test,) = written_in(path, data)
    assert test.name in ("TestA.test_a", "adds", "TestAdds")
    assert (assertions_in(path, data), assertions_in(path, None)) == (1, 0)


def test_of_python_a_constant_asserts_nothing_and_what_cannot_be_read_holds_no_tests() -> None:
    assert assertions_in("t.py", b"assert True\nself.assertTrue(True)\nassert f()\n") == 1
    assert written_in("t.py", b"def test_a(:") == [] == written_in("t.unknown", b"test")


def test_an_import_of_what_is_gone_fails_the_tests_that_use_it_alone() -> None:
    text = importable("t.py", b"from __future__ import annotations\nfrom os import nothing, path\nHERE = path\n")
    scope: dict[str, object] = {}
    exec(text, scope)
    assert "nothing" not in scope
    assert scope["HERE"] is scope["path"]


def test_a_sentence_names_the_first_and_says_how_many_more() -> None:
    found = [Finding(Kind.REMOVED, f"test.py::test_{n}\x1b[31m") for n in range(12)]
    said = sentences(found)
    assert len(said) == 1
    assert said[0].endswith(" and 2 more")
    assert "\x1b" not in said[0]
    assert orders(found).count("\n- ") == 12


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        ({}, ""),
        ({"tests": {"compared": "by their text"}}, ""),
        ({"tests": {"after": {"collected": 3}}}, "3 tests"),
        ({"tests": {"before": {"collected": 2}, "after": {"collected": 3, "skipped": 1}}}, "2 → 3 tests (1 skipped)"),
        ({"tests": {"before": {"collected": 1}, "after": {"collected": 1}}}, "1 test, as before"),
        ({"tests": "by hand"}, ""),
    ],
)
def test_the_evidence_of_tests_in_words(evidence: dict[str, object], said: str) -> None:
    assert number_of_tests(evidence) == said
