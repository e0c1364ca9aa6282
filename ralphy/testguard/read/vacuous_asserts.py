"""Python's assertions and conditions that say nothing: they hold, or fail, whatever the code does."""

from __future__ import annotations

import ast

_PLAIN = frozenset(("assertTrue", "assertFalse", "assertEqual", "assertNotEqual", "assertIs", "assertIsNone",
                    "assertIsNotNone", "assertIn", "expect"))  # fmt: skip
_SAME = frozenset(("assertEqual", "assertEquals", "assertIs", "assertAlmostEqual", "assertLessEqual",
                   "assertGreaterEqual", "assertListEqual", "assertDictEqual", "assertSetEqual", "assertTupleEqual",
                   "assertCountEqual", "assertSequenceEqual", "assertMultiLineEqual", "assert_equal"))  # fmt: skip
_HOLDS = (ast.Eq, ast.Is, ast.LtE, ast.GtE)
_NEVER = (ast.NotEq, ast.IsNot, ast.Lt, ast.Gt)
_CONTAINERS = frozenset(("range", "list", "tuple", "set", "dict", "frozenset", "iter"))


def last_name(node: ast.AST) -> str:
    """The name, or the last one of a dotted one; of a call, of what is called."""
    node = node.func if isinstance(node, ast.Call) else node
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def is_constant(node: ast.AST) -> bool:
    return not any(isinstance(n, ast.Name | ast.Call | ast.Attribute | ast.Await) for n in ast.walk(node))


def is_vacuous(test: ast.expr) -> bool:
    """Can it not fail, whatever the code does?"""
    if is_constant(test) or isinstance(test, ast.Lambda | ast.GeneratorExp) or _has_parts(test):
        return True
    if isinstance(test, ast.BoolOp):
        each = [is_vacuous(value) for value in test.values]
        return any(each) if isinstance(test.op, ast.Or) else all(each)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _compares_itself(test.operand, _NEVER)
    return _compares_itself(test, _HOLDS)


def is_vacuous_call(call: ast.Call) -> bool:
    """`self.assertTrue(True)`, `expect(1)`: nothing but constants; `assertEqual(x, x)`, `assertTrue(x or True)`."""
    name, args = last_name(call), call.args
    if name in _PLAIN and args and all(map(is_constant, args)):
        return True
    if name in _SAME and len(args) > 1:
        return _are_same(args[0], args[1])
    return name == "assertTrue" and bool(args) and is_vacuous(args[0])


def is_never(test: ast.expr) -> bool:
    """Is a condition never met: `False`, `not True`, `1 == 2`, `x and False`?"""
    if isinstance(test, ast.BoolOp):
        each = [is_never(value) for value in test.values]
        return any(each) if isinstance(test.op, ast.And) else all(each)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and isinstance(test.operand, ast.Constant):
        return bool(test.operand.value)
    return not test.value if isinstance(test, ast.Constant) else is_constant(test)


def is_nothing(values: ast.expr) -> bool:
    """Does a loop over this never turn: `[]`, `{}`, `range(0)`, `list()`?"""
    if isinstance(values, ast.Call):
        return last_name(values) in _CONTAINERS and all(map(is_nothing, values.args))
    if isinstance(values, ast.List | ast.Tuple | ast.Set):
        return not values.elts
    if isinstance(values, ast.Dict):
        return not values.keys
    return isinstance(values, ast.Constant) and not values.value


def _has_parts(test: ast.expr) -> bool:
    """Is it a list and the like, or a text, that is never empty? Then it is true."""
    if isinstance(test, ast.Tuple | ast.List | ast.Set):
        return any(not isinstance(part, ast.Starred) for part in test.elts)
    if isinstance(test, ast.Dict):
        return any(key is not None for key in test.keys)
    return isinstance(test, ast.JoinedStr) and any(isinstance(part, ast.Constant) for part in test.values)


def _compares_itself(test: ast.expr, operators: tuple[type[ast.cmpop], ...]) -> bool:
    is_one = isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], operators)
    return isinstance(test, ast.Compare) and is_one and _are_same(test.left, test.comparators[0])


def _are_same(left: ast.expr, right: ast.expr) -> bool:
    """Are they one expression, or is one of them a mock's `ANY`, which equals everything?"""
    return ast.dump(left) == ast.dump(right) or "ANY" in (last_name(left), last_name(right))
