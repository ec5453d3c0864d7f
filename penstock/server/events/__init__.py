"""What jobs wait for, told over HTTP."""
