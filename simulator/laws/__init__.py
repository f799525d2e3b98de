"""Laws: what one block hands over, exactly: by enumeration, by structure, on a fixed tree, in low precision."""
