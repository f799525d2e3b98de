"""The neural selector: which tree to draft, chosen for every block from what both models know before it."""
