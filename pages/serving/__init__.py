"""What stands between a browser and the pages: who is asking, what may be loaded, is all well."""
