-- Which of the lists that agents brought stands in declared, by suite: the newer one, and of one
-- time that with the larger sum, whatever the order in which they come.
CREATE TABLE inbox_declared (
	suite TEXT PRIMARY KEY,
	real_ns INTEGER NOT NULL,
	sum INTEGER NOT NULL -- XXH3-64 of the list
) STRICT, WITHOUT ROWID;
