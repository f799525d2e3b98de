"""Inside `generate` of transformers."""
