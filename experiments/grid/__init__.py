"""Grids of tasks: each gives rows, which are kept in a store, resumed, and written to other files."""
