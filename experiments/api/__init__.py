"""The Python interface for scripts and notebooks: the commands as functions of objects or texts."""
