"""What a story itself wrote: its tests, and its code."""
