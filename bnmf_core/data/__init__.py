"""Where data come from: files, shipped samples, downloads and generators."""
