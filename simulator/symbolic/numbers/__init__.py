"""Single random numbers and what can be done with them exactly."""
