"""Hollow code in languages of braces, read as text: JavaScript, TypeScript, Go, Java and Rust.

There is one cut: a function leaves before its first line, so that what follows is still compiled. Text and comments are
masked first; what is not recognised as a function stays as it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ralphy.testguard.test_files import tests_beside_code

_MASKED = re.compile(
    r'"""[\s\S]*?"""|/\*[\s\S]*?\*/|//[^\n]*|`(?:\\[\s\S]|[^`\\])*`|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    r"|(?<=[=(,:!&|?;{}\s])/(?![/*\s])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*"
)
_MASKED_IN_RUST = re.compile(r"/\*[\s\S]*?\*/|//[^\n]*|\"(?:\\[\s\S]|[^\"\\])*\"|'(?:\\[^\n]|[^\\'\n])'")
_CLOSES = {"(": ")", "{": "}", "[": "]"}
_UNTYPED, _TYPED = (".js", ".jsx", ".mjs", ".cjs"), (".ts", ".tsx", ".mts", ".cts")
_SCRIPT = (*_UNTYPED, *_TYPED)
_READ = (*_SCRIPT, ".go", ".java", ".rs")
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


class _Function(NamedTuple):
    """A function in a text: where its body begins behind what opens it, and where it ends; `leaves` is how it ends at
    once, `result` the place of a result's type that must have a name for this, and that type."""

    name: str
    begin: int
    end: int
    leaves: str
    result: tuple[int, int, str] | None = None


class _Head(NamedTuple):
    """`begins` finds a function up to its parameters' bracket, if it has one; `result` is what stands from there to its
    body. `leaves` says how it ends at once, by its head, its result, its body and the value that it is to return."""

    begins: re.Pattern[str]
    result: re.Pattern[str]
    leaves: Callable[[re.Match[str], str, str, str], str]


def _script_leaves(head: re.Match[str], _: str, body: str, value: str) -> str:
    leaves = f"return {value}" if _RETURNS.search(body) else "return"
    return f" if (true) {{ {f'yield {value}; return' if head.groupdict().get('each') else leaves}; }} "


def _go_leaves(*_: object) -> str:
    return " if true { return };"


def _java_leaves(head: re.Match[str], *_: object) -> str:
    return f" if (true) return{_JAVA_ZEROS.get(head['type'], ' null')};"


def _rust_leaves(_: re.Match[str], result: str, *__: object) -> str:
    return " if true { return unsafe { std::mem::zeroed() } }" if "->" in result else " if true { return }"


def _p(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.M)


_TO_BRACE = _p(r"\s*(?::\s*[^{;=()]+?)?\s*(?=\{)")
_PARAMETERS = r"(?:async\b\s*)?(?:(?:<[^=>]*>\s*)?\(|[\w$]+\s*(?==>))"  # of an arrow
_HEADS = (
    (_SCRIPT, _Head(
        _p(r"(?:(?P<of>[\w$]+)\s*[:=]\s*)?(?:async\s+)?\bfunction\b\s*(?P<each>\*?)\s*(?P<name>[\w$]*)\s*"
           r"(?:<[^>(]*>)?\s*\("), _TO_BRACE, _script_leaves)),
    (_SCRIPT, _Head(
        _p(r"^[ \t]*(?:(?:public|private|protected|static|async|override|readonly|get|set)\s+)*(?P<each>\*?)\s*"
           r"(?P<name>#?[\w$]+)\s*(?:<[^>(\n]*>)?\s*\("), _TO_BRACE, _script_leaves)),
    (_SCRIPT, _Head(
        _p(r"(?<!\btype )(?<![\w$])(?P<name>#?[\w$]+)\s*(?::[^=\n]*)?=\s*" + _PARAMETERS),
        _p(r"\s*(?::[^=;{}]*)?=>\s*"), _script_leaves)),
    (_UNTYPED, _Head(_p(r"\b(?P<name>[\w$]+)\s*:\s*" + _PARAMETERS), _p(r"\s*=>\s*"), _script_leaves)),
    (_UNTYPED, _Head(_p(r"(?P<name>)" + _PARAMETERS), _p(r"\s*=>\s*(?=\{)"), _script_leaves)),
    (".go", _Head(
        _p(r"^func\s+(?:\(\s*(?:\w+\s+)?\*?(?P<owner>\w+)[^)]*\)\s*)?(?P<name>\w+)\s*(?:\[[^\]]*\]\s*)?\("),
        _p(r"[^\n]*(?=\{\s*$)|[^\n{]*(?=\{)"), _go_leaves)),
    (".java", _Head(
        _p(r"^[ \t]*(?:(?:public|protected|private|static|final|default|synchronized|strictfp)\s+)*(?:<[^>(]*>\s*)?"
           r"(?!(?:new|return|else|throw|public|protected|private|class|record|enum|interface)\b)"
           r"(?P<type>[\w.]+(?:<[^()=;]*>)?(?:\[\])*)\s+(?P<name>\w+)\s*\("),
        _p(r"\s*(?:throws\s+[\w.,\s]+)?(?=\{)"), _java_leaves)),
    (".rs", _Head(
        _p(r"(?<!const )(?<!const unsafe )\bfn\s+(?P<name>\w+)\s*(?:<[^(]*>)?\s*\("),
        _p(r"(?:(?!impl )[^{;!])*(?=\{)"), _rust_leaves)),
)  # fmt: skip
# What a method belongs to.
_OWNERS = _p(r"\bclass\s+(?P<name>[\w$]+)[^{;]*\{|^[ \t]*impl\b[^{;]*?(?P<of>\w+)(?:<[^{;]*>)?\s*(?:where\b[^{;]*)?\{")


@dataclass(frozen=True, slots=True)
class _Read:
    """A text and the functions that were found in it."""

    text: str
    functions: Sequence[_Function]

    @classmethod
    def of(cls, path: str, data: bytes, *, says: bool) -> _Read:
        text = _WITH_BLANK.sub("", data.decode("utf-8", "surrogateescape"))
        masked = masked_text(text, _MASKED_IN_RUST if path.endswith(".rs") else _MASKED)
        code = masked[: tests_beside_code(path, masked)]
        found = _functions(path, code, "__hollow" if says else "undefined")
        outer: list[_Function] = []
        for one in sorted(found, key=lambda one: (one.begin, -one.end)):
            if not outer or (one.begin >= outer[-1].end and one.begin != outer[-1].begin):
                outer.append(one)
        return cls(text, _told_apart(outer))

    def emptied(self, path: str, functions: Sequence[_Function]) -> bytes:
        """The text in which these functions do nothing."""
        text = self.text
        parts = [part for one in functions for part in ((one.begin, one.begin, one.leaves), one.result) if part]
        for begin, end, said in sorted(parts, reverse=True):
            text = text[:begin] + said + text[end:]
        if path.endswith(_SCRIPT):
            head = text.find("\n") + 1 if text.startswith("#!") else 0
            text = text[:head] + _BLANK.format(any=": any" if path.endswith(_TYPED) else "") + text[head:]
        return text.encode("utf-8", "surrogateescape")


def masked_text(text: str, pattern: re.Pattern[str] = _MASKED) -> str:
    """A text as long as it is, its comments as spaces and each of its strings as a word."""
    return pattern.sub(_mask, text)


def _mask(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " " if found[0].startswith(("//", "/*")) else "_", found[0])


def hollow_text(path: str, data: bytes, *, says: bool = True) -> bytes | None:
    """See `ralphy.testguard.spoil.hollow.hollow`; Go, Java and Rust return zeros, whatever it `says`."""
    if not path.endswith(_READ):
        return None
    read = _Read.of(path, data, says=says)
    return read.emptied(path, read.functions) if read.functions else None


def names_only_text(
    path: str, old: bytes | None, new: bytes, *, says: bool = True
) -> tuple[bytes, tuple[str, ...], bool] | None:
    """See `ralphy.testguard.spoil.hollow.names_only`: the text, the functions that are new, and whether others were
    changed, and do nothing, either, or are gone."""
    if not path.endswith(_READ):
        return None
    was, now = (_Read.of(path, data, says=says) for data in (old or b"", new))
    bodies = {one.name: was.text[one.begin : one.end] for one in was.functions}
    names = tuple(one.name for one in now.functions if one.name not in bodies and not one.name.startswith("#"))
    other = [one for one in now.functions if bodies.get(one.name) != now.text[one.begin : one.end]]
    gone = {name for name in bodies if not name.startswith("#")} - {one.name for one in now.functions}
    hides_old = bool(gone) or any(one.name in bodies for one in other)
    return (now.emptied(path, other), names, hides_old) if names else None


def _told_apart(functions: Sequence[_Function]) -> list[_Function]:
    """With a number for each further one of a name; one without a name begins with its number."""
    times = Counter[str]()
    found = []
    for one in functions:
        times[one.name] += 1
        name = one.name if one.name and times[one.name] == 1 else f"{one.name}#{times[one.name]}"
        found.append(one._replace(name=name))
    return found


def _functions(path: str, masked: str, value: str) -> Iterator[_Function]:
    owners = [(found["name"] or found["of"], found.end(), _closing(masked, found.end() - 1))
              for found in _OWNERS.finditer(masked)]  # fmt: skip
    for rule in (rule for endings, rule in _HEADS if path.endswith(endings)):
        for head in rule.begins.finditer(masked):
            after = _closing(masked, head.end() - 1) if head[0].endswith("(") else head.end()
            behind = rule.result.match(masked, after)
            if not behind or head["name"] in _WORDS:
                continue
            groups, at = head.groupdict(), behind.end()
            around = next((owner for owner, first, last in reversed(owners) if first <= at < last), "")
            name, owner = head["name"] or groups.get("of") or "", groups.get("owner") or around
            yield _cut(rule, head, behind, f"{owner}.{name}" if name and owner else name, value)


def _cut(rule: _Head, head: re.Match[str], behind: re.Match[str], name: str, value: str) -> _Function:
    """A function, by its head and what stands behind its parameters."""
    masked, begin = head.string, behind.end()
    if masked[begin : begin + 1] != "{":
        return _Function(name, begin, _end_of_expression(masked, begin), f"true ? {value} : ")
    end = _closing(masked, begin) - 1
    leaves = rule.leaves(head, behind[0], masked[begin + 1 : end], value)
    result = _with_names(behind[0].strip()) if rule.leaves is _go_leaves else ""
    place = (behind.start(), begin, f" {result} ") if result and result != behind[0].strip() else None
    return _Function(name, begin + 1, end, leaves, place)


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


def _closing(masked: str, at: int) -> int:
    """Behind the bracket that closes the one at this place."""
    opens, closes = masked[at], _CLOSES[masked[at]]
    depth = 0
    for place in range(at, len(masked)):
        depth += (masked[place] == opens) - (masked[place] == closes)
        if not depth:
            return place + 1
    return len(masked)


def _end_of_expression(masked: str, at: int) -> int:
    depth = 0
    for place in range(at, len(masked)):
        letter = masked[place]
        depth += (letter in "([{") - (letter in ")]}")
        if depth < 0 or (not depth and letter in ";,"):
            return place
        if not depth and letter == "\n" and not _GOES_ON.match(masked, place):
            return place
    return len(masked)
