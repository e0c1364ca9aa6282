"""Tests as they are written: what each asserts, and what takes it out."""
