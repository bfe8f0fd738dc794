-- Runs, and the grid kept beside them.

-- A cell of the grid: the latest ok run and the latest run of any status, with what the grid shows
-- of them, so that nobody has to look at the runs. Clustered by name, since that is how it is read.
-- Where the latest run is the ok one, the last_... columns but "last" itself are null.
CREATE TABLE cell (
	suite TEXT NOT NULL,
	app TEXT NOT NULL,
	case_name TEXT NOT NULL,
	platform TEXT NOT NULL,
	id INTEGER NOT NULL UNIQUE,
	runs INTEGER NOT NULL,
	ok INTEGER,
	ok_kind TEXT,
	ok_utc TEXT,
	ok_wall_s REAL,
	ok_cv REAL,
	ok_min_s REAL,
	ok_max_s REAL,
	ok_samples REAL,
	ok_process_wall_s REAL,
	ok_busy_frac REAL,
	ok_fom REAL,
	ok_caveats REAL,
	last INTEGER,
	last_kind TEXT,
	last_utc TEXT,
	last_wall_s REAL,
	last_cv REAL,
	last_min_s REAL,
	last_max_s REAL,
	last_samples REAL,
	last_process_wall_s REAL,
	last_busy_frac REAL,
	last_fom REAL,
	last_caveats REAL,
	last_status TEXT,
	PRIMARY KEY (suite, app, case_name, platform)
) STRICT, WITHOUT ROWID;

-- id is the run id as a number (schema/runid.h), so rows lie in order of time.
CREATE TABLE run (
	id INTEGER PRIMARY KEY,
	cell INTEGER NOT NULL REFERENCES cell (id),
	kind TEXT NOT NULL,
	utc TEXT,
	wall_s REAL,
	cv REAL,
	min_s REAL,
	max_s REAL,
	samples REAL,
	process_wall_s REAL,
	busy_frac REAL,
	fom REAL,
	caveats REAL,
	status TEXT NOT NULL,
	hash BLOB NOT NULL -- XXH3-128 of body and ops
) STRICT;

-- The only index that is not in order of time: 10 bytes a run. It ends in the run's id.
CREATE INDEX run_cell ON run (cell);

-- The records (schema/codec.h), apart, so that lists of runs do not wade through them. A blob that
-- begins as a zstd frame does is compressed; hash is over the plain bytes.
CREATE TABLE run_body (
	run INTEGER PRIMARY KEY REFERENCES run (id) ON DELETE CASCADE,
	body BLOB NOT NULL,
	ops BLOB -- null: the record has no list of operations
) STRICT;
