-- What collectors left of processes (schema/picture.h), as frames bring it: looks at a file, in
-- pieces, as of logs.
CREATE TABLE inbox_picture (
	id INTEGER PRIMARY KEY,
	run INTEGER NOT NULL REFERENCES inbox_run (id) ON DELETE CASCADE,
	exec TEXT NOT NULL,
	uid INTEGER NOT NULL,
	file TEXT NOT NULL,
	spool INTEGER NOT NULL,
	real_ns INTEGER,           -- when it was looked at first
	snapshot INTEGER NOT NULL, -- that is whole; -1: none is
	final INTEGER,             -- the first one after the end of its process
	UNIQUE (run, exec, uid, file)
) STRICT;

CREATE TABLE inbox_picture_piece (
	picture INTEGER NOT NULL REFERENCES inbox_picture (id) ON DELETE CASCADE,
	snapshot INTEGER NOT NULL,
	at INTEGER NOT NULL,
	n INTEGER NOT NULL,    -- bytes, unpacked
	size INTEGER NOT NULL, -- of the whole picture
	data BLOB NOT NULL,
	PRIMARY KEY (picture, snapshot, at)
) STRICT;
