"""Ralphy's own records: the journal with its chain, and kept streams."""
