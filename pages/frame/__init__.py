"""What every page is framed by: admission, links, the shared panel, charts, watching runs."""
