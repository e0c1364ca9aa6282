"""Tests as they are written in languages whose text alone is read: where each begins, and which lines assert."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ralphy.testguard.read.reachable_text import reached
from ralphy.testguard.read.test_parser import Case


@dataclass(frozen=True, slots=True)
class Language:
    """`test` finds where a test begins, its name as `name`; `skip` what takes one out, `skip_all` a whole file.

    `silencer` finds all that may take one out, also where a condition says when.
    """

    endings: tuple[str, ...]
    test: re.Pattern[str]
    asserts: re.Pattern[str]
    skip: re.Pattern[str]
    skip_all: re.Pattern[str]
    silencer: re.Pattern[str]


_VACUOUS = re.compile(
    r"expect\(\s*(?:true|1|!0)\s*\)\.(?:to(?:Be|Equal|BeTruthy|StrictEqual|Exist)\w*)\((?:true|1)?\)"
    r"|assert(?:\.ok|\.equal|\.strictEqual|!|True)?\(\s*(?:true|1)\s*(?:,\s*(?:true|1)\s*)?\)|assert_eq!\(\s*(\w+)\s*,\s*\1\s*\)"
    r"|expect\((?P<one>.{1,200})\)\.to(?:Be|Equal|StrictEqual)\((?P=one)\)|[eE]qual\w*!?\((?:t,\s*)?(?P<two>.{1,200}?),\s*(?P=two)\s*[,)]"
    r"|\bexpect\.(?:assertions|hasAssertions|extend)\(|\.catch\(\s*\(?\w*\)?\s*=>\s*\{\s*\}\s*\)"
)
_COMMENT = re.compile(r"^[ \t]*//[^\n]*$|/\*.*?\*/|(?<=[\s;{}])//[^\n\"'`]*$", re.M | re.S)
_VALUE = re.compile(
    r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|\b\d[\w.]*\b|\b(?:true|false|null|nil|None)\b"
)
_EXCUSED = re.compile(r"[ \t]*(?:it|test|specify)(?:\.\w+)*\.(?:fails|failing)\b")
_CALL = re.compile(r"([A-Za-z_]\w*)!?\s*\(")
_WORDS = frozenset(("if", "for", "while", "switch", "catch", "function", "fn", "func", "it", "test", "describe"))

LANGUAGES = (
    Language(
        (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts"),
        re.compile(r"^[ \t]*(?P<mark>[xf]?(?:it|test|specify)(?:\.\w+)*)\s*(?:\([^()\n]*\)\s*)?"
                   r"\(\s*(['\"`])(?P<name>(?:\\.|(?!\2).)*)\2", re.M),
        re.compile(r"\b(?:expect|assert|verify|check)\w*(?:\.\w+)*(?:<[^<>\n]*>)?\s*\(|\bshould\b"
                   r"|\bt\.(?:is|not|deepEqual|equal|ok|true|false|throws|same|match)\s*\("),
        re.compile(r"^[ \t]*(?:x(?:it|test|specify)|(?:it|test|specify)\.(?:skip|todo|fixme|fails|failing))\b"
                   r"|\bskip: ?true"),
        re.compile(r"^[ \t]*(?:xdescribe|(?:describe|suite)\.skip)\b"
                   r"|^[ \t]*(?:(?:it|test|describe)\.only|f(?:it|describe))\b", re.M),
        re.compile(r"^[ \t]*(?:x(?:it|test|specify)|(?:it|test|specify)\.(?:skip|todo|fixme|fails|failing)\w*)"
                   r"|\b(?:it|test|specify)\.(?:skipIf|runIf|if)\([^()\n]*\)"
                   r"|\b(?:skip|todo)\s*:\s*(?:[\w.!]+|['\"`])|\b(?:t|ctx|context|this)\.(?:skip|todo)\("),
    ),
    Language(
        (".go",),
        re.compile(r"^func (?P<name>(?:Test|Fuzz|Example)\w*)\(", re.M),
        re.compile(r"\bt\.(?:Error|Fatal|Fail)\w*\(|\b(?:assert|require|is|qt)\.\w+\("),
        re.compile(r"\bt\.Skip(?:Now|f)?\("),
        re.compile(r"^//go:build\b.*\bignore\b|^// \+build ignore", re.M),
        re.compile(r"(?:\bif [^\n{]{0,300}\{\s*)?\bt\.Skip(?:Now|f)?\("),
    ),
    Language(
        (".rs",),
        re.compile(r"#\[(?:\w+::)?test\b[^\]]*\](?:\s*#\[[^\]]*\])*\s*(?:pub )?(?:async )?fn (?P<name>\w+)", re.M),
        re.compile(r"\b(?:debug_)?assert\w*!|\bpanic!|\.unwrap\(\)|\bmatches!"),
        re.compile(r"#\[ignore\b"),
        re.compile(r"^#!\[cfg\(any\(\)\)\]", re.M),
        re.compile(r"#\[(?:cfg_attr\([^\]#]*)?\bignore\b"),
    ),
    Language(
        (".java", ".kt"),
        re.compile(r"@(?:Test|ParameterizedTest|RepeatedTest)\b[^{};]*?(?:void|fun)\s+`?(?P<name>[^`({]+?)`?\s*\("),
        re.compile(r"\b(?:assert|verify|expect|check|fail)\w*\s*\("),
        re.compile(r"@(?:Disabled|Ignore)\b"),
        re.compile(r"@(?:Disabled|Ignore)\b[^{};]*\bclass\b"),
        re.compile(r"@(?:Disabled|Ignore|EnabledIf|DisabledIf|EnabledOn|DisabledOn)\w*|\bassum\w+\("),
    ),
)  # fmt: skip


def language_of(path: str) -> Language | None:
    """The language of a file by its ending; None for any other."""
    return next((one for one in LANGUAGES if path.endswith(one.endings)), None)


def has_tests_beside_code(path: str) -> bool:
    """Rust's tests stand in the files that they test."""
    return path.endswith(".rs")


def text_cases(path: str, text: str) -> Iterator[Case]:
    """The tests of a file in one of the languages; none of any other."""
    language = language_of(path)
    if language is None:
        return
    plain = _COMMENT.sub(_kept, text)
    begins = list(language.test.finditer(plain))
    is_out = language.skip_all.search(plain)
    around = frozenset([_one_line(is_out[0])] if is_out else ())
    ends = [*(found.start() for found in begins[1:]), len(plain)]
    for found, end in zip(begins, ends, strict=False):
        yield _case(language, path, found["name"], plain[found.start() : end], around)


def _kept(comment: re.Match[str]) -> str:
    """Comments are not code, but for those that a compiler obeys."""
    return comment[0] if "//go:build" in comment[0] or "+build" in comment[0] else ""


def _case(language: Language, path: str, name: str, body: str, around: frozenset[str]) -> Case:
    live = reached(body).splitlines()
    lines = [" ".join(line.split()) for line in live if language.asserts.search(_VALUE.sub("_", line))]
    asserts = tuple(_from_assertion(language, line) for line in lines if not _VACUOUS.search(line))
    head = body.partition("{")[2]
    calls = frozenset(_CALL.findall(head)) - _WORDS
    shapes = tuple(_VALUE.sub("_", line) for line in asserts)
    is_skipped = bool(around or language.skip.search(body))
    silencers = around.union(map(_one_line, language.silencer.findall(body)))
    wording = asserts if silencers else ()
    return Case(path, name, " ".join(head.split()), asserts, shapes, calls, is_skipped, bool(_EXCUSED.match(body)),
                silencers, wording=wording)  # fmt: skip


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _from_assertion(language: Language, line: str) -> str:
    """A line from its assertion on, without what closes the test around it."""
    found = language.asserts.search(line)
    return line[found.start() if found else 0 :].rstrip(" ;})")
