"""What every page is framed by: the list of pages, links, the panel, charts, watching runs."""
