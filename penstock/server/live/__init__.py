"""Changes of jobs as they come: one look-up for all who watch."""
