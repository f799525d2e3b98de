"""Commands, input and output, progress and pictures. The only room that reads files for people or prints."""
