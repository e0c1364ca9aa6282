"""Hollow code in languages of braces, read as text: JavaScript, TypeScript, Go, Java and Rust.

There is one cut: a function leaves before its first line, so that what follows is still compiled. Text and comments are
masked first; what is not recognised as a function stays as it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ralphy.testguard.test_files import tests_beside_code

_MASKED = re.compile(
    r'"""[\s\S]*?"""|/\*[\s\S]*?\*/|//[^\n]*|`(?:\\[\s\S]|[^`\\])*`|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    r"|(?<=[=(,:!&|?;{}\s])/(?![/*\s])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*"
)
_MASKED_IN_RUST = re.compile(r"/\*[\s\S]*?\*/|//[^\n]*|\"(?:\\[\s\S]|[^\"\\])*\"|'(?:\\[^\n]|[^\\'\n])'")
_MOST_OF_AN_EXPRESSION, _MOST_OF_A_BODY = 2_000, 20_000  # characters that are looked at
_CLOSES = {"(": ")", "{": "}", "[": "]"}
_UNTYPED, _TYPED = (".js", ".jsx", ".mjs", ".cjs"), (".ts", ".tsx", ".mts", ".cts")
_SCRIPT = (*_UNTYPED, *_TYPED)
# What looks like a function, and is none; without its constructor there is no object to be hollow.
_WORDS = frozenset(("if", "for", "while", "switch", "catch", "function", "return", "with", "constructor", "do", "else",
                    "await", "new", "super", "throw", "typeof", "try", "synchronized", "import"))  # fmt: skip
_RETURNS = re.compile(r"\breturn\b[ \t]*[^;\s}]")
_GOES_ON = re.compile(r"\s*[.?:+\-*/&|<>=%]")
_GO_TYPES = ("chan", "func", "map", "struct", "interface", "<-chan")
_JAVA_ZEROS = {"void": "", "boolean": " false", **dict.fromkeys(("byte", "short", "int", "long", "char"), " 0"),
               "float": " 0", "double": " 0"}  # fmt: skip
# A value that can be called and asked for anything, and that equals nothing; a promise or a matcher it is not.
_BLANK = (
    "var __hollow{any} = new Proxy(function () {{}}, {{ apply: () => __hollow, construct: () => __hollow, "
    "get: (_{any}, k{any}){any} => k === Symbol.toPrimitive ? () => NaN "
    ": k === Symbol.iterator ? function* () {{ yield __hollow; }} "
    ": typeof k === 'symbol' || /^(then|toJSON|asymmetricMatch|\\$\\$typeof|_isMockFunction)$/.test(k) ? undefined "
    ": __hollow }});\n"
)
_WITH_BLANK = re.compile(r"^var __hollow[^\n]*\n", re.M)


@dataclass(frozen=True, slots=True)
class Stubs:
    """The text of a file in which what is new has a name alone, and the `functions` that are new. `hides_old` says that
    something which was there before may do nothing there, either: it was changed or moved."""

    text: bytes
    functions: tuple[str, ...]
    hides_old: bool = False


_Change = tuple[int, int, str]  # where a part of a text begins and ends, and what stands there instead


class _Function(NamedTuple):
    """A function in a text: where its body begins and ends, braces included, and what is changed to empty it."""

    name: str
    begin: int
    end: int
    emptied: Sequence[_Change]


class _Head(NamedTuple):
    """`begins` finds a function up to its parameters' bracket, if it has one; `result` is what stands from there to its
    body. `leaves` says how it ends at once, by its head, its result, its body and the value that it is to return."""

    begins: re.Pattern[str]
    result: re.Pattern[str]
    leaves: Callable[[re.Match[str], str, str, str], str]


def _script_leaves(_: re.Match[str], __: str, body: str, value: str) -> str:
    return f" if (true) {{ {f'return {value}' if _RETURNS.search(body) else 'return'}; }} "


def _go_leaves(*_: object) -> str:
    return " if true { return };"


def _java_leaves(head: re.Match[str], *_: object) -> str:
    return f" if (true) return{_JAVA_ZEROS.get(head['type'], ' null')};"


def _rust_leaves(_: re.Match[str], result: str, *__: object) -> str:
    return " if true { return unsafe { std::mem::zeroed() } }" if "->" in result else " if true { return }"


def _p(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.M)


_TO_BRACE = _p(r"\s*(?::\s*[^{;=()]+?)?\s*(?=\{)")
_PARAMETERS = r"(?:async\b\s*)?(?:(?:<[^=>\n]{0,200}>\s*)?\(|(?<![\w$])[\w$]+\s*(?==>))"  # of an arrow
_HEADS = (
    (_SCRIPT, _Head(
        _p(r"(?:(?<![\w$])(?P<of>[\w$]+)\s*[:=]\s*)?(?:async\s+)?\bfunction\b\s*\*?\s*(?P<name>[\w$]*)\s*"
           r"(?:<[^>(]*>)?\s*\("), _TO_BRACE, _script_leaves)),
    (_SCRIPT, _Head(
        _p(r"^[ \t]*(?:(?:public|private|protected|static|async|override|readonly|get|set)\s+)*(?:\*\s*)?"
           r"(?P<name>#?[\w$]+)\s*(?:<[^>(\n]*>)?\s*\("), _TO_BRACE, _script_leaves)),
    (_SCRIPT, _Head(
        _p(r"(?<!\btype )(?<![\w$])(?P<name>#?[\w$]+)\s*(?::[^=\n]{0,200})?=\s*" + _PARAMETERS),
        _p(r"\s*(?::[^=;{}]*)?=>\s*"), _script_leaves)),
    (_UNTYPED, _Head(_p(r"(?:\b(?P<name>[\w$]+)\s*:\s*)?" + _PARAMETERS), _p(r"\s*=>\s*"), _script_leaves)),
    (".go", _Head(
        _p(r"^func\s+(?:\(\s*(?:\w+\s+)?\*?(?P<owner>\w+)[^)\n]*\)\s*)?(?P<name>\w+)\s*(?:\[[^\]\n]*\]\s*)?\("),
        _p(r"[^\n]*(?=\{\s*$)|[^\n{]*(?=\{)"), _go_leaves)),
    (".java", _Head(
        _p(r"^[ \t]*(?:(?:public|protected|private|static|final|default|synchronized|strictfp)\s+)*(?:<[^>(\n]*>\s*)?"
           r"(?!(?:new|return|else|throw|public|protected|private|class|record|enum|interface)\b)"
           r"(?P<type>[\w.]+(?:<[^()=;\n]*>)?(?:\[\])*)\s+(?P<name>\w+)\s*\("),
        _p(r"\s*(?:throws\s+[\w.,\s]+)?(?=\{)"), _java_leaves)),
    (".rs", _Head(
        _p(r"(?<!const )(?<!const unsafe )\bfn\s+(?P<name>\w+)\s*(?:<[^(]{0,500}>)?\s*\("),
        _p(r"(?:(?!impl )[^{;!]){0,500}(?=\{)"), _rust_leaves)),
)  # fmt: skip
# What a method belongs to.
_OWNERS = _p(
    r"\bclass\s+(?P<name>[\w$]+)[^{;]{0,500}\{|^[ \t]*impl\b[^{;]{0,500}?\b(?P<of>\w+)(?:<[^{;\n]*>)?\s*"
    r"(?:where\b[^{;]{0,500})?\{"
)
# A file of Rust is no part of the program, and its tests do not run, until another one declares it.
_MODULES = _p(r"^[ \t]*(?:pub(?:\([^)\n]*\))?[ \t]+)?mod[ \t]+(\w+)[ \t]*;")


def hollow_text(path: str, data: bytes, *, says: bool = True) -> bytes | None:
    """See `ralphy.testguard.hollow.hollow`; Go, Java and Rust return zeros, whatever it `says`."""
    text, functions = _read(path, data, says=says)
    changes = [change for one in functions for change in one.emptied]
    return _written(path, text, changes) if changes else None


def names_only_text(path: str, old: bytes | None, new: bytes, *, says: bool = True) -> Stubs | None:
    """See `ralphy.testguard.hollow.names_only`. A function that was changed does nothing, either: its old body
    need not fit into the new code. A module that is declared is a new name, too."""
    before, old_functions = _read(path, old or b"", says=says)
    text, functions = _read(path, new, says=says)
    bodies = {one.name: before[one.begin : one.end] for one in old_functions}
    other = [one for one in functions if bodies.get(one.name) != text[one.begin : one.end]]
    added = tuple(one.name for one in other if one.name not in bodies and not one.name.startswith("#"))
    changes = [change for one in other for change in one.emptied]
    gone = {name for name in bodies if not name.startswith("#")} - {one.name for one in functions}
    hides_old = bool(gone) or any(one.name in bodies for one in other)
    modules = set(_MODULES.findall(text)) - set(_MODULES.findall(before)) if path.endswith(".rs") else None
    return Stubs(_written(path, text, changes), added, hides_old) if added or modules else None


def _written(path: str, text: str, changes: Sequence[_Change]) -> bytes:
    """The changed text; in a script, with what its hollow functions return at its head."""
    parts, at = list[str](), 0
    for begin, end, part in sorted(changes):
        parts += [text[at:begin], part]
        at = end
    text = "".join([*parts, text[at:]])
    if path.endswith(_SCRIPT):
        head = text.find("\n") + 1 if text.startswith("#!") else 0
        text = text[:head] + _BLANK.format(any=": any" if path.endswith(_TYPED) else "") + text[head:]
    return text.encode("utf-8", "surrogateescape")


def _read(path: str, data: bytes, *, says: bool) -> tuple[str, list[_Function]]:
    """A text and its functions, without those inside of others; none where its language is not known.

    A further function of a name has a number behind it, one without a name has a number alone.
    """
    rules = [rule for endings, rule in _HEADS if path.endswith(endings)]
    if not rules:
        return "", []
    text = _WITH_BLANK.sub("", data.decode("utf-8", "surrogateescape"))
    masked = (_MASKED_IN_RUST if path.endswith(".rs") else _MASKED).sub(_mask, text)
    every = _functions(rules, masked[: tests_beside_code(path, masked)], "__hollow" if says else "undefined")
    times = Counter[str]()
    outer: list[_Function] = []
    for one in sorted(every, key=lambda one: (one.begin, -one.end)):
        if not outer or (one.begin >= outer[-1].end and one.begin != outer[-1].begin):
            times[one.name] += 1
            is_first = one.name and times[one.name] == 1
            outer.append(one if is_first else one._replace(name=f"{one.name}#{times[one.name]}"))
    return text, outer


def _mask(match: re.Match[str]) -> str:
    """As long as a comment or a string is: the first as spaces, the other as a word."""
    return re.sub(r"[^\n]", " " if match[0].startswith(("//", "/*")) else "_", match[0])


def _functions(rules: Sequence[_Head], masked: str, value: str) -> Iterator[_Function]:
    ends = _ends(masked)
    owners = [(owner["name"] or owner["of"], owner.end(), ends[owner.end() - 1])
              for owner in _OWNERS.finditer(masked)]  # fmt: skip
    for rule in rules:
        for head in rule.begins.finditer(masked):
            after = ends[head.end() - 1] if head[0].endswith("(") else head.end()
            behind = rule.result.match(masked, after)
            if not behind or head["name"] in _WORDS:
                continue
            groups, at = head.groupdict(), behind.end()
            around = next((owner for owner, first, last in reversed(owners) if first <= at < last), "")
            name, owner = head["name"] or groups.get("of") or "", groups.get("owner") or around
            name = f"{owner}.{name}" if name and owner else name
            yield _cut(rule, head, behind, name, value, ends)


def _cut(
    rule: _Head, head: re.Match[str], behind: re.Match[str], name: str, value: str, ends: Mapping[int, int]
) -> _Function:
    """A function, by its head and what stands behind its parameters."""
    masked, begin = head.string, behind.end()
    if masked[begin : begin + 1] != "{":
        return _Function(name, begin, _end_of_expression(masked, begin), [(begin, begin, f"true ? {value} : ")])
    end, at = ends[begin], begin + 1
    emptied = [(at, at, rule.leaves(head, behind[0], masked[at : min(end - 1, at + _MOST_OF_A_BODY)], value))]
    result = _with_names(behind[0].strip()) if rule.leaves is _go_leaves else ""
    if result and result != behind[0].strip():
        emptied.append((behind.start(), begin, f" {result} "))
    return _Function(name, begin, end, emptied)


def _with_names(result: str) -> str:
    """The results of a function of Go, each with a name, so that it can return without a value."""
    inner = result[1:-1] if result.startswith("(") and result.endswith(")") else result
    parts = _split(inner)
    is_named = any(len(words := part.split(None, 1)) > 1 and words[0] not in _GO_TYPES and "(" not in words[0]
                   and "[" not in words[0] for part in parts)  # fmt: skip
    return result if not result or is_named else f"({', '.join(f'_ {part}' for part in parts)})"


def _split(text: str) -> list[str]:
    parts, depth, at = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            parts.append(text[at:place].strip())
            at = place + 1
    return [part for part in [*parts, text[at:].strip()] if part]


def _ends(masked: str) -> dict[int, int]:
    """By the place of each bracket that opens: behind the one that closes it, or the end of the text."""
    ends = dict[int, int]()
    opened: dict[str, list[int]] = {closes: [] for closes in _CLOSES.values()}
    for place, letter in enumerate(masked):
        if letter in _CLOSES:
            opened[_CLOSES[letter]].append(place)
            ends[place] = len(masked)
        elif opened.get(letter):
            ends[opened[letter].pop()] = place + 1
    return ends


def _end_of_expression(masked: str, at: int) -> int:
    depth, most = 0, min(at + _MOST_OF_AN_EXPRESSION, len(masked))
    for place in range(at, most):
        letter = masked[place]
        depth += (letter in "([{") - (letter in ")]}")
        if depth < 0 or (not depth and letter in ";,"):
            return place
        if not depth and letter == "\n" and not _GOES_ON.match(masked, place):
            return place
    return most
