"""The only room with input and output: commands, real models, and what `import draftproof` offers."""
