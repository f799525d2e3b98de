"""`draftproof train-head`."""
