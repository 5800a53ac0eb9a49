"""Parts of the page Samples."""
