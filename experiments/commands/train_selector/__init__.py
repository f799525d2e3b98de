"""`draftproof train-selector`."""
