"""Generated pages: tables of the README files, the page of the verifiers, the site."""
