"""What to do next, as pure decisions over plain values."""
