"""How it runs: observe the feature folder, decide, act once, look again."""
