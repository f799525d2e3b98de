"""The exact law of a block: by enumeration, by structure, on a fixed tree, in low precision."""
