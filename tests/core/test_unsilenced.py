"""A file of tests without what skips them."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralphy.testguard.kept.unsilenced import unsilenced

BODY = "def test_a():\n    assert a == 1\n"
FILES = {
    "a mark": ("t.py", f"@pytest.mark.skip(\n    reason='later',\n)\n{BODY}", f"\n\n\n{BODY}"),
    "a condition": ("t.py", f"@pytest.mark.skipif(not a, reason='')\n{BODY}", f"\n{BODY}"),
    "a named mark": ("t.py", f"later = pytest.mark.xfail()\n@later\n@mine\n{BODY}",
        f"later = pytest.mark.xfail()\n\n@mine\n{BODY}"),
    "a mark of a class": ("t.py",
        "@unittest.skip('x')\nclass A:\n    @expectedFailure\n    def test_a(self):\n        assert a\n",
                          "\nclass A:\n\n    def test_a(self):\n        assert a\n"),
    "a mark of a module": ("t.py", f"pytestmark = [pytest.mark.skip]\n{BODY}", f"pass\n{BODY}"),
    "other marks of a module": ("t.py", f"pytestmark = [pytest.mark.slow]\n{BODY}",
        f"pytestmark = [pytest.mark.slow]\n{BODY}"),
    "a module": ("t.py", f"pytest.skip('no', allow_module_level=True)\n{BODY}", f"pass\n{BODY}"),
    "a body": ("t.py", "def test_a():\n    pytest.skip('later')\n", "def test_a():\n    pass\n"),
    "an exception": ("t.py", "def test_a():\n    raise SkipTest('later')\n", "def test_a():\n    pass\n"),
    "an import": ("t.py", f"a = pytest.importorskip('a')\n{BODY}", f"a = pytest.importorskip('a')\n{BODY}"),
    "node": ("a.test.js", "test.skip('a', () => {});\ntest('b', {skip: true}, t => {\n  t.skip('x');\n});\n",
             "test('a', () => {});\ntest('b', {}, t => {\n\n});\n"),
    "jest": ("a.test.ts", "  xit('a', () => {});\ndescribe.skip('b', () => {});\n",
        "  it('a', () => {});\ndescribe('b', () => {});\n"),
    "go": ("a_test.go", 'func TestA(t *testing.T) {\n\tt.Skip("later")\n\tf(t)\n}\n',
        "func TestA(t *testing.T) {\n\n\tf(t)\n}\n"),
    "rust": ("src/lib.rs", '#[test]\n#[ignore = "later"]\nfn a() {}\n', "#[test]\n\nfn a() {}\n"),
    "no language": ("t.txt", "it.skip('a')\n", "it.skip('a')\n"),
    "no syntax": ("t.py", "@pytest.mark.skip\ndef", "@pytest.mark.skip\ndef"),
}  # fmt: skip


@pytest.mark.parametrize("what", FILES)
def test_what_skips_is_taken_away(what: str) -> None:
    path, text, awake = FILES[what]

    assert unsilenced(path, text.encode()).decode() == awake


@given(
    st.lists(
        st.sampled_from(
            [text for path, text, _ in FILES.values() if path == "t.py" and text != "@pytest.mark.skip\ndef"]
        )
    )
)
def test_python_stays_python_and_keeps_its_lines(parts: list[str]) -> None:
    text = "".join(parts)

    awake = unsilenced("t.py", text.encode()).decode()

    ast.parse(awake)
    assert awake.count("\n") == text.count("\n")
