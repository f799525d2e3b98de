"""From the text of a command line or a TOML file to objects: verifiers, schemes, sources, how laws are computed."""
