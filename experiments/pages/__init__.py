"""Generated pages: the README's tables and the reference page of the verifiers."""
