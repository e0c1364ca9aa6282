"""start, loop and watch: the drivers, and what they tell while they work."""
