"""Settings: their values, where they are read from, and which of them may be trusted."""
