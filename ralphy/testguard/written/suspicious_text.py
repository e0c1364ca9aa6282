"""What in a story's JavaScript, TypeScript, Go, Java or Rust looks made for its tests: read as text.

See `ralphy.testguard.written.suspicious`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ralphy.testguard.spoil.hollow_text import Body, bodies_of, masked_text
from ralphy.testguard.substance import FileChange
from ralphy.testguard.written.answers import Row, is_number, says_much, text_literal, text_rows, told
from ralphy.testguard.written.suspicion import Surroundings, Suspicion, looks_at_callers, reads_tests, variables

_MOST_OF_A_BODY, _MOST_OF_A_LINE = 20_000, 1_000  # letters; what is longer was written by a program
_KNOWN = (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".go", ".java", ".rs")
_LITERAL = r"""(?:-?\d+(?:\.\d+)?|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\[[^\[\]\n]*\])"""
_TEXTS = re.compile(r""""((?:\\.|[^"\\\n])*)"|'((?:\\.|[^'\\\n])*)'|`([^`\n]*)`""")
_UNFINISHED = re.compile(
    r"^\s*(?:throw\s+new\s+\w+\(\s*['\"`](?:[^'\"`\n]*\bnot (?:yet )?implemented|TODO|unimplemented)[^\n]*|"
    r"panic!?\(\s*\"(?:[^\"\n]*\bnot (?:yet )?implemented|TODO|unimplemented)[^\n]*|(?:todo|unimplemented)!\([^\n]*|"
    r"return\s+[^\n]*(?:errors\.New|fmt\.Errorf|Error::new|Err)\([^\n]*\"(?:[^\"\n]*\bnot (?:yet )?implemented|TODO)"
    r"[^\n]*)\s*$",
    re.I,
)
_TODO = re.compile(r"(?://|/\*).*\b(?:TODO|FIXME|XXX|HACK|placeholder|not (?:yet )?implemented|unfinished)\b", re.I)
_EQUALS = {".java": re.compile(r"equals$"), ".rs": re.compile(r"eq$"), ".go": re.compile(r"\b[Ee]quals?$")}
_ALL_EQUAL = re.compile(r"\s*(?:return\s+)?true\s*;?\s*$")
_ENVIRONMENT = re.compile(
    r"""\bprocess\.env(?:\.(\w+)|\[['"](\w+)['"]\])|\b(?:os\.(?:Getenv|LookupEnv)|System\.getenv|env::var(?:_os)?|"""
    r"""getProperty)\(\s*"(\w[\w.]*)\"|\boption_env!\(\s*"(\w+)\""""
)
_READS = re.compile(
    r"\b(?:readFile\w*|require|import|open|createReadStream|ReadFile|Open|readString|readAllLines|readAllBytes|"
    r"read_to_string|include_str!?|include_bytes!?|File|FileReader|newBufferedReader|getResource\w*|embed)\b"
)
_PAIRS = (
    re.compile(rf"\bif\b([^\n{{}}]*?)\s*(?:\breturn\s+|\{{\s*(?:return\s+)?)({_LITERAL})"),
    re.compile(rf"\bcase\s+({_LITERAL})\s*(?::|->)\s*(?:return\s+)?({_LITERAL})"),
    re.compile(rf"={{2,3}}\s*({_LITERAL})[^\n?]*\?\s*({_LITERAL})\s*:"),
    re.compile(rf"^\s*({_LITERAL})\s*=>\s*({_LITERAL})\s*,?", re.M),
    re.compile(rf"[{{,\n(]\s*[\[\"']?({_LITERAL}|\w+)\]?\s*:\s*({_LITERAL})(?=\s*[,}}\n])"),
    re.compile(rf"\b(?:entry|put|set|of)\(\s*({_LITERAL})\s*,\s*({_LITERAL})\s*\)"),
)
_EXPORTS = re.compile(
    r"^\s*(?:(?:module\.)?exports(?:\.\w+)?\s*=\s*(?:\w+|\{[^}]*\})|export\s*\{[^}]*\})\s*;?\s*$", re.M
)
_COMPARED = re.compile(rf"={{2,3}}\s*({_LITERAL})")
_RETURNS = re.compile(r"\breturn\s+(?P<value>[^;\n}]+)")
_LOOKUP = re.compile(r"[\w$.]+\s*\[[^\]]+\]|[\w$.]+\.(?:get|getOrDefault)\([^)]*\)|\{[^}]*\}\s*\[[^\]]+\]")


def is_known(path: str) -> bool:
    return path.endswith(_KNOWN)


def of_text(change: FileChange, around: Surroundings, texts: Mapping[str, str]) -> Iterator[Suspicion]:
    """`texts` are all changed files of code."""
    path, text = change.path, _product(change.path, texts[change.path])
    old = {body.name: body.text for body in bodies_of(path, change.old or b"")}
    ending = path[path.rfind(".") :]
    rows = [row for name, said in around.tests.items() if name.endswith(_KNOWN) for row in text_rows(said)]
    rows += text_rows(texts[path][len(text) :])
    for body in bodies_of(path, text.encode("utf-8", "surrogateescape")):
        if old.get(body.name) == body.text or len(body.text) > _MOST_OF_A_BODY:
            continue
        if body.name not in old:
            yield from _unfinished(path, body, around, texts[path][len(text) :])
            yield from _not_wired(path, body, around, texts)
        yield from _equal(path, body, ending)
        yield from _answers(path, body, text, rows)
    known = {line.strip() for line in (change.old or b"").decode("utf-8", "replace").splitlines()}
    added = [(at, line) for at, line in enumerate(text.splitlines(), 1) if line.strip() and line.strip() not in known]
    yield from _lines(path, added, around)


def _product(path: str, text: str) -> str:
    """Without the tests at the end of a file of Rust."""
    found = re.search(r"^#\[cfg\(test\)\]\s*mod\b", text, re.M) if path.endswith(".rs") else None
    return text[: found.start()] if found else text


def _lines(path: str, added: Sequence[tuple[int, str]], around: Surroundings) -> Iterator[Suspicion]:
    asked: list[tuple[int, str]] = []
    for number, line in added:
        plain = line.strip()
        if len(plain) > _MOST_OF_A_LINE or (
            plain.startswith(("//", "*", "/*", "#!")) and not plain.startswith("//go:embed")
        ):
            continue
        asked += [(number, next(filter(None, found))) for found in _ENVIRONMENT.findall(line)]
        literals = [next(filter(None, found), "") for found in _TEXTS.findall(line)]
        literals += [plain.split()[-1]] if plain.startswith("//go:embed") else []
        if any(literals):
            yield from reads_tests(path, number, literals, around, opens=bool(_READS.search(line)))
    yield from variables(path, asked, around)
    yield from looks_at_callers(path, added)
    for number, line in added:
        if _TODO.search(line):
            yield Suspicion(path, number, "says that it is not done")


def _unfinished(path: str, body: Body, around: Surroundings, own: str) -> Iterator[Suspicion]:
    """A new function that only says that it is not written, and tests that expect that."""
    pinned = re.search(r"not (?:yet )?implemented|\bTODO\b|should_panic|unimplemented|assertThrows|toThrow|\.throws\(",
                       f"{around.text}\n{own}", re.I)  # fmt: skip
    name = body.name.rpartition(".")[2]
    if pinned and _UNFINISHED.match(body.text) and (around.speak_of(name) or name in own):
        yield Suspicion(path, body.line, f"{body.name}() is not written, and a test expects that", is_certain=True)


def _equal(path: str, body: Body, ending: str) -> Iterator[Suspicion]:
    named = _EQUALS.get(ending)
    if named and named.search(body.name) and _ALL_EQUAL.match(masked_text(body.text)):
        yield Suspicion(path, body.line, f"{body.name}() calls everything equal", is_certain=True)


def _not_wired(path: str, body: Body, around: Surroundings, texts: Mapping[str, str]) -> Iterator[Suspicion]:
    """A new function that tests call, and nothing else does; private in Go by its first letter, else by a `_`."""
    name = body.name.rpartition(".")[2]
    is_private = name[:1].islower() if path.endswith(".go") else name.startswith("_")
    if not is_private or name in ("main", "init") or not around.speak_of(name):
        return
    inside = len(re.findall(rf"\b{re.escape(name)}\s*\(", body.text))
    known = [_EXPORTS.sub("", masked_text(_product(where, text))) for where, text in texts.items()]
    calls = sum(len(re.findall(rf"\b{re.escape(name)}\b(?!\s*[,}}])", text)) for text in known)
    if calls - inside <= 1:
        yield Suspicion(path, body.line, f"nothing but tests calls {body.name}()")


def _answers(path: str, body: Body, text: str, rows: Sequence[Row]) -> Iterator[Suspicion]:
    """A function that has the answers of its tests; also in a table that it looks them up in."""
    said = "\n".join(line for line in body.text.splitlines() if len(line) <= _MOST_OF_A_LINE)
    plain = [found["value"].strip() for found in _RETURNS.finditer(said)]
    returned = {value for value in plain if re.fullmatch(_LITERAL, value)}
    looked_up = [value for value in plain or [body.text.strip()] if _LOOKUP.search(value)]
    tables = "\n".join(_table(text, re.match(r"[\w$]*", value)[0]) for value in looked_up)  # type: ignore[index]
    pairs = [(_as_keys(key), text_literal(value), body.line)
             for pattern in _PAIRS for key, value in pattern.findall(f"{said}\n{tables}")]  # fmt: skip
    worked_out = [value for value in plain if value not in returned and value not in looked_up
                  and not re.match(r"[^?]*\?[^:]*:|\{|[\w$.]+!?$|None|null|match\b|switch\b", value)]  # fmt: skip
    works_out = bool(worked_out) or bool(re.search(r"\b(?:for|while)\b", masked_text(body.text)))
    found = told(pairs, rows, works_out=works_out)
    if found.what:
        yield Suspicion(path, body.line, f"{body.name or 'a function'}() {found.what}", found.is_certain)
    elif not works_out and not pairs and len(plain) < 2:
        yield from _whatever(path, body, plain, rows)


def _as_keys(said: str) -> Row:
    """The literals of a condition, or one literal or word."""
    if re.fullmatch(_LITERAL, said):
        return frozenset({text_literal(said)})
    compared = _COMPARED.findall(said)
    return frozenset(map(text_literal, compared)) if compared or not said.isidentifier() else frozenset({repr(said)})


def _table(text: str, name: str) -> str:
    """What a name stands for in a file, if that is a table."""
    found = re.search(rf"\b{re.escape(name)}\b[^\n=]*:?=\s*[^\n]*?[{{(]", text) if name else None
    end = re.compile(r"^[})\]]", re.M).search(text, found.end()) if found else None
    return text[found.start() : end.start() if end else found.end() + 2000] if found else ""


def _whatever(path: str, body: Body, plain: Sequence[str], rows: Sequence[Row]) -> Iterator[Suspicion]:
    """A function that is nothing but a literal which the tests expect."""
    said = plain[0] if plain else body.text.strip().rstrip(";")
    is_all = body.text.strip().rstrip(";") in (said, f"return {said}") and re.fullmatch(_LITERAL, said)
    value = text_literal(said) if is_all else ""
    if says_much(value) and any(value in row and len(row) > 1 for row in rows):
        what = f"{body.name}() answers {said} whatever it is given, as its tests expect"
        yield Suspicion(path, body.line, what, is_number(value) and body.parameters > 1 and "." not in body.name)
