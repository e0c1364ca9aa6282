"""Lanes: working trees of Ralphy's own, outside of the checkout, in which agents and checks run."""
