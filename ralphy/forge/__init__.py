"""GitHub, through the program gh: pull requests and the push before them."""
