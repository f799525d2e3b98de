"""`draftproof report`."""
