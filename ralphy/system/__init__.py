"""What differs between operating systems: each thing behind one door, with two ways behind it.

On Linux, `linux` and `linux_processes` use what only Linux has. On other systems, and on Linux with RALPHY_PORTABLE=1,
`portable` and `portable_processes` do the same with what every Unix has, and with psutil. `door` and `processes`
choose; nothing else asks which system this is, but for the sandbox, which is bubblewrap and so Linux only.
"""

from __future__ import annotations

import os
import sys

VARIABLE = "RALPHY_PORTABLE"
IS_PORTABLE = sys.platform != "linux" or os.environ.get(VARIABLE) == "1"
