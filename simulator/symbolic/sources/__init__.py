"""Where random numbers come from: generators of Python, numpy and torch, recorded, and coins that are arguments."""
