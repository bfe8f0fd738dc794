-- What suites declare, in their order, so that the grid can show what was never measured.
CREATE TABLE declared (
	suite TEXT NOT NULL,
	place INTEGER NOT NULL,
	app TEXT NOT NULL,
	case_name TEXT NOT NULL,
	title TEXT,
	PRIMARY KEY (suite, place),
	UNIQUE (suite, app, case_name)
) STRICT, WITHOUT ROWID;
