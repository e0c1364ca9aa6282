"""What in a story's Python looks made for its tests: see `ralphy.testguard.written.suspicious`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ralphy.testguard.read.assertions import FUNCTION, Function
from ralphy.testguard.read.test_parser import parsed
from ralphy.testguard.substance import FileChange
from ralphy.testguard.written.answers import answers, python_rows
from ralphy.testguard.written.suspicion import Surroundings, Suspicion, looks_at_callers, reads_tests, variables

# Classes that are meant to equal everything, and methods without which there is nothing else in a class.
_WILDCARD = re.compile(r"_*(?:any|anything|everything|whatever|wild_?card|match_?all)\w*$", re.I)
_READS = frozenset(("open", "read", "read_text", "read_bytes", "load", "loads", "literal_eval", "exec", "eval",
                    "run_path", "import_module", "spec_from_file_location", "getsource", "getlines"))  # fmt: skip
_SAYS_NO = ("False", "NotImplemented", "self is other")
_ENVIRONMENT = frozenset(("environ", "getenv"))
_TODO = re.compile(r"#.*\b(?:TODO|FIXME|XXX|HACK|placeholder|not (?:yet )?implemented|unfinished)\b", re.I)


class _Place(NamedTuple):
    """A function, its class ("": none), and whether its class inherits from another one."""

    node: Function
    owner: str
    inherits: bool

    @property
    def name(self) -> str:
        return f"{self.owner}.{self.node.name}" if self.owner else self.node.name


def of_python(change: FileChange, around: Surroundings, texts: Mapping[str, str]) -> Iterator[Suspicion]:
    """`texts` are all changed files of code: nothing else can call what is new."""
    tree, before = parsed(change.new or b""), parsed(change.old or b"") or ast.Module([], [])
    if tree is None:
        return
    old = {place.name: ast.dump(place.node) for place in _functions(before)}
    path, text = change.path, texts[change.path]
    rows = [row for name, said in around.tests.items() if name.endswith(".py")
            for row in python_rows(parsed(said.encode("utf-8", "surrogatepass")))]  # fmt: skip
    base_names = {name for said in texts.values() for name in re.findall(r"^\s*class \w+\((.*?)\):", said, re.M)}
    for place in _functions(tree):
        if old.get(place.name) == ast.dump(place.node):
            continue
        yield from _equal_to_everything(path, place)
        for line, told in answers(place.node, tree, rows):
            yield Suspicion(path, line, told.what, told.is_certain and not place.owner)
        if place.name not in old:
            yield from _unfinished(path, place, around, base_names)
            yield from _not_wired(path, place, around, texts)
        yield from _marked(path, place, around, text)
    yield from _statements(path, tree, before, around)
    known = {line.strip() for line in (change.old or b"").decode("utf-8", "replace").splitlines()}
    added = [(at, line) for at, line in enumerate(text.splitlines(), 1) if line.strip() not in known]
    yield from looks_at_callers(path, added)


def _functions(tree: ast.Module) -> Iterator[_Place]:
    """The functions of a module and of its classes; not those that exist under a condition."""
    for node in tree.body:
        if isinstance(node, FUNCTION):
            yield _Place(node, "", inherits=False)
        elif isinstance(node, ast.ClassDef):
            inherits = any(ast.unparse(base) != "object" for base in node.bases)
            yield from (_Place(one, node.name, inherits) for one in node.body if isinstance(one, FUNCTION))


def _body(node: Function) -> list[ast.stmt]:
    """Without the docstring."""
    first = node.body[0]
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return node.body[1:] if is_text else node.body


def _equal_to_everything(path: str, place: _Place) -> Iterator[Suspicion]:
    """An `__eq__` that does not look at what it is compared with, and does not say no."""
    node = place.node
    if node.name != "__eq__" or len(node.args.args) < 2:
        return
    other = node.args.args[1].arg
    is_read = any(isinstance(one, ast.Name) and one.id == other for one in ast.walk(node))
    said = [one.value for one in ast.walk(node) if isinstance(one, ast.Return)]
    if not is_read and said and not any(value is None or ast.unparse(value) in _SAYS_NO for value in said):
        is_certain = not _WILDCARD.match(place.owner)
        yield Suspicion(path, node.lineno, f"{place.name}() calls everything equal", is_certain)


def _unfinished(path: str, place: _Place, around: Surroundings, bases: set[str]) -> Iterator[Suspicion]:
    """A new function that only says that it is not written, and tests that expect that."""
    body = _body(place.node)
    is_abstract = any("abstract" in ast.unparse(mark) or "overload" in ast.unparse(mark)
                      for mark in place.node.decorator_list)  # fmt: skip
    is_base = place.owner and (place.inherits or any(re.search(rf"\b{place.owner}\b", said) for said in bases))
    if is_abstract or is_base or len(body) != 1 or not _says_unfinished(body[0]):
        return
    is_expected = re.search(r"NotImplementedError|not (?:yet )?implemented|\bTODO\b", around.text, re.I)
    if is_expected and around.speak_of(place.node.name):
        what = f"{place.name}() is not written, and a test expects that"
        yield Suspicion(path, place.node.lineno, what, is_certain=not place.owner)


def _says_unfinished(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Raise) or node.exc is None:
        return False
    return bool(re.search(r"^NotImplementedError\b|not (?:yet )?implemented|\bTODO\b", ast.unparse(node.exc), re.I))


def _marked(path: str, place: _Place, around: Surroundings, text: str) -> Iterator[Suspicion]:
    """A function whose comments say that it is not done, and which tests ask for."""
    lines = text.splitlines()[place.node.lineno - 1 : place.node.end_lineno]
    at = next((at for at, line in enumerate(lines) if _TODO.search(line)), None)
    if at is not None and around.speak_of(place.node.name):
        yield Suspicion(path, place.node.lineno + at, f"{place.name}() says that it is not done, and tests accept it")


def _not_wired(path: str, place: _Place, around: Surroundings, texts: Mapping[str, str]) -> Iterator[Suspicion]:
    """A new private function that tests call, and nothing else does."""
    name = place.node.name
    is_private = name.startswith("_") and not name.endswith("_")
    if not is_private or place.inherits or place.node.decorator_list or not around.speak_of(name):
        return
    calls = sum(len(re.findall(rf"\b{re.escape(name)}\b", text)) for text in texts.values())
    own = sum(isinstance(one, ast.Name | ast.Attribute) and name in (getattr(one, "id", ""), getattr(one, "attr", ""))
              for one in ast.walk(place.node))  # fmt: skip
    if calls - own <= 1:
        yield Suspicion(path, place.node.lineno, f"nothing but tests calls {place.name}()")


def _statements(path: str, tree: ast.Module, before: ast.Module, around: Surroundings) -> Iterator[Suspicion]:
    """What new statements read: files of the tests, variables of the environment, modules of the tests."""
    old = {ast.dump(node) for node in ast.walk(before) if isinstance(node, ast.stmt)}
    asked: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt) or ast.dump(node) in old:
            continue
        yield from _imports(path, node, around)
        own = list(_own(node))
        texts = [one.value for one in own if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        calls = {getattr(one.func, "id", getattr(one.func, "attr", "")) for one in own if isinstance(one, ast.Call)}
        if texts and not _is_text(node):
            yield from reads_tests(path, node.lineno, texts, around, opens=bool(calls & _READS))
        asked += [(node.lineno, name) for name in _asked_of_environment(own)]
    yield from variables(path, asked, around)


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """The expressions of a statement, without the statements in it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield child
            yield from _own(child)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _imports(path: str, node: ast.stmt, around: Surroundings) -> Iterator[Suspicion]:
    names: Sequence[str] = ()
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and not node.level:
        names = [node.module or ""]
    for name in names:
        if re.search(r"(?:^|[._])(?:conftest|tests?)(?:[._]|$)", name):
            place = name.replace(".", "/")
            if any(
                known in (f"{place}.py", f"{place}/__init__.py") or known.endswith(f"/{place}.py")
                for known in around.known
            ):
                yield Suspicion(path, node.lineno, f"imports {name}, which belongs to the tests")


def _asked_of_environment(nodes: Sequence[ast.AST]) -> Iterator[str]:
    for node in nodes:
        key: ast.expr | None = None
        if isinstance(node, ast.Call) and node.args:
            words = ast.unparse(node.func).split(".")
            key = node.args[0] if _ENVIRONMENT & set(words) and words[-1] in ("get", "getenv", "pop") else None
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value).split(".")[-1] == "environ":
            key = node.slice
        elif isinstance(node, ast.Compare) and any(ast.unparse(one).endswith("environ") for one in node.comparators):
            key = node.left
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value
