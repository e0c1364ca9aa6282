"""Cheats and honest changes, as data, and what the judges say of each: `make cheats`."""
