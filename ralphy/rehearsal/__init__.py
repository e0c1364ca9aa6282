"""A stand-in for the `claude` command: same flags, same stream-json, driven by a scenario file, at no cost.

It is a program of its own on the far side of the pipe, so its caller runs for real. Every run pays
its start-up, so modules are loaded where they are used, and values are NamedTuples: dataclasses load inspect.
"""
