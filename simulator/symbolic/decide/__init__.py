"""What is known about random numbers in one call, and the exact probability of every answer about them."""
