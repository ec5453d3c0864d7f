"""What the tests of several recipes share."""
