"""The engine's own SQL, statement by statement, in every order that two or three sessions can meet in."""
