"""Hollow code in languages of braces, read as text: JavaScript, TypeScript, Go, Java and Rust.

A function leaves before its first line, so that what follows is still compiled. Text and comments are masked first;
what is not recognised as a function stays as it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

_MASKED = re.compile(
    r'"""[\s\S]*?"""|/\*[\s\S]*?\*/|//[^\n]*|`(?:\\[\s\S]|[^`\\])*`|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    r"|(?<=[=(,:!&|?;{}\s])/(?![/*\s])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*"
)
_MASKED_IN_RUST = re.compile(r"/\*[\s\S]*?\*/|//[^\n]*|\"(?:\\[\s\S]|[^\"\\])*\"|'(?:\\[^\n]|[^\\'\n])'")
_RUST_HEAD = re.compile(r"(?<!const )(?<!const unsafe )\bfn\s+(?P<name>\w+)\s*(?:<[^(]*>)?\s*\(")
_RUST_IMPL = re.compile(r"^[ \t]*impl\b[^{;]*?(?P<name>\w+)(?:<[^{;]*>)?\s*(?:where\b[^{;]*)?\{", re.M)
_RUST_TESTS = re.compile(r"^#\[cfg\(test\)\]", re.M)  # by convention the end of the file
_CLOSES = {"(": ")", "{": "}", "[": "]"}
_SCRIPT = (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts")
_TYPED = (".ts", ".tsx", ".mts", ".cts")
_WORDS = frozenset(("if", "for", "while", "switch", "catch", "function", "return", "with", "constructor", "do", "else",
                    "await", "new", "super", "throw", "typeof", "try", "synchronized", "import"))  # fmt: skip
_SCRIPT_HEADS = (
    re.compile(r"(?:(?P<of>[\w$.]+)\s*[:=]\s*)?(?:async\s+)?\bfunction\b\s*(?P<each>\*?)\s*(?P<name>[\w$]*)\s*"
               r"(?:<[^>(]*>)?\s*\("),
    re.compile(r"^[ \t]*(?:(?:public|private|protected|static|async|override|readonly|get|set)\s+)*(?P<each>\*?)\s*"
               r"(?P<name>#?[\w$]+)\s*(?:<[^>(\n]*>)?\s*\(", re.M),
)  # fmt: skip
_ARROW = re.compile(r"=>\s*")
_BEFORE_ARROW = re.compile(r"(?P<closes>\))\s*(?::[^()=;{}]*)?$|[\w$]+\s*$")
_ARROW_NAME = re.compile(r"(?:\b(?:const|let|var)\s+|\bexports\.|^[ \t]*(?:(?:static|readonly|private|public)\s+)*)"
                         r"(?P<name>#?[\w$]+)\s*(?::[^=\n]*)?=\s*(?:async\b\s*)?(?:<[^=>]*>\s*)?$", re.M)  # fmt: skip
_PROPERTY = re.compile(r"(?P<name>[\w$]+)\s*:\s*(?:async\b\s*)?$")
_TYPE_OF_RESULT = re.compile(r"\s*(?::\s*[^{;=()]+?)?\s*(?=\{)")
_CLASS = re.compile(r"\bclass\s+(?P<name>[\w$]+)[^{;]*\{")
_GO_HEAD = re.compile(
    r"^func\s+(?:\(\s*(?:\w+\s+)?\*?(?P<of>\w+)[^)]*\)\s*)?(?P<name>\w+)\s*(?:\[[^\]]*\]\s*)?\(", re.M
)
_GO_TYPES = ("chan", "func", "map", "struct", "interface", "<-chan")
_JAVA_HEAD = re.compile(r"^[ \t]*(?:(?:public|protected|private|static|final|default|synchronized|strictfp)\s+)*"
                        r"(?:<[^>(]*>\s*)?(?P<type>[\w.]+(?:<[^()=;]*>)?(?:\[\])*)\s+(?P<name>\w+)\s*\(",
                        re.M)  # fmt: skip
_JAVA_RESULT = re.compile(r"\s*(?:throws\s+[\w.,\s]+)?(?=\{)")
_JAVA_ZEROS = {"void": "", "boolean": " false", **dict.fromkeys(("byte", "short", "int", "long", "char"), " 0"),
               "float": " 0", "double": " 0"}  # fmt: skip
_GOES_ON = re.compile(r"\s*[.?:+\-*/&|<>=%]")
_MOST_OF_A_TYPE = 300
_JAVA_NO_TYPES = frozenset((*_WORDS, "public", "protected", "private", "class", "record", "enum", "interface"))
_RETURNS = re.compile(r"\breturn\b[ \t]*[^;\s}]")
_LOADED = re.compile(r"(?:await|require|import)\b")
_DATA = re.compile(r"^(?P<head>(?:export\s+)?(?:const|let|var)\s+(?P<name>[\w$]+)\s*=\s*)(?P<rest>[^\n]*)", re.M)
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
    is_expression: bool = False
    result: tuple[int, int, str] | None = None


@dataclass(frozen=True, slots=True)
class _Read:
    """A text and what was found in it; `masked` is as long, without strings and comments."""

    text: str
    masked: str
    functions: Sequence[_Function]

    @classmethod
    def of(cls, path: str, data: bytes, *, says: bool) -> _Read:
        text = _WITH_BLANK.sub("", data.decode("utf-8", "surrogateescape"))
        masked = masked_text(text, _MASKED_IN_RUST if path.endswith(".rs") else _MASKED)
        found = sorted(_functions(path, masked, says=says), key=lambda one: (one.begin, -one.end))
        outer: list[_Function] = []
        for one in found:
            if not outer or one.begin >= outer[-1].end:
                outer.append(one)
        return cls(text, masked, _told_apart(outer))


def masked_text(text: str, pattern: re.Pattern[str] = _MASKED) -> str:
    """A text as long as it is, its comments as spaces and each of its strings as a word."""
    return pattern.sub(_mask, text)


def _mask(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " " if found[0].startswith(("//", "/*")) else "_", found[0])


def hollow_text(path: str, data: bytes, only: Collection[str] | None = None, *, says: bool = True) -> bytes | None:
    """See `ralphy.testguard.spoil.hollow.hollow`; Go, Java and Rust return zeros, whatever it `says`."""
    if not path.endswith((*_SCRIPT, ".go", ".java", ".rs")):
        return None
    read = _Read.of(path, data, says=says)
    chosen = [one for one in read.functions if only is None or one.name in only]
    if not chosen:
        return None
    return _with_blank(path, _put(read.text, [part for one in chosen for part in _emptied(one)]))


def names_only_text(
    path: str, old: bytes | None, new: bytes, *, says: bool = True
) -> tuple[bytes, tuple[str, ...]] | None:
    """See `ralphy.testguard.spoil.hollow.names_only`: the text, and the functions that are new."""
    if not path.endswith((*_SCRIPT, ".go", ".java", ".rs")):
        return None
    was, now = (_Read.of(path, data, says=says) for data in (old or b"", new))
    bodies = {one.name: (one, was.text[one.begin : one.end]) for one in was.functions}
    functions = [one for one in now.functions if one.name not in bodies]
    if not any(map(_has_name, functions)):
        return None
    parts = [part for one in functions for part in _emptied(one)]
    parts += [part for one in now.functions if one.name in bodies for part in _replaced(path, one, *bodies[one.name])
              if bodies[one.name][1] != now.text[one.begin : one.end]]  # fmt: skip
    parts += _old_data(was, now, says=says) if path.endswith(_SCRIPT) else ()
    return _with_blank(path, _put(now.text, parts)), tuple(one.name for one in functions if _has_name(one))


def _has_name(function: _Function) -> bool:
    return not function.name.startswith("#")


def _told_apart(functions: Sequence[_Function]) -> list[_Function]:
    """With a number for each further one of a name; one without a name begins with its number."""
    times = Counter[str]()
    found = []
    for one in functions:
        times[one.name] += 1
        name = one.name if one.name and times[one.name] == 1 else f"{one.name}#{times[one.name]}"
        found.append(one._replace(name=name))
    return found


_Part = tuple[int, int, str]  # from where to where what is put


def _emptied(one: _Function) -> Iterator[_Part]:
    yield one.begin, one.begin, one.leaves
    if one.result:
        yield one.result


def _replaced(path: str, one: _Function, old: _Function, body: str) -> Iterator[_Part]:
    """The old body; in languages that count what is unused the new one stays behind it."""
    if path.endswith((*_SCRIPT, ".rs")):
        if one.is_expression and not old.is_expression:
            body = f"(() => {{{body}}})()"
        yield one.begin, one.end, f" return {body}; " if old.is_expression and not one.is_expression else body
        return
    leaves = "" if _RETURNS.search(body) else " if (true) return;" if path.endswith(".java") else " if true { return }"
    condition = "if (true)" if path.endswith(".java") else "if true"
    yield one.begin, one.begin, f" {condition} {{{body}{leaves} }}"


def _put(text: str, parts: Sequence[_Part]) -> str:
    for begin, end, said in sorted(parts, reverse=True):
        text = text[:begin] + said + text[end:]
    return text


def _with_blank(path: str, text: str) -> bytes:
    if path.endswith(_SCRIPT):
        head = text.find("\n") + 1 if text.startswith("#!") else 0
        text = text[:head] + _BLANK.format(any=": any" if path.endswith(_TYPED) else "") + text[head:]
    return text.encode("utf-8", "surrogateescape")


def _old_data(was: _Read, now: _Read, *, says: bool) -> Iterator[_Part]:
    """Values of one line as they were; those that are new equal nothing."""
    lines = {found["name"]: was.text[found.start() : found.end()] for found in _DATA.finditer(was.masked)}
    for found in _DATA.finditer(now.masked):
        begin, end = found.start("rest"), found.end()
        if _LOADED.match(found["rest"]) or any(begin <= one.begin <= end for one in now.functions):
            continue
        if found["name"] in lines:
            old = lines[found["name"]]
            if found["rest"].rstrip().endswith(";") and old.rstrip().endswith(";"):
                yield found.start(), end, old
        else:
            yield begin, begin, "true ? __hollow : " if says else "true ? undefined : "


def _functions(path: str, masked: str, *, says: bool) -> Iterator[_Function]:
    if path.endswith(".go"):
        yield from _of_go(masked)
    elif path.endswith(".java"):
        yield from _of_java(masked)
    elif path.endswith(".rs"):
        yield from _of_rust(masked)
    else:
        yield from _of_script(path, masked, says=says)


def _of_script(path: str, masked: str, *, says: bool) -> Iterator[_Function]:
    value = "__hollow" if says else "undefined"
    classes = [(found["name"], found.end(), _closing(masked, found.end() - 1)) for found in _CLASS.finditer(masked)]

    def found(name: str, begin: int, each: str = "") -> _Function:
        end = _closing(masked, begin - 1) - 1
        returns = _RETURNS.search(masked, begin, end)
        leaves = f"yield {value}; return" if each else f"return {value}" if returns else "return"
        owner = next((f"{of}." for of, first, last in reversed(classes) if first <= begin < last), "")
        return _Function(f"{owner}{name}" if name else "", begin, end, f" if (true) {{ {leaves}; }} ")

    for pattern in _SCRIPT_HEADS:
        for head in pattern.finditer(masked):
            behind = _TYPE_OF_RESULT.match(masked, _closing(masked, head.end() - 1))
            if behind and head["name"] not in _WORDS:
                of = (head.groupdict().get("of") or "").rpartition(".")[2]
                yield found(head["name"] or of, behind.end() + 1, head["each"])
    for arrow in _ARROW.finditer(masked):
        begin, place = arrow.end(), _parameters(masked, arrow.start())
        line = masked.rfind("\n", 0, place) + 1
        named = _ARROW_NAME.search(masked, line, place)
        named = named or (None if path.endswith(_TYPED) else _PROPERTY.search(masked, line, place))
        name = named["name"] if named else ""
        if masked[begin : begin + 1] == "{" and (named or not path.endswith(_TYPED)):
            yield found(name, begin + 1)
        elif named:
            yield _Function(name, begin, _end_of_expression(masked, begin), f"true ? {value} : ", is_expression=True)


def _parameters(masked: str, at: int) -> int:
    """Where the parameters of an arrow begin that stands at this place."""
    first = max(0, at - _MOST_OF_A_TYPE)
    found = _BEFORE_ARROW.search(masked[first:at])
    if not found or not found["closes"]:
        return first + found.start() if found else at
    depth = 0
    for place in range(first + found.start(), -1, -1):
        depth += (masked[place] == ")") - (masked[place] == "(")
        if not depth:
            return place
    return at


def _of_go(masked: str) -> Iterator[_Function]:
    for head in _GO_HEAD.finditer(masked):
        after = _closing(masked, head.end() - 1)
        line = masked.find("\n", after)
        line = len(masked) if line < 0 else line
        said = masked[after:line].rstrip()
        opens = after + (said.rfind("{") if said.endswith("{") else said.find("{"))
        if "{" not in said:
            continue
        name = f"{head['of']}.{head['name']}" if head["of"] else head["name"]
        result = masked[after:opens].strip()
        named = _with_names(result)
        place = (after, opens, f" {named} ") if named != result else None
        yield _Function(name, opens + 1, _closing(masked, opens) - 1, " if true { return };", result=place)


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


def _of_java(masked: str) -> Iterator[_Function]:
    classes = [(found["name"], found.end(), _closing(masked, found.end() - 1)) for found in _CLASS.finditer(masked)]
    for head in _JAVA_HEAD.finditer(masked):
        behind = _JAVA_RESULT.match(masked, _closing(masked, head.end() - 1))
        if not behind or head["name"] in _WORDS or head["type"] in _JAVA_NO_TYPES:
            continue
        begin = behind.end() + 1
        owner = next((f"{of}." for of, first, last in reversed(classes) if first <= begin < last), "")
        zero = _JAVA_ZEROS.get(head["type"], " null")
        yield _Function(f"{owner}{head['name']}", begin, _closing(masked, begin - 1) - 1, f" if (true) return{zero};")


def _of_rust(masked: str) -> Iterator[_Function]:
    """The functions before a file's own tests, but for those whose result has no type of its own."""
    impls = [(found["name"], found.end(), _closing(masked, found.end() - 1)) for found in _RUST_IMPL.finditer(masked)]
    tests = _RUST_TESTS.search(masked)
    for head in _RUST_HEAD.finditer(masked, 0, tests.start() if tests else len(masked)):
        after = _closing(masked, head.end() - 1)
        opens = masked.find("{", after)
        said = masked[after:opens]
        if opens < 0 or ";" in said or "impl " in said or "!" in said:
            continue
        owner = next((f"{of}." for of, first, last in reversed(impls) if first <= opens < last), "")
        leaves = " if true { return unsafe { std::mem::zeroed() } }" if "->" in said else " if true { return }"
        yield _Function(f"{owner}{head['name']}", opens + 1, _closing(masked, opens) - 1, leaves)


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
