"""Is everything that could say no before still there, and around the tests still so?"""
