"""What lies below the API: connections, and what a request may cost before anybody knows who sends it."""
