"""Drafts that are made for a target rather than trained beside it, each with the face of a model of transformers."""
