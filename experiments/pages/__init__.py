"""Generated pages: the reference of the site, tables of the results, what commands print."""
