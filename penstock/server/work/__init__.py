"""Workers over HTTP: leases, claims, and what became of jobs."""
