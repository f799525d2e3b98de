"""What is wrong with a refuted function: hypotheses, each tried before it is named."""
