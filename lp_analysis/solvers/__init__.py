"""How the bounds are found: prices by an interior-point method over levels, laws by column generation."""
