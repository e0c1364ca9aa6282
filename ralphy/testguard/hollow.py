"""Hollow code: functions that keep their names and do nothing, to ask what a test asks for beyond a name.

Python is read as a syntax tree, other languages as text (`ralphy.testguard.hollow_text`). The idea is that of
extreme mutation (Niedermayr, Juergens, Wagner, 2016): a method's whole body goes, not one operator.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from ralphy.testguard.hollow_text import Stubs, hollow_text, names_only_text
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

    def __bool__(self, *_):
        raise AssertionError(f"{self._of[0]} does nothing")

    __contains__ = __bool__

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
_NEEDED = frozenset(("__new__", "__hash__", "__init_subclass__", "__class_getitem__", "__set_name__", "__get__",
                     "__set__", "__setattr__", "__delattr__", "__getattribute__", "__prepare__",
                     "__del__"))  # fmt: skip
_LEAVING = frozenset(("__exit__", "__aexit__"))
# Bases that write a class's methods from its fields.
_WRITERS = ("NamedTuple", "BaseModel")
# A value that is written out.
_DATA = (ast.Constant, ast.Dict, ast.List, ast.Set, ast.Tuple, ast.BinOp, ast.UnaryOp, ast.JoinedStr, ast.Lambda,
         ast.DictComp, ast.ListComp, ast.SetComp)  # fmt: skip
_Assignment = ast.Assign | ast.AnnAssign


def hollow(path: str, data: bytes, *, says: bool = True) -> bytes | None:
    """A file whose functions do nothing; None if it has none, or its language is not known.

    A function that returned something `says` a value that equals nothing; without that, it returns None.
    """
    if not path.endswith(".py"):
        return hollow_text(path, data, says=says)
    tree = parsed(data)
    if tree is None:
        return None
    emptied = _Emptied(says)
    tree.body = [node for node in tree.body if not _is_blank(node)]
    tree = emptied.visit(tree)
    return _written(tree) if emptied.functions else None


def names_only(path: str, old: bytes | None, new: bytes, *, says: bool = True) -> Stubs | None:
    """A file as it is now, in which what is new has a name alone: functions that do nothing, values that equal nothing.
    What was there (`old`; None: no file) has its old body or value. None if no function is new."""
    if not path.endswith(".py"):
        return names_only_text(path, old, new, says=says)
    was, now = parsed(old or b""), parsed(new)
    if was is None or now is None:
        return None
    emptied = _Emptied(says, dict(_by_name(was.body)))
    tree = emptied.visit(now)
    origins = _origins(now)
    is_moved = any(origins.get(name) != origin for name, origin in _origins(was).items())
    return Stubs(_written(tree), tuple(emptied.functions), is_moved) if emptied.functions else None


def _origins(tree: ast.Module) -> dict[str, str]:
    """Where each name of a module comes from: what it is imported as, "" for what is defined in the module."""
    origins = dict.fromkeys((name for name, _ in _by_name(tree.body)), "")
    for node in _own(tree.body):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = f"{'.' * node.level}{node.module or ''}:" if isinstance(node, ast.ImportFrom) else ""
            origins |= {name.asname or name.name: f"{module}{name.name}" for name in node.names}
    return origins


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
    """Takes the bodies of functions away; `functions` are those that it emptied, `within` is the class around.

    What `was` there before keeps the body or the value that it had; without it, nothing does anything.
    """

    says: bool
    was: Mapping[str, ast.stmt] | None = None
    functions: list[str] = field(default_factory=list)
    within: str = ""

    def _before(self, name: str) -> ast.stmt | None:
        return self.was.get(f"{self.within}{name}") if self.was else None

    def visit_FunctionDef(self, node: Function) -> ast.stmt:
        old = self._before(_names(node)[0])
        if isinstance(old, FUNCTION):
            node.body = old.body
        elif node.name not in _NEEDED:
            self.functions.append(f"{self.within}{node.name}")
            node.body = [*node.body[: _is_text(node.body[0])], self._instead(node)]
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 - ast's names

    def _instead(self, node: Function) -> ast.stmt:
        own = list(_own(node.body))
        name = f"{self.within}{node.name}"
        value = _blank(name, "locals().values()") if self.says else ast.Constant(None)
        if any(isinstance(one, ast.Yield | ast.YieldFrom) for one in own):
            return ast.Expr(ast.Yield(value))
        returns = any(isinstance(one, ast.Return) and not _is_none(one.value) for one in own)
        return ast.Return(value) if returns and node.name not in _LEAVING else ast.Return(None)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        is_old = self._before(node.name) is not None
        is_bare = self.was is not None and not is_old and _take_writers(node)
        outside, self.within = self.within, f"{self.within}{node.name}."
        node.body = [cast("ast.stmt", self.visit(one)) for one in node.body]
        self.within = outside
        node.body += ast.parse(_INIT).body if is_bare else []
        methods = {one.name for one in node.body if isinstance(one, FUNCTION)}
        if not is_old and methods & {"__init__", "__getattr__"}:  # what it set can still be asked for
            node.body = [one for one in node.body if not (isinstance(one, FUNCTION) and one.name == "__getattr__")]
            node.body += ast.parse(_ATTRIBUTES).body
        return node

    def visit_Assign(self, node: _Assignment) -> ast.AST:
        """The value that it had; a new one that is written out equals nothing, one that is called or named stays."""
        names, value = _names(node), node.value
        if self.was is None or not names:
            return self.generic_visit(node)
        if (old := self._before(names[0])) is not None:
            return old
        if not isinstance(value, _DATA) or names[0].startswith("__"):
            return node
        if isinstance(value, ast.Lambda):
            self.functions.append(f"{self.within}{names[0]}")
        node.value = _blank(names[0]) if self.says else ast.Constant(None)
        return node

    visit_AnnAssign = visit_Assign  # noqa: N815 - ast's names

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        if self.was is None:
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


def _by_name(body: Sequence[ast.stmt], within: str = "") -> Iterator[tuple[str, ast.stmt]]:
    """The functions, classes and values of a module by their names (`Cart.total`)."""
    for node in _own(body):
        if isinstance(node, ast.stmt):
            yield from ((f"{within}{name}", node) for name in _names(node))
        if isinstance(node, ast.ClassDef):
            yield from _by_name(node.body, f"{within}{node.name}.")


def _names(node: ast.stmt) -> tuple[str, ...]:
    """The names that a statement gives; a property's setter is another one than the property."""
    if isinstance(node, FUNCTION):
        roles = [mark.attr for mark in node.decorator_list if isinstance(mark, ast.Attribute)]
        return (".".join([node.name, *(role for role in roles if role in ("setter", "deleter"))]),)
    if isinstance(node, ast.ClassDef):
        return (node.name,)
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return tuple(one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name))


def _take_writers(node: ast.ClassDef) -> bool:
    """Take away what may write a class's methods, its decorators and certain bases; does it lack an `__init__` then?"""
    bases = [base for base in node.bases if last_name(base) not in _WRITERS]
    if not node.decorator_list and len(bases) == len(node.bases):
        return False
    node.decorator_list, node.bases, node.keywords = [], bases, []
    return not any(isinstance(one, FUNCTION) and one.name == "__init__" for one in node.body)
