"""The doors for scripts and notebooks: the words of the command line, with objects or with text in every place."""
