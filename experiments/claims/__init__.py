"""Claims of papers, as statements that a test can refute: each claim has a card and a false variant."""
