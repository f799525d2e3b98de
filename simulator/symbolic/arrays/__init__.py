"""Arrays of numpy with random numbers in them."""
