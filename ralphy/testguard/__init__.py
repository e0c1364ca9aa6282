"""Whether the tests that judge a story still test: found by reading the code before and after."""
