"""Solvers of the bounds: an interior-point method over levels, and column generation."""
