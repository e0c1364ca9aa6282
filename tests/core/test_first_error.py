"""The first error of a check's output, with its file and line; what is kept of a long output."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralphy.checks.first_error import first_error
from ralphy.prompts.budget import FAILURE_BYTES, digest_failure, excerpt

NODE_STACK = "".join(f"#     at Module.{name} (node:internal/modules/cjs/loader:1{n}:18)\n" for n, name in enumerate(
    ("_compile", "_extensions..js", "load", "_load", "require", "runMain", "executeUserEntryPoint")))  # fmt: skip
NODE_END = "".join(f"# {name} 0\n" for name in ("suites", "pass", "cancelled", "skipped", "todo"))
NODE = (
    "TAP version 13\n# /home/me/app/base.js:2\n# exports.two = ( => 2;\n#                 ^^\n"
    f"# SyntaxError: Unexpected token '=>'\n{NODE_STACK}# Node.js v20.20.2\n# Subtest: /home/me/app/base.test.js\n"
    "not ok 1 - /home/me/app/base.test.js\n  ---\n  duration_ms: 111.465283\n"
    "  location: '/home/me/app/base.test.js:1:1'\n"
    "  failureType: 'testCodeFailure'\n  exitCode: 1\n  error: 'test failed'\n  code: 'ERR_TEST_FAILURE'\n  ...\n1..1\n"
    f"# tests 1\n{NODE_END}# duration_ms 117.788176\n"
)
COLLECTION = (
    "==== ERRORS ====\n____ ERROR collecting test_a.py ____\n"
    "/v/lib/python3.11/site-packages/_pytest/python.py:528: in importtestmodule\n    mod = import_path(\n"
    "<frozen importlib._bootstrap>:1204: in _gcd_import\n    ???\n"
    "test_a.py:1: in <module>\n    from calc import nothing\n"
    'E     File "/home/me/calc.py", line 2\nE       return a+\nE                ^\nE   SyntaxError: invalid syntax\n'
    "==== short test summary info ====\nERROR test_a.py\n!!!! Interrupted: 1 error during collection !!!!\n"
    "1 error in 0.83s\n"
)
OUTPUTS: dict[str, tuple[str, str]] = {
    "node, a SyntaxError as TAP": (NODE, "/home/me/app/base.js:2: SyntaxError: Unexpected token '=>'"),
    "node, a SyntaxError": (
        NODE.replace("# ", "").replace("TAP version 13\n", ""),
        "/home/me/app/base.js:2: SyntaxError: Unexpected token '=>'",
    ),
    "node, an assertion as TAP": (
        "TAP version 13\nnot ok 1 - adds\n  ---\n  location: '/a/sum.test.js:4:1'\n  error: |-\n"
        "    Expected values to be strictly equal:\n    3 !== 4\n",
        "/a/sum.test.js:4:1: Expected values to be strictly equal:",
    ),
    "node, an assertion": (
        "✖ adds (1ms)\n  AssertionError [ERR_ASSERTION]: 3 !== 4\n"
        "      at TestContext.<anonymous> (/a/sum.test.js:5:10)\n"
        "      at Test.run (node:internal/test_runner/test:796:25)\n",
        "/a/sum.test.js:5:10: AssertionError [ERR_ASSERTION]: 3 !== 4",
    ),
    "jest": (
        "FAIL src/sum.test.js\n  ● adds\n\n    expect(received).toBe(expected) // Object.is equality\n\n"
        "    Expected: 4\n"
        "    Received: 3\n\n      at Object.<anonymous> (src/sum.test.js:4:15)\n\nTests:       1 failed, 1 total\n",
        "src/sum.test.js:4:15: expect(received).toBe(expected) // Object.is equality",
    ),
    "vitest": (
        " FAIL  sum.test.ts > adds\nAssertionError: expected 3 to be 4\n ❯ sum.test.ts:4:15\n",
        "sum.test.ts:4:15: AssertionError: expected 3 to be 4",
    ),
    "pytest, at collection": (COLLECTION, "/home/me/calc.py:2: SyntaxError: invalid syntax"),
    "pytest, an import": (
        "____ ERROR collecting test_a.py ____\ntest_a.py:1: in <module>\n    from calc import nothing\n"
        "E   ImportError: cannot import name 'nothing'\n",
        "test_a.py:1: ImportError: cannot import name 'nothing'",
    ),
    "pytest, an assertion": (
        "    def test_a():\n>       assert add(1, 2) == 4\nE       assert 3 == 4\nE        +  where 3 = add(1, 2)\n\n"
        "tests/test_a.py:5: AssertionError\nFAILED tests/test_a.py::test_a - assert 3 == 4\n",
        "tests/test_a.py:5: assert 3 == 4",
    ),
    "pytest, an exception": (
        ">       raise ValueError('no')\nE       ValueError: no\n\ncalc.py:7: ValueError\n",
        "calc.py:7: ValueError: no",
    ),
    "unittest": (
        "FAIL: test_a (test_a.TestA)\n-----\nTraceback (most recent call last):\n"
        '  File "/home/me/test_a.py", line 6, in test_a\n    self.assertEqual(add(1, 2), 4)\n'
        '  File "/usr/lib/python3.11/unittest/case.py", line 873, in assertEqual\n    first == second\n'
        "AssertionError: 3 != 4\n\n-----\nRan 1 test in 0.001s\n\nFAILED (failures=1)\n",
        "/home/me/test_a.py:6: AssertionError: 3 != 4",
    ),
    "a Python traceback": (
        "Traceback (most recent call last):\n  File \"app.py\", line 3, in <module>\n    boot()\nKeyError: 'x'\n",
        "app.py:3: KeyError: 'x'",
    ),
    "tsc": (
        "src/a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.\n",
        "src/a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.",
    ),
    "tsc, pretty": ("src/a.ts:3:5 - error TS2322: Type 'x'.\n\n3 let a\n", "src/a.ts:3:5: error TS2322: Type 'x'."),
    "go build": ("# x [x.test]\n./a.go:4:9: undefined: b\nFAIL\tx [build failed]\nFAIL\n", "./a.go:4:9: undefined: b"),
    "go test": ("--- FAIL: TestA (0.00s)\n    a_test.go:3: got 2, want 1\nFAIL\n", "a_test.go:3: got 2, want 1"),
    "go, a panic": (
        "panic: runtime error: index out of range\n\ngoroutine 1 [running]:\npanic({0x4d})\n"
        "\t/usr/local/go/src/runtime/panic.go:770 +0x132\nmain.f()\n\t/home/me/a.go:7 +0x1d\n",
        "/home/me/a.go:7: panic: runtime error: index out of range",
    ),
    "cargo build": (
        "   Compiling x v0.1.0\nwarning: unused variable\n --> src/a.rs:1:1\n"
        "error[E0425]: cannot find value `b`\n --> src/lib.rs:1:29\n  |\n"
        "error: could not compile `x` (lib)\n",
        "src/lib.rs:1:29: error[E0425]: cannot find value `b`",
    ),
    "cargo test": (
        "thread 't' (23369) panicked at src/lib.rs:3:10:\nassertion `left == right` failed\n  left: 1\n right: 2\n",
        "src/lib.rs:3:10: assertion `left == right` failed",
    ),
    "maven": (
        "[INFO] -----\n[ERROR] COMPILATION ERROR : \n[INFO] -----\n"
        "[ERROR] /home/me/src/main/java/App.java:[5,9] cannot find symbol\n"
        "[ERROR] Failed to execute goal\n",
        "/home/me/src/main/java/App.java:[5,9]: cannot find symbol",
    ),
    "maven, a test": (
        "[ERROR] Failures: \n[ERROR]   AppTest.adds:12 expected: <4> but was: <3>\n",
        "AppTest.adds:12: expected: <4> but was: <3>",
    ),
    "java": (
        'Exception in thread "main" java.lang.NullPointerException: x\n\tat app.Main.run(Main.java:12)\n',
        "Main.java:12: java.lang.NullPointerException: x",
    ),
    "kotlin": ("e: file:///a/App.kt:3:5 Unresolved reference: b\n", "/a/App.kt:3:5: Unresolved reference: b"),
    "gcc": (
        "x.c: In function 'main':\nx.c:2:3: warning: unused\nx.c:3:5: error: expected ';'\n",
        "x.c:3:5: error: expected ';'",
    ),
    "make, a mistake": ("Makefile:2: *** missing separator.  Stop.\n", "Makefile:2: *** missing separator.  Stop."),
    "make, no rule": (
        "make: *** No rule to make target 'x', needed by 'all'.  Stop.\n",
        "make: *** No rule to make target 'x', needed by 'all'.  Stop.",
    ),
    "make, what a recipe said": (
        "cc1: fatal error: x.c: No such file or directory\nmake: *** [Makefile:2: all] Error 1\n",
        "cc1: fatal error: x.c: No such file or directory",
    ),
    "mypy": (
        "a.py:3: note: see\na.py:4: error: Incompatible types\nFound 1 error in 1 file\n",
        "a.py:4: error: Incompatible types",
    ),
    "ruff": (
        "ralphy/a.py:1:8: F401 `os` imported but unused\nFound 1 error.\n",
        "ralphy/a.py:1:8: F401 `os` imported but unused",
    ),
    "a shell": ("sh: 1: frobnicate: not found\n", "sh: 1: frobnicate: not found"),
    "a runner of one's own": (
        "0 errors so far\nFAILED src/a.py::works - the word is there\n",
        "FAILED src/a.py::works - the word is there",
    ),
}


@pytest.mark.parametrize("tool", OUTPUTS)
def test_the_first_error_is_told_with_its_place_and_survives_in_a_digest_between_much_else(tool: str) -> None:
    output, line = OUTPUTS[tool]
    begin = "".join(f"compiling part {n}\n" for n in range(200))
    end = "".join(f"running part {n}\n" for n in range(3000))
    head = "TAP version 13\n" if output.startswith("TAP") else ""

    found = first_error(output)
    digest = digest_failure(["test"], f"{head}{begin}{output}{end}12 parts run", "test exit 1 (0.2 s): a")

    assert found is not None
    assert found.line == line
    place, _, said = line.rpartition(": ")
    assert (said or line) in digest
    assert place.removesuffix(":") in digest.replace('", line ', ":") or line in digest
    assert digest.endswith("12 parts run")
    assert len(digest.encode()) <= FAILURE_BYTES


def test_of_a_syntax_error_of_node_the_file_the_error_and_the_summary_survive() -> None:
    digest = digest_failure(["test"], NODE, "test exit 1 (0.2 s): /home/me/app/base.test.js", 900)

    assert "/home/me/app/base.js:2" in digest
    assert "SyntaxError: Unexpected token '=>'" in digest
    assert "exports.two = ( => 2;" in digest
    assert "# pass 0" in digest


def test_nothing_that_fails_is_no_error() -> None:
    assert first_error("all is well\n0 errors, 0 failed\nno errors\n") is None


def test_a_stack_is_left_out_and_lines_are_cut() -> None:
    found = first_error(NODE + "x" * 9000)

    assert found is not None
    assert not [line for line in found.excerpt if "node:internal" in line]
    assert max(map(len, found.excerpt)) <= 300


@given(st.text(max_size=300), st.integers(min_value=0, max_value=400))
def test_any_output_fits(output: str, room: int) -> None:
    assert len(excerpt(output * 5, room).encode("utf-8", "replace")) <= max(room, 0)
