"""What sets the tree up, measures it, and writes its documentation."""
