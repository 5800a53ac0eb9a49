"""What a package of somebody else adds to bnmf: one file each, one line each in pyproject.toml."""
