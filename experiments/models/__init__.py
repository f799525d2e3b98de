"""Real language models: train a small pair, load any pair, run verifiers on it. Needs the extra `models`."""
