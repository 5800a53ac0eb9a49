"""Makes the site of the documentation: ``python -m docs.making [FOLDER]``."""
