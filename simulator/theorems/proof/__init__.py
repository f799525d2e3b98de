"""From the code of a verifier to a theorem: its law for all p and q on cells, and the balance on each."""
