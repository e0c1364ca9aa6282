"""The rehearsal agent for scenarios in JSON that are known to be right: it starts in a third of the time.

Tests start it some thousand times. With -I and -S Python looks for no packages, and needs none.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType


class NoYaml(ModuleType):
    """In the place of PyYAML: no text is read, and no error is one of its own."""

    class YAMLError(Exception):
        pass


class NoSchema(ModuleType):
    """In the place of jsonschema: every scenario fits."""

    class Draft202012Validator:
        def __init__(self, schema: object) -> None:
            self.schema = schema

        def iter_errors(self, scenario: object) -> tuple[()]:
            return ()

    @staticmethod
    def best_match(errors: object) -> None:
        return None


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    sys.modules["yaml"] = NoYaml("yaml")
    sys.modules["jsonschema"] = sys.modules["jsonschema.exceptions"] = NoSchema("jsonschema")
    from ralphy.rehearsal.agent import main

    main()
