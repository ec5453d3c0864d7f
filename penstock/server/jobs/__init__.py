"""Jobs over HTTP: start, look, list, cancel, retry."""
