"""Files as Ralphy reads, writes, locks and walks them: bounded, atomic, and never through a link."""
