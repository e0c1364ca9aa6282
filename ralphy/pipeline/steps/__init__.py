"""The steps of the pipeline: an object each, and the table of them."""
