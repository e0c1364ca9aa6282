"""What to do: pure decisions over plain values. No files, no clock, no git, no processes."""
