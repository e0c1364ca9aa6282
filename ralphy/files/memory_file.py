"""Files without a name: a program gets their descriptor, and nobody can change them."""

from __future__ import annotations

import fcntl
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO


@contextmanager
def sealed(data: bytes) -> Iterator[int]:
    """A descriptor from which these bytes are read.

    On Linux they are in memory, and cannot be opened for writing, by way of /proc either. Elsewhere they are in a
    temporary file, to which the same user can write.
    """
    if sys.platform == "linux":
        held: IO[bytes] = os.fdopen(os.memfd_create("ralphy", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING), "w+b")
    else:
        held = tempfile.TemporaryFile()  # noqa: SIM115 - closed below
    with held as file:
        file.write(data)
        file.flush()
        file.seek(0)
        if sys.platform == "linux":
            seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
            fcntl.fcntl(file, fcntl.F_ADD_SEALS, seals)
        yield file.fileno()
