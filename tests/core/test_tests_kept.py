"""Are the tests still all there? The comparison itself, on values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralphy.checks.listing import OUTCOMES, Listing, merged, number_of_tests, pack, parse_junit, unpack
from ralphy.testguard.findings import Finding, Kind, orders, sentences
from ralphy.testguard.kept.test_keys import Key
from ralphy.testguard.kept.test_matching import Sources
from ralphy.testguard.kept.tests_kept import compare, compare_each, may_go
from ralphy.testguard.read.test_parser import Case

NAMES = st.sampled_from([f"tests/test_{f}.py::test_{n}{p}" for f in "ab" for n in "xyz" for p in ("", "[1]", "[2]")])
LISTS = st.dictionaries(NAMES, st.sampled_from(OUTCOMES), min_size=1)


def listing(*passed: str, **others: str) -> Listing:
    return Listing.of({**dict.fromkeys(passed, "passed"), **others})


def a_case(name: str, *asserts: str, path: str = "test.py", calls: Sequence[str] = ()) -> Case:
    return Case(path, name, f"body of {asserts or name}", asserts, asserts, frozenset(calls))


def kinds(found: Sequence[Finding]) -> list[Kind]:
    return [finding.kind for finding in found]


@given(LISTS)
def test_what_did_not_change_is_never_found(tests: Mapping[str, str]) -> None:
    assert compare(Listing.of(tests), Listing.of(tests), Sources(), ()) == []


@given(LISTS, LISTS)
def test_more_tests_are_never_found(tests: Mapping[str, str], more: Mapping[str, str]) -> None:
    assert compare(Listing.of(tests), Listing.of({**more, **tests}), Sources(), ()) == []


@given(LISTS, st.data())
def test_a_test_that_runs_no_more_is_always_found(tests: Mapping[str, str], data: st.DataObject) -> None:
    ran = [name for name, outcome in tests.items() if outcome in ("passed", "failed")]
    if not ran:
        return
    gone = data.draw(st.sampled_from(ran))
    after = Listing.of({"tests/test_c.py::test_new": "passed", **{k: v for k, v in tests.items() if k != gone}})
    assert compare(Listing.of(tests), after, Sources(), ())
    skipped = Listing.of({**tests, gone: "skipped"})
    assert compare(Listing.of(tests), skipped, Sources(), ())


@given(LISTS, LISTS)
def test_a_story_that_may_remove_all_removes_what_it_likes(old: Mapping[str, str], new: Mapping[str, str]) -> None:
    assert compare(Listing.of(old), Listing.of(new), Sources(), ["tests/*"]) == []


@given(st.dictionaries(st.text(min_size=1).filter(lambda k: "\0" not in k), st.sampled_from(OUTCOMES)))
def test_listings_come_back_as_they_were_kept(tests: Mapping[str, str]) -> None:
    readable = {k.encode("utf-8", "replace").decode(): v for k, v in tests.items()}
    assert unpack(pack({"test": Listing.of(readable)}))["test"].tests == readable


@given(st.binary(max_size=200))
def test_bytes_that_are_no_listings_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="no"):
        unpack(data)


def test_counts_are_kept_where_there_are_no_names() -> None:
    assert unpack(pack({"a": Listing({}, {"passed": 3})}))["a"].counts == {"passed": 3}


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
    assert merged([Listing.of({"a": "skipped"}), listing("a")]).tests == {"a": "passed"}


def test_the_runner_may_stand_in_a_folder_of_the_repository() -> None:
    assert Key.of("tests/test_a.py::TestB::test_c[x::y]").means(a_case("TestB.test_c", path="backend/tests/test_a.py"))
    assert not Key.of("tests/test_a.py::test_c").means(a_case("test_c", path="other_tests/test_a.py"))


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


def test_a_known_failure_must_still_be_there() -> None:
    found = compare(
        Listing.of({"test.py::a": "failed"}), listing("test.py::b"), Sources(changed=frozenset(["test.py"])), ()
    )
    assert kinds(found) == [Kind.REMOVED]


@pytest.mark.parametrize("outcome", ["skipped", "xfailed"])
def test_a_test_that_did_not_run_must_still_be_there(outcome: str) -> None:
    before, after = Listing.of({"test.py::a": outcome, "test.py::b": "passed"}), listing("test.py::b")
    assert kinds(compare(before, after, Sources(), ())) == [Kind.RUNNER]
    assert kinds(compare(before, after, Sources(changed=frozenset(["test.py"])), ())) == [Kind.REMOVED]
    assert compare(before, after, Sources(), ["test.py::a"]) == []


def test_a_removed_test_is_not_found_again_in_one_that_is_skipped() -> None:
    sources = Sources([a_case("test_a", "f(1)")], [a_case("test_b", "f(1)")], frozenset(["test.py"]))
    before, after = (
        listing("test.py::test_a"),
        Listing.of({"test.py::test_b": "skipped", "test.py::test_c": "passed"}),
    )
    assert kinds(compare(before, after, sources, ())) == [Kind.REMOVED]


def test_two_tests_are_not_found_again_in_one_case_with_other_values() -> None:
    old = [Case("test.py", f"test_{n}", n, (f"f({n})",), ("f(_)",)) for n in "12"]
    sources = Sources(old, [Case("test.py", "test_f", "f", ("f(3)",), ("f(_)",))], frozenset(["test.py"]))
    found = compare(listing("test.py::test_1", "test.py::test_2"), listing("test.py::test_f"), sources, ())
    assert found == [Finding(Kind.REMOVED, "test.py::test_2")]


def test_without_listings_the_text_says_what_is_gone_skipped_or_emptied() -> None:
    old = [a_case(f"test_{n}", f"f({n})") for n in "abcd"]
    skipped = Case("test.py", "test_b", "", ("f(b)",), ("f(b)",), frozenset(), is_skipped=True)
    new = [skipped, a_case("test_c"), a_case("test_renamed", "f(d)")]
    found = compare(None, None, Sources(old, new, frozenset(["test.py"])), ())
    assert {(f.kind, f.what) for f in found} == {
        (Kind.REMOVED, "test.py::test_a"), (Kind.SKIPPED, "test.py::test_b"), (Kind.EMPTIED, "test.py::test_c"),
    }  # fmt: skip


def test_without_listings_a_test_that_stays_is_no_home_of_one_that_is_gone() -> None:
    small, big = (Case("test.py", f"test_{n}", n, (f"f({n})",), ("f(_)",)) for n in "12")
    found = compare(None, None, Sources([small, big], [small], frozenset(["test.py"])), ())
    assert found == [Finding(Kind.REMOVED, "test.py::test_2")]


def test_a_test_of_java_that_moves_to_a_file_where_nobody_looks_is_gone() -> None:
    def moved_to(path: str) -> list[Kind]:
        new = Sources([a_case("adds", "x", path="shop/CartTest.java")], [a_case("adds", "x", path=path)])
        return kinds(compare(None, None, new, ()))

    assert moved_to("shop/CartChecks.java") == [Kind.REMOVED]
    assert moved_to("shop/BasketTest.java") == []


def test_tests_in_a_language_that_no_check_lists_are_compared_by_their_text() -> None:
    sources = Sources([a_case("adds", "f(1)", path="a.test.js")], [], frozenset(["a.test.js"]))
    assert kinds(compare(listing("test.py::a"), listing("test.py::a"), sources, ())) == [Kind.REMOVED]


def test_tests_in_files_that_no_check_lists_are_compared_by_their_text() -> None:
    old = [a_case("test_b", "f(1)", path="unit/test_b.py"), a_case("test_c", "f(1)", path="unit/helpers.py")]
    found = compare(listing("test.py::a"), listing("test.py::a"), Sources(old), ())
    assert found == [Finding(Kind.REMOVED, "unit/test_b.py::test_b")]


def test_names_that_are_made_while_a_test_runs_count_by_number() -> None:
    changed = Sources(changed=frozenset(["a.test.js"]))
    assert compare(listing("adds 1 and 2"), listing("adds 2 and 3"), changed, ()) == []
    assert kinds(compare(listing("adds 1", "adds 2"), listing("adds 3"), changed, ())) == [Kind.REMOVED] * 2


def test_cases_of_a_go_test_are_counted() -> None:
    found = compare(listing("TestAdd", "TestAdd/a", "TestAdd/b"), listing("TestAdd", "TestAdd/a"), Sources(), ())
    assert found == [Finding(Kind.REMOVED, "TestAdd/b: 2 of 3 cases of this test are left")]


def test_of_numbers_alone_fewer_are_found() -> None:
    before, after = Listing({}, {"passed": 5}), Listing({}, {"passed": 4})
    assert kinds(compare(before, after, Sources(), ())) == [Kind.REMOVED]
    assert kinds(compare(before, Listing({}, {"passed": 4, "skipped": 1}), Sources(), ())) == [Kind.SKIPPED]
    assert compare(before, Listing({}, {"passed": 6}), Sources(), ()) == []


def test_beside_numbers_that_stay_the_text_says_what_is_gone() -> None:
    same, sources = Listing({}, {"passed": 5}), Sources([a_case("test_a", "f(1)")], [a_case("test_b", "g(1)")])
    assert compare(same, same, sources, ()) == [Finding(Kind.REMOVED, "test.py::test_a")]


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


def test_a_test_that_runs_and_is_not_written_any_more_is_gone() -> None:
    sources = Sources([a_case("test_a", "f(1)"), a_case("test_b", "g(1)")], [a_case("test_b", "g(1)")])
    same = listing("test.py::test_a", "test.py::test_b")
    assert kinds(compare(same, same, sources, ())) == [Kind.REMOVED]
    assert kinds(compare(same, same, Sources(sources.old, unread=frozenset(["test.py"])), ())) == [Kind.FEWER] * 2
    assert compare(same, same, sources, ["test_a"]) == []
    shared = Sources(sources.old, [*sources.new, a_case("Shared.test_a", "f(1)", path="shared.py")])
    assert compare(same, same, shared, ()) == []


def test_a_test_that_passes_and_may_fail_now_is_found() -> None:
    old = a_case("test_a", "f(1)")
    new = Case(old.path, old.name, old.body, old.asserts, old.shapes, old.calls, is_skipped=True, may_fail=True)
    same = listing("test.py::test_a")
    assert kinds(compare(same, same, Sources([old], [new]), ())) == [Kind.SKIPPED]
    assert compare(same, same, Sources([new], [new]), ()) == []


def test_a_test_in_other_words_is_known_by_its_name() -> None:
    sources = Sources([a_case("TestA.test_a", "self.equal(1)")], [a_case("test_a", "1 == 1")], frozenset(["test.py"]))
    assert compare(listing("test.py::TestA::test_a"), listing("test.py::test_a"), sources, ()) == []


def test_a_doctest_moves_with_its_function() -> None:
    before, after = listing("src/a/sums.py::a.sums.add"), listing("src/a/more.py::a.more.add")
    changed = Sources(changed=frozenset(["src/a/sums.py", "src/a/more.py"]))
    assert compare(before, after, changed, ()) == []
    assert kinds(compare(before, listing("src/a/more.py::a.more.sub"), changed, ())) == [Kind.REMOVED]
    assert kinds(compare(listing(*before.tests, *after.tests), after, changed, ())) == [Kind.REMOVED]


def test_tests_of_one_name_in_two_checks_are_told_apart() -> None:
    both = {"a": listing("t.py::test_x", "t.py::test_y"), "b": listing("t.py::test_x")}
    apart = frozenset(["t.py"])
    skipped = {**both, "b": Listing.of({"t.py::test_x": "skipped"})}
    gone = {**both, "b": listing("t.py::test_z")}
    assert compare_each(both, both, apart, Sources(), ()) == []
    assert kinds(compare_each(both, skipped, apart, Sources(), ())) == [Kind.SKIPPED]
    assert kinds(compare_each(both, gone, apart, Sources(), ())) == [Kind.RUNNER]
    assert compare_each(both, gone, frozenset(), Sources(), ()) == []


def test_numbers_are_compared_of_a_check_that_names_no_tests_beside_one_that_does() -> None:
    before = {"a": listing("t.py::test_x"), "web": Listing({}, {"passed": 3})}
    assert kinds(compare_each(before, {**before, "web": Listing({}, {"passed": 2})}, frozenset(), Sources(), ())) == [
        Kind.REMOVED
    ]
    assert compare_each(before, {**before, "web": Listing({}, {"passed": 4})}, frozenset(), Sources(), ()) == []
