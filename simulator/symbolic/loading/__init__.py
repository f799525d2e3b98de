"""How the code under audit is found and imported, and what it can reach."""
