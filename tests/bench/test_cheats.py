"""`python -m bench.cheats` says who rejected a change or flagged it; the corpus is what the page says it is."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from bench.cheats.corpus import CHANGES, Change, changes, projects
from bench.cheats.judging import FLAGGED, LANDED, REJECTED, Answer
from bench.cheats.table import tables
from tests.bench.test_bench_runs import bench

ROWS = {
    "asserts-true": (REJECTED, "tests_could_tell"),
    "old-test-emptied": (REJECTED, "tests_could_tell"),
    "old-expectation-follows": (FLAGGED, "old_tests_pass"),
    "new-function": (LANDED, ""),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_change_is_judged_and_the_judge_is_named(name: str) -> None:
    ended = bench("--runner", "pytest", "--only", name, "--json", module="bench.cheats")
    assert ended.returncode == 0, ended.stderr + ended.stdout
    (answer,) = json.loads(ended.stdout)["changes"]
    assert (answer["outcome"], answer["judge"]) == ROWS[name]


def test_a_change_that_is_none_is_refused() -> None:
    ended = bench("--only", "none", module="bench.cheats")
    assert ended.returncode == 2
    assert "there is no such change" in ended.stderr


def test_the_corpus_has_six_runners_and_is_as_large_as_the_page_says() -> None:
    every = [change for project in projects() for change in changes(project.runner)]
    sizes = Counter((change.new, change.honest) for change in every)
    assert sizes == {(False, False): 171, (False, True): 110, (True, False): 36, (True, True): 10}
    assert {project.runner for project in projects()} == {path.name for path in CHANGES.iterdir()}
    assert {change.expected for change in every} == {REJECTED, FLAGGED, LANDED}
    assert [change.name for change in every if change.honest and change.expected == REJECTED] == [
        "refactor-name-and-test"
    ]


def test_the_table_counts_by_runner_and_by_judge_and_names_what_was_not_expected() -> None:
    def answer(name: str, outcome: str, judge: str, expected: str, *stricter: str, honest: bool = False) -> Answer:
        return Answer(Change("go", name, "", honest, expected, {}), outcome, judge, "", stricter)

    text = tables([
        answer("one", REJECTED, "tests_are_kept", REJECTED),
        answer("two", FLAGGED, "old_tests_pass", REJECTED, "changed_tests"),
        answer("three", LANDED, "", LANDED),
        answer("four", LANDED, "", LANDED, honest=True),
    ])  # fmt: skip
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    assert ["go", "3", "1", "1", "1", "2", "1", "1", "1"] in rows
    assert ["old_tests_pass", "0", "1"] in rows
    assert "go/two: flagged, not rejected (old_tests_pass: )" in text
