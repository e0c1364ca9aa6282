"""Does a candidate count? The baseline, the judges, and whether the tests still test."""
