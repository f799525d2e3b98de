"""Target and draft: processes, explicit rows and their files, families, n-grams of a text, plans of path orders."""
