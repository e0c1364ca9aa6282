"""The rehearsal agent for scenarios in JSON, which starts in three quarters of the time, without YAML.

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


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    sys.modules["yaml"] = NoYaml("yaml")
    from ralphy.rehearsal.agent import main

    main()
