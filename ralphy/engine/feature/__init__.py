"""A feature on its branch and in the checkout: landing commits, the live documents, what was kept."""
