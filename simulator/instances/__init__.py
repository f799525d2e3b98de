"""Target and draft: processes, instances and their files, families, n-grams of a text, plans of path orders."""
