"""What jax computes with random numbers, primitive by primitive."""
