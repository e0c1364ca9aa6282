"""A stand-in for the `claude` command: same flags, same stream-json, driven by a scenario file, at no cost."""
