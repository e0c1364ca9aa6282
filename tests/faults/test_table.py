"""Every fault of the matrix is proved by a test or says why not, and the page says the same."""

from __future__ import annotations

import ast

from tests.faults.page import render
from tests.faults.table import NOT_PROVED, ROOT, faults, ids_in, proofs, proofs_in, proved_by

IDS = [fault.id for fault in faults()]

MARKED = """
pytestmark = pytest.mark.fault("P1")

@pytest.mark.fault("P2", "P3")
def test_a_thing() -> None: ...

@pytest.mark.soak
@pytest.mark.fault("P5")
def test_a_long_one() -> None: ...

class TestMore:
    @pytest.mark.parametrize("what", [pytest.param(1, marks=pytest.mark.fault("P4"))])
    def test_another(self) -> None: ...
"""


def test_the_table_has_each_fault_once() -> None:
    assert len(IDS) == len(set(IDS)) == 99
    assert IDS[0] == "P1" and IDS[-1] == "L5"


def test_the_marker_is_read_wherever_it_stands() -> None:
    found = {proof.sentence: proof.ids for proof in proofs_in(MARKED, "x.py")}

    assert found == {"a thing": ("P1", "P2", "P3"), "another": ("P1", "P4")}


def test_every_marker_names_a_row() -> None:
    unknown = {f"{proof.file}: {proof.test}: {name}" for proof in proofs() for name in proof.ids if name not in IDS}
    assert unknown == set()


def test_no_marker_is_overlooked() -> None:
    known: dict[str, set[str]] = {}
    for proof in proofs():
        known.setdefault(proof.file, set()).update(proof.ids)
    for path in (ROOT / "tests").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        found = set(ids_in(ast.parse(text))) if "mark.fault" in text else set()
        name = path.relative_to(ROOT).as_posix()
        assert found <= known.get(name, set()), f"{name}: a marker stands where no test of `make test` carries it"


def test_every_fault_is_proved_or_says_why_not() -> None:
    silent = [name for name in IDS if not proved_by(name) and not NOT_PROVED.get(name)]
    both = [name for name in NOT_PROVED if proved_by(name)]
    assert silent == [], "no test carries these: mark one, or say in NOT_PROVED (tests/faults/table.py) why"
    assert both == [], "these are proved now: take them out of NOT_PROVED (tests/faults/table.py)"
    assert set(NOT_PROVED) <= set(IDS)


def test_the_page_is_the_generated_one() -> None:
    page = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
    assert page == render(), "docs/faults.md is out of date: run `make docs`"
