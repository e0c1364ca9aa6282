"""What is known of checks: runners, their lists of tests, and what their output says."""
