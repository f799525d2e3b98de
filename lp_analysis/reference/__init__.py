"""The same optimum by independent roads: the direct program, cuts with an exact oracle."""
