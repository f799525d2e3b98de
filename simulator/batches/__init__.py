"""Batches: several requests whose drafted tokens share the slots of one target pass, and the cuts that share them."""
