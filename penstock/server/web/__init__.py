"""What a browser gets: the module `/penstock.js`, and the pages of applications."""
