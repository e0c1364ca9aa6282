"""Do the tests that judge a story still test?

What was there before: `test_keys`, `tests_kept`, `surroundings`. What is made to fail, or to do nothing:
`spoiled_tests`, `hollow`, `hunks`. What a story wrote itself: `red_first`, `suspicions`.
"""
