"""Tests that are made to fail, and code that is made to do nothing or something else."""
