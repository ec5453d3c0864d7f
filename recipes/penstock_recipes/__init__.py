"""Complete applications, built on what any user of Penstock can import."""
