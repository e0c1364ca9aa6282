"""Git: its commands, objects, refs, signatures and history, and the run lock."""
