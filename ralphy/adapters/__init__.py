"""What Ralphy touches: one module for each outside thing."""
