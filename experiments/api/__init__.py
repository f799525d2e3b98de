"""The Python interface for scripts and notebooks: as the command line, with objects or texts as arguments."""
