"""`draftproof audit`."""
