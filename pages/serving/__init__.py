"""What stands between a browser and the pages: who is asking, what a browser may do, is all well."""
