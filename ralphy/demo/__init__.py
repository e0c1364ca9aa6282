"""The demonstration: a toy repository, and a run of the whole pipeline on it."""
