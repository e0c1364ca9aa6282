"""Text as values: JSON, durations, plain text for terminals, and the tone of a word."""
