"""What is set up once, and what shows whether it works."""
