"""Tests of Rust that assert nothing are no proof, although nothing compiles without the story."""

from __future__ import annotations

import pytest

from ralphy.testguard.read.text_test_parser import text_cases
from ralphy.testguard.written.red_first import RedFirst, without_empty

PATH = "tests/calc.rs"


def proof_of(body: str) -> RedFirst:
    text = f"use calc::mul;\n\n#[test]\nfn multiplies() {{\n    {body}\n}}\n"
    return without_empty(RedFirst(tests=("multiplies",)), list(text_cases(PATH, text)))


@pytest.mark.parametrize(
    "body", ["assert!(true);", "let _ = mul(2, 3);", "let _ = mul;", "return;\n    assert_eq!(mul(2, 3), 6);"]
)
def test_a_test_that_asserts_nothing_proves_nothing(body: str) -> None:
    assert (proof_of(body).tests, proof_of(body).empty) == ((), ("multiplies",))


@pytest.mark.parametrize(
    "body", ["assert_eq!(mul(2, 3), 6);", "mul(2, 3).unwrap();", "check_product(mul(2, 3));", "run()?;"]
)
def test_what_can_fail_is_a_proof(body: str) -> None:
    assert (proof_of(body).tests, proof_of(body).empty) == (("multiplies",), ())
