"""A story whose code is made for its tests: what cannot be honest is rejected, the rest is said, at little cost."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest

from ralphy.git.objects import Objects
from tests.engine.judged import Repository
from tests.engine.pytested import CALC, UNITTEST, UNITTESTED, cases

STUB = {
    "calc.py": f"{CALC}\n\ndef mul(a, b):\n    raise NotImplementedError\n",
    "tests/test_mul.py": cases(mul="with self.assertRaises(NotImplementedError):\n    mul(2, 3)"),
}
ENVIRONMENT = {
    "calc.py": f"import os\n\n{CALC}\n\ndef mul(a, b):\n    return a * b if os.environ.get('EXACT') else 0\n",
    "tests/test_mul.py": cases(
        "import os\n\nfrom calc import mul", mul="os.environ['EXACT'] = '1'\nself.assertEqual(mul(2, 3), 6)"
    ),
}


def test_what_cannot_be_honest_is_rejected_and_the_rest_is_said(tmp_path: Path) -> None:
    repository = Repository(tmp_path, UNITTEST, UNITTESTED)

    stub, asked = repository.judge(STUB), repository.judge(ENVIRONMENT)

    assert stub.failure.startswith("code that is made for its tests: calc.py:10 is not written")
    assert asked.failure == ""
    assert "code that may be made for its tests: calc.py:12 reads EXACT, which nothing but the tests" in asked.flags
    assert repository.judge({**ENVIRONMENT, "README.md": "Set EXACT for products.\n"}).flags == ""


@pytest.mark.parametrize(("setting", "flags"), [("flag", "code that is made for its tests"), ("off", "")])
def test_a_setting_decides(tmp_path: Path, setting: str, flags: str) -> None:
    told = Repository(tmp_path, UNITTEST, UNITTESTED, suspicious_code=setting).judge(STUB)

    assert told.failure == ""
    assert (flags in told.flags) is True
    assert ("not written" in told.flags) is bool(flags)


def test_a_large_project_is_not_read_for_it(tmp_path: Path) -> None:
    many = {f"docs_of/part{n // 100}/page{n}.md": "A page.\n" for n in range(2_000)}
    repository = Repository(tmp_path, UNITTEST, {**UNITTESTED, **many})
    read, runs = Objects.read, []

    def counted(self: Objects, name: str) -> bytes | None:
        runs.append(name)
        return read(self, name)

    with patch.object(Objects, "read", counted):
        assert "reads EXACT" in repository.judge(ENVIRONMENT).flags
    assert len(runs) < 200
