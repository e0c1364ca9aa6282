"""Hollow code: functions that keep their names and do nothing, to ask what a test asks for beyond a name.

Python is read as a syntax tree; JavaScript, TypeScript, Go and Java as text (`ralphy.testguard.spoil.hollow_text`). The
idea is that of extreme mutation (Niedermayr, Juergens, Wagner, 2016): a method's whole body goes, not one operator.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import cast

from ralphy.testguard.spoil.hollow_text import hollow_text, names_only_text
from ralphy.testguard.test_files import FUNCTION, Function, last_name, parsed

# What a hollow function returns: it equals nothing but itself, and whoever asks it for its truth fails. So a test that
# looks at a value fails, whatever it expects; one whose failures are swallowed does not.
_BLANK = """
class _Hollow:
    def __init__(self, name="", given=(), *_, **__):
        self.__dict__["_of"] = (name, *given)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return _Hollow(f"{self._of[0]}.{name}", self._of[1:])

    def __call__(self, *given, **named):
        return _Hollow(f"{self._of[0]}()", (*self._of[1:], *given, *named.values()))

    def __getitem__(self, key):
        return _Hollow(f"{self._of[0]}[]", (*self._of[1:], key))

    def __eq__(self, other):
        if type(other) is not _Hollow or len(self._of) != len(other._of) or self._of[0] != other._of[0]:
            return False
        return all(one is another for one, another in zip(self._of[1:], other._of[1:]))

    def __ne__(self, other):
        return False

    __lt__ = __le__ = __gt__ = __ge__ = __ne__
    __hash__ = object.__hash__

    def __bool__(self):
        raise AssertionError(f"{self._of[0]} does nothing")

    def __contains__(self, item):
        raise AssertionError(f"{self._of[0]} does nothing")

    def __iter__(self):
        yield self[0]

    def __await__(self):
        return self
        yield

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        return None
"""
_ATTRIBUTES = """
def __getattr__(self, name):
    if name.startswith("_"):
        raise AttributeError(name)
    return _Hollow(name, (self,))
"""
_INIT = "def __init__(self, *_, **__):\n    pass"
# Methods that Python itself calls to make a class or an object; without them there is nothing to be hollow.
_KEPT = frozenset(("__new__", "__hash__", "__init_subclass__", "__class_getitem__", "__set_name__", "__get__",
                   "__set__", "__setattr__", "__delattr__", "__getattribute__", "__prepare__", "__del__"))  # fmt: skip
_LEAVING = frozenset(("__exit__", "__aexit__"))
# Decorators and bases that write a class's methods from its fields, and calls that make a type or a log.
_WRITERS = frozenset(("dataclass", "define", "frozen", "mutable", "attrs", "s", "NamedTuple", "BaseModel"))
_MAKERS = frozenset(("TypeVar", "ParamSpec", "TypeVarTuple", "NewType", "namedtuple", "NamedTuple", "TypedDict", "Enum",
                     "IntEnum", "StrEnum", "Flag", "make_dataclass", "getLogger"))  # fmt: skip
_IMPORT = (ast.Import, ast.ImportFrom)
_BLOCK = (ast.If, ast.Try, ast.With, ast.For, ast.While)


@dataclass(frozen=True, slots=True)
class Stubs:
    """The text of a file in which what is new has a name alone, and the `functions` that are new."""

    text: bytes
    functions: tuple[str, ...]


def hollow(path: str, data: bytes, only: Collection[str] | None = None, *, says: bool = True) -> bytes | None:
    """A file whose functions do nothing, all or `only` those of these names (`Cart.total`); None if it has none, or
    its language is not known.

    A function that returned something `says` a value that equals nothing; without that, it returns None.
    """
    if not path.endswith(".py"):
        return hollow_text(path, data, only, says=says)
    tree = parsed(data)
    emptied = _Emptied(says, only)
    if tree is None:
        return None
    tree.body = emptied.statements([node for node in tree.body if not _is_blank(node)])
    return _written(tree) if emptied.functions else None


def names_only(path: str, old: bytes | None, new: bytes, *, says: bool = True) -> Stubs | None:
    """A file as it was (None: not there), with the names that are new: functions that do nothing, values that equal
    nothing. A function that was there has its new parameters and its old body. None if no function is new."""
    if not path.endswith(".py"):
        found = names_only_text(path, old, new, says=says)
        return found and Stubs(*found)
    was, now = parsed(old or b""), parsed(new)
    if was is None or now is None:
        return None
    emptied = _Emptied(says)
    now.body = _merged(was.body, now.body, emptied)
    return Stubs(_written(now), tuple(emptied.functions)) if emptied.functions else None


def _written(tree: ast.Module) -> bytes:
    """The text of a module, with what its hollow functions return at its head."""
    at = next((at for at, node in enumerate(tree.body) if not (_is_text(node) or _is_of_future(node))), len(tree.body))
    tree.body[at:at] = ast.parse(_BLANK).body
    return f"{ast.unparse(ast.fix_missing_locations(tree))}\n".encode("utf-8", "surrogatepass")


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_blank(node: ast.stmt) -> bool:
    """Is it what `_written` puts there? Names alone can be made hollow as well."""
    return isinstance(node, ast.ClassDef) and node.name == "_Hollow"


def _is_of_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _blank(name: str, given: str = "()") -> ast.expr:
    return ast.parse(f"_Hollow({name!r}, {given})", mode="eval").body


@dataclass
class _Emptied(ast.NodeTransformer):
    """Takes the bodies of functions away; `functions` are those that it emptied, `within` is the class around."""

    says: bool
    only: Collection[str] | None = None
    functions: list[str] = field(default_factory=list)
    within: str = ""

    def statements(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [cast("ast.stmt", self.visit(node)) for node in body]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return self._emptied(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.stmt:
        return self._emptied(node)

    def _emptied(self, node: Function) -> ast.stmt:
        name = f"{self.within}{node.name}"
        if node.name in _KEPT or (self.only is not None and name not in self.only):
            return node
        self.functions.append(name)
        node.body = [*node.body[: _is_text(node.body[0])], self._instead(node, name)]
        return node

    def _instead(self, node: Function, name: str) -> ast.stmt:
        own = list(_own(node.body))
        value = _blank(name, "locals().values()") if self.says else ast.Constant(None)
        if any(isinstance(one, ast.Yield | ast.YieldFrom) for one in own):
            return ast.Expr(ast.Yield(value))
        returns = any(isinstance(one, ast.Return) and not _is_none(one.value) for one in own)
        return ast.Return(value) if returns and node.name not in _LEAVING else ast.Return(None)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        outside, self.within = self.within, f"{self.within}{node.name}."
        node.body = self.statements(node.body)
        self.within = outside
        methods = {one.name for one in node.body if isinstance(one, FUNCTION)}
        if self.only is None and methods & {"__init__", "__getattr__"}:  # what it set can still be asked for
            node.body = [one for one in node.body if not (isinstance(one, FUNCTION) and one.name == "__getattr__")]
            node.body += ast.parse(_ATTRIBUTES).body
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        if self.only is None:
            node.body = _blank("lambda") if self.says else ast.Constant(None)
        return node


def _own(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """All within, but for what belongs to a function or a class of its own."""
    for node in body:
        yield node
        if not isinstance(node, (*FUNCTION, ast.ClassDef, ast.Lambda)):
            yield from _own(list(ast.iter_child_nodes(node)))


def _is_none(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def _merged(was: Sequence[ast.stmt], now: Sequence[ast.stmt], emptied: _Emptied) -> list[ast.stmt]:
    """Statements as they were, with the names that are new and mean nothing yet."""
    known = {key: node for node in was for key in _keys(node)}
    there = {key for node in now for key in _keys(node)}
    same = set(map(ast.dump, was))
    head = [node for node in now if _is_of_future(node)]
    gone = [node for node in was if not _is_of_future(node)
            and (isinstance(node, _IMPORT) or (_keys(node) and not there & set(_keys(node))))]  # fmt: skip
    found = [*(node for node in now[:1] if _is_text(node)), *head, *gone]
    for node in now:
        if node not in found and (kept := _as_before(node, known, same, emptied)) and kept not in found:
            found.append(kept)
    return found or [ast.Pass()]


def _as_before(
    node: ast.stmt, known: Mapping[str, ast.stmt], same: Collection[str], emptied: _Emptied
) -> ast.stmt | None:
    """A statement as it was; if it is new, its names alone."""
    old = next((known[key] for key in _keys(node) if key in known), None)
    if isinstance(node, (*_IMPORT, ast.Pass)) or ast.dump(node) in same:
        return node
    if isinstance(node, FUNCTION):
        return _with_body_of(old, node) if isinstance(old, FUNCTION) else emptied.statements([node])[0]
    if isinstance(node, ast.ClassDef):
        return _merged_class(old, node, emptied) if isinstance(old, ast.ClassDef) else _stubbed(node, emptied)
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return old or _blanked(node, emptied)
    return emptied.statements([node])[0] if isinstance(node, _BLOCK) else None


def _keys(node: ast.stmt) -> tuple[str, ...]:
    """The names that a statement gives; a property's setter is another one than the property."""
    if isinstance(node, FUNCTION):
        roles = [mark.attr for mark in node.decorator_list if isinstance(mark, ast.Attribute)]
        return (".".join([node.name, *(role for role in roles if role in ("setter", "deleter"))]),)
    if isinstance(node, ast.ClassDef):
        return (node.name,)
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return tuple(one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name))


def _with_body_of(old: Function, new: Function) -> ast.stmt:
    found = deepcopy(new)
    found.body = old.body
    return found


def _merged_class(old: ast.ClassDef, new: ast.ClassDef, emptied: _Emptied) -> ast.stmt:
    outside, emptied.within = emptied.within, f"{emptied.within}{new.name}."
    new.body = _merged(old.body, new.body, emptied)
    emptied.within = outside
    return new


def _stubbed(node: ast.ClassDef, emptied: _Emptied) -> ast.stmt:
    """A new class whose methods do nothing, with whatever it is made, and whose values equal nothing."""
    marks = [mark for mark in node.decorator_list if last_name(mark) not in _WRITERS]
    bases = [base for base in node.bases if last_name(base) not in _WRITERS]
    is_written = len(marks) + len(bases) < len(node.decorator_list) + len(node.bases)
    node.decorator_list, node.bases = marks, bases
    node.keywords = [] if is_written else node.keywords
    body = [_blanked(one, emptied, is_field=True) if isinstance(one, ast.Assign | ast.AnnAssign) else one
            for one in node.body]  # fmt: skip
    has_own = any(isinstance(one, FUNCTION) and one.name == "__init__" for one in body)
    node.body = [*body, *(ast.parse(_INIT).body if is_written and not has_own else ())]
    before = len(emptied.functions)
    stub = emptied.visit_ClassDef(node)
    if is_written and not has_own:
        emptied.functions[before:] = [name for name in emptied.functions[before:] if not name.endswith(".__init__")]
    return stub


def _blanked(node: ast.Assign | ast.AnnAssign, emptied: _Emptied, *, is_field: bool = False) -> ast.stmt:
    """A new name for a value that equals nothing; what makes a type, or is another name for one, stays."""
    names, value = _keys(node), node.value
    is_type = isinstance(value, ast.Name | ast.Attribute | ast.Subscript | None)
    is_made = isinstance(value, ast.Call) and (is_field or last_name(value) in _MAKERS)
    if not names or is_type or is_made or names[0].startswith("__"):
        return node
    if isinstance(value, ast.Lambda):
        emptied.functions.append(f"{emptied.within}{names[0]}")
    node.value = _blank(names[0]) if emptied.says else ast.Constant(None)
    return node
