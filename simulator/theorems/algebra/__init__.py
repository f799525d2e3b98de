"""Polynomials, quotients, regions of them and decision trees, with a solver that says whether a region is empty."""
