"""The frame of every page: the list of pages, links, the panel, charts, watching runs."""
