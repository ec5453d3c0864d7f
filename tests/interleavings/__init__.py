"""Every order in which sessions can meet: of the engine's own SQL, statement by statement, and of a model of it."""
