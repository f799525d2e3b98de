"""Drafts and targets with different tokenizers: strings, what is drafted on them, and checks of rules for them."""
