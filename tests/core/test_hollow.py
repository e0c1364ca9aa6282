"""Hollow code: it can be imported, called and awaited, and no test that looks at what it does passes."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from ralphy.testguard.hollow import hollow, names_only
from ralphy.testguard.hunks import hunks_of
from ralphy.testguard.spoiled_tests import spoiled
from ralphy.testguard.substance import FileChange, why_no_work
from ralphy.testguard.test_files import assertions_in
from ralphy.testguard.test_files import tests_in as written_in

CART = '''
"""A cart."""
from __future__ import annotations

from contextlib import contextmanager

VAT = 20


class Cart:
    def __init__(self, *items):
        self.items = [*items]

    def add(self, item):
        """Put it in.

        >>> Cart().add(1)
        """
        self.items.append(item)

    @property
    def first(self):
        return self.items[0]

    def total(self):
        return sum(self.items)

    def each(self):
        yield from self.items

    @contextmanager
    def locked(self):
        yield self

    async def load(self):
        return 1


def with_vat(cents):
    return cents + cents * VAT // 100


double = lambda cents: cents * 2
'''
NEW = (
    CART.replace("VAT = 20", "VAT = 25\nNAMES = {'a': 1}\n\ndef half(cents):\n    return cents // 2")
    .replace(
        "    def total(self):",
        "    def remove(self, item):\n        self.items.remove(item)\n\n    def total(self, percent=0):",
    )
    .replace("return sum(self.items)", "return sum(self.items) - percent")
) + "\n\n@dataclass\nclass Line:\n    name: str\n\n\nclass Empty(LookupError):\n    pass\n"
NEW = NEW.replace("\nVAT", "\nfrom dataclasses import dataclass\n\nCents = int\n__version__ = '2'\nVAT")


def run(data: bytes | None) -> dict[str, Any]:
    assert data is not None
    names: dict[str, Any] = {"__name__": "cart"}
    exec(compile(data, "cart.py", "exec", dont_inherit=True), names)
    return names


@pytest.mark.parametrize("asks", [
    "cart.total() == 3", "cart.total() != 4", "cart.total()", "not cart.total()", "cart.total() > 0", "cart.first == 1",
    "3 in cart.total()", "list(cart.each()) == []", "len(cart.total())", "cart.items == [1, 2]", "cart.items",
    "with_vat(100) == 120", "with_vat(1) == with_vat(2)", "double(2) == 4", "cart.total() is None",
])  # fmt: skip
def test_what_looks_at_a_value_fails(asks: str) -> None:
    names = run(hollow("cart.py", CART.encode()))

    with pytest.raises((AssertionError, TypeError)):
        exec(f"cart = Cart(1, 2)\nassert {asks}", names)


@pytest.mark.parametrize("asks", [
    "Cart(1).add(2)", "assert Cart(1).add(2) is None", "assert callable(Cart.total) and hasattr(Cart, 'first')",
    "assert with_vat(1) is not None", "expected = with_vat(1); assert with_vat(1) == expected",
    "result = with_vat(1) == 2", "with Cart().locked() as cart:\n    cart.add(1)", "assert VAT == 20",
    "assert Cart.add.__doc__.startswith('Put') and __doc__ == 'A cart.'",
    "try:\n    assert with_vat(1)\nexcept AssertionError:\n    pass", "for _ in Cart().each():\n    pass",
])  # fmt: skip
def test_what_asks_for_a_name_passes(asks: str) -> None:
    exec(asks, run(hollow("cart.py", CART.encode())))


def test_asynchronous_functions_stay_so() -> None:
    names = run(hollow("cart.py", CART.encode()))

    assert not isinstance(asyncio.run(names["Cart"]().load()), int)


def test_functions_can_say_nothing() -> None:
    silent = run(hollow("cart.py", CART.encode(), says=False))

    assert silent["with_vat"](100) is None
    assert hollow("a.py", b"VAT = 20\n") is hollow("a.py", b"def (") is hollow("a.rb", b"def a\nend\n") is None


def test_new_names_mean_nothing_and_old_code_is_as_it_was() -> None:
    stubs = names_only("cart.py", CART.encode(), NEW.encode())
    assert stubs is not None
    names = run(stubs.text)
    cart = names["Cart"](1, 2)

    assert stubs.functions == ("half", "Cart.remove")
    assert (names["VAT"], names["with_vat"](100), cart.total(percent=10), cart.items) == (20, 120, 3, [1, 2])
    assert cart.remove(1) is None and cart.items == [1, 2]
    assert (names["Cents"], names["__version__"]) == (int, "2")  # a name for a type, and what Python itself looks at
    with contextlib.suppress(names["Empty"]):
        raise names["Empty"]
    for asks in (
        "half(4) == 2",
        "half(4) is None",
        "NAMES == {'a': 1}",
        "Line('a').name == 'a'",
        "Line('a') == Line('a')",
    ):
        with pytest.raises(AssertionError):
            exec(f"assert {asks}", names)


def test_names_alone_can_be_hollow() -> None:
    stubs = names_only("cart.py", CART.encode(), NEW.encode())
    assert stubs is not None
    names = run(hollow("cart.py", stubs.text))

    assert names["half"](2) == names["half"](2)
    script = names_only("a.js", b"", b"exports.one = () => 1;\n")
    assert script is not None and hollow("a.js", script.text) == script.text.replace(
        b"=> true", b"=> true ? __hollow : true"
    )


def test_moved_code_is_known_by_where_its_names_come_from() -> None:
    for old, new, is_moved in (
        ("from a import f\n", "def f():\n    return 1\n", True),
        ("def f():\n    return 1\n", "from a import f\n\n\ndef g():\n    return f()\n", True),
        ("from a import f\n", "from b import f\n\n\ndef g():\n    return f()\n", True),
        ("from a import f\n", "from a import f, h\n\n\ndef g():\n    return f()\n", False),
        ("LIMIT = 3\n", "from a import LIMIT\n\n\ndef g():\n    return LIMIT\n", True),
        (
            "class A:\n    def f(self):\n        return 1\n",
            "class B:\n    def f(self):\n        return 1\n\n\nclass A(B):\n    pass\n",
            True,
        ),
    ):
        stubs = names_only("m.py", old.encode(), new.encode())
        assert stubs is not None and (new, stubs.hides_old) == (new, is_moved)
    script = names_only("m.js", b"function f() { return 1; }\n", b"function g() { return 1; }\n")
    assert script is not None and script.hides_old


def test_only_new_functions_are_worth_a_question() -> None:
    assert names_only("cart.py", CART.encode(), CART.replace("20", "25").encode()) is None
    assert names_only("cart.py", None, b"A = 1\n") is None
    assert names_only("cart.js", b"const a = () => 1;", b"const a = () => 2;\nconst b = 1;") is None


SCRIPT = """\
const VAT = 20;
exports.add = (a, b) => a + b; // a { comment
exports.sub = function (a, b) { return a - b; };
exports.Cart = class Cart {
  constructor() { this.items = []; }
  put(item = "}") {
    this.items.push(item);
  }
  total() {
    if (this.items.length) { return /[{]/.test("{") ? 1 : 2; }
    return 0;
  }
  *each() { yield 1; }
}
exports.load = async function load({ path } = {}) {
  return path;
};
"""


def node(text: bytes | None, asks: str, tmp_path: Path) -> None:
    (tmp_path / "cart.js").write_bytes(text or b"")
    words = f"const assert = require('node:assert'); const c = require('./cart.js'); {asks}"
    subprocess.run(["node", "-e", words], cwd=tmp_path, check=True, timeout=60, capture_output=True)


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
def test_javascript_is_read_as_text(tmp_path: Path) -> None:
    new = SCRIPT.replace("a + b", "a * b").replace(
        "= 20;", "= 20;\nconst more = (a) => {\n  return a;\n};\nexports.more = more;"
    )
    stubs = names_only("cart.js", SCRIPT.encode(), new.encode())
    says, silent = (hollow("cart.js", SCRIPT.encode(), says=says) for says in (True, False))

    assert stubs is not None and stubs.functions == ("more",)
    node(stubs.text, "assert.equal(c.sub(3, 1), 2); assert.notEqual(c.add(2, 3), 6); assert.notEqual(c.more(1), 1);"
                     "new c.Cart().put()", tmp_path)  # fmt: skip
    node(says, "for (const x of [c.add(1, 2), c.sub(3, 1), new c.Cart().total()]) assert(x && x != 3 && x != 2);"
               "c.load().then((x) => assert(x)); new c.Cart().each();"
               "const k = new c.Cart(); k.put(); assert.deepEqual(k.items, [])", tmp_path)  # fmt: skip
    node(silent, "assert.equal(c.add(1, 2), undefined); assert.equal(new c.Cart().total(), undefined)", tmp_path)


def test_a_function_in_an_object_ends_where_the_object_does() -> None:
    text = b"const o = { add: (a) => a + 1 }; const sub = (a) => a - 1;\n"

    assert (hollow("a.js", text) or b"").decode().splitlines()[1:] == [
        "const o = { add: (a) => true ? __hollow : a + 1 }; const sub = (a) => true ? __hollow : a - 1;"
    ]


def test_types_stay_types() -> None:
    text = (
        "export type F = (a: number) => string;\nexport const add = (a: number): number => a + 1;\n"
        "export function sub<T>(a: T, then: (x: number) => void): Map<string, T> {\n  return new Map();\n}\n"
    )
    head, *lines = (hollow("a.ts", text.encode()) or b"").decode().splitlines()

    assert head.startswith("var __hollow: any = ")
    assert lines == ["export type F = (a: number) => string;",
                     "export const add = (a: number): number => true ? __hollow : a + 1;",
                     "export function sub<T>(a: T, then: (x: number) => void): Map<string, T> {"
                     " if (true) { return __hollow; } ", "  return new Map();", "}"]  # fmt: skip


def test_go_and_java_return_zeros() -> None:
    go = (b"package x\n\nfunc (c *Cart) Div(a, b int) (int, error) {\n\treturn a / b, nil\n}\n\n"
          b"func Add(a, b int) int { return a + b }\n\nfunc Reset() {\n\tn = 0\n}\n")  # fmt: skip
    java = b"class Cart {\n    Cart() { x = 1; }\n    public int total() { return 1; }\n    List<A> all() {\n    }\n}\n"

    assert (hollow("a.go", go) or b"").decode().splitlines()[2:] == [
        "func (c *Cart) Div(a, b int) (_ int, _ error) { if true { return };", "\treturn a / b, nil", "}", "",
        "func Add(a, b int) (_ int) { if true { return }; return a + b }", "", "func Reset() { if true { return };",
        "\tn = 0", "}"]  # fmt: skip
    assert (hollow("Cart.java", java) or b"").decode().splitlines()[1:4] == [
        "    Cart() { x = 1; }", "    public int total() { if (true) return 0; return 1; }",
        "    List<A> all() { if (true) return null;"]  # fmt: skip
    stubs = names_only("a.go", go, go.replace(b"a + b", b"a * b") + b'\nfunc Two() string {\n\treturn "2"\n}\n')
    assert stubs is not None and stubs.functions == ("Two",)
    assert b"func Add(a, b int) (_ int) { if true { return }; return a * b }" in stubs.text
    assert b"func (c *Cart) Div(a, b int) (int, error) {\n\treturn a / b" in stubs.text
    assert b'func Two() (_ string) { if true { return };\n\treturn "2"' in stubs.text


def test_a_module_that_rust_declares_is_a_new_name_without_which_its_file_would_not_run() -> None:
    old = b"pub fn one() -> i32 {\n    1\n}\n"
    stubs = names_only("lib.rs", old, b"pub(crate) mod tax;\n" + old)
    assert stubs is not None and stubs.text == b"pub(crate) mod tax;\n" + old
    assert (stubs.functions, stubs.hides_old) == ((), False)
    assert names_only("lib.rs", old, b"// mod tax;\n" + old) is None
    assert names_only("lib.go", old, b"mod tax;\n" + old) is None


@pytest.mark.parametrize("path", ["a.js", "a.ts", "a.go", "A.java", "a.rs"])
def test_text_made_to_be_slow_comes_to_its_end(path: str) -> None:
    """A pattern that looks over all that follows from each place would take minutes."""
    began = time.process_time()
    for text in ("\n", " ", "(", "<", "'", "/", "a: ", "a => {", "class a{", "impl a ", "fn a<", "func (a\n"):
        hollow(path, (text * (30_000 // len(text))).encode())
    assert time.process_time() - began < 20.0


@pytest.mark.parametrize("deep", ["+".join(["'a'"] * 600), "a" + ".b" * 600, "f" + "()" * 600])
def test_python_that_is_too_deep_to_be_walked_is_read_as_if_it_could_not_be_parsed(deep: str) -> None:
    code = f"def test_a():\n    assert {deep}\n".encode()

    assert written_in("tests/test_a.py", code) == [] and assertions_in("tests/test_a.py", code) == 0
    assert spoiled("tests/test_a.py", code) == (code, [])
    assert hollow("a.py", code) is None
    assert names_only("a.py", code, code + b"\n\ndef b():\n    return 1\n") is None
    assert why_no_work([FileChange("a.py", code, code + b"\nb()\n")]) == ""
    assert list(hunks_of(FileChange("a.py", code, code + b"\nb()\n"), b"@@ -2,0 +3,2 @@\n")) == []
