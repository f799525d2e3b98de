"""`draftproof policies`."""
