"""What the recipe asks of others, and the offline ways that need nobody."""
