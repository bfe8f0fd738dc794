-- What agents sent: which of their numbers came, and frames of runs that are not records yet.

-- The daemon's own clock: how long it has run. And up to which arrival the ledger is kept.
CREATE TABLE inbox_clock (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	age_ns INTEGER NOT NULL,
	folded INTEGER NOT NULL
) STRICT;
INSERT INTO inbox_clock VALUES (1, 0, 0);

-- Who numbers batches.
CREATE TABLE inbox_spool (
	id INTEGER PRIMARY KEY,
	agent TEXT NOT NULL,
	spool TEXT NOT NULL,
	host TEXT,
	boot TEXT,
	tool TEXT,
	first_real_ns INTEGER NOT NULL,
	last_real_ns INTEGER NOT NULL,
	to_ns INTEGER, -- of its newest batch, by its own clock
	last_seq INTEGER NOT NULL,
	batches INTEGER NOT NULL,
	self BLOB, -- its newest frame about itself
	self_ns INTEGER,
	UNIQUE (agent, spool)
) STRICT;

-- Each batch, in the order of arrival: the only row that a batch costs, at the end of a table.
-- Taken into the three tables below now and then, and deleted, but for those that hold context.
CREATE TABLE inbox_arrival (
	id INTEGER PRIMARY KEY,
	spool INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	sum INTEGER NOT NULL,
	real_ns INTEGER NOT NULL,
	from_ns INTEGER,
	to_ns INTEGER,
	batch BLOB -- as it came, where it holds context
) STRICT;

-- Each time that the ledger was brought up: to which arrival, and the context among them: how much,
-- and of which times, by its senders. By this context is found, and what is old goes.
CREATE TABLE inbox_fold (
	arrival INTEGER PRIMARY KEY, -- the last one
	first INTEGER NOT NULL,
	age_ns INTEGER NOT NULL,
	from_ns INTEGER NOT NULL,
	to_ns INTEGER NOT NULL,
	bytes INTEGER NOT NULL
) STRICT;

-- Numbers that came, without a hole between them.
CREATE TABLE inbox_span (
	spool INTEGER NOT NULL,
	first INTEGER NOT NULL,
	last INTEGER NOT NULL,
	from_ns INTEGER,
	to_ns INTEGER,
	PRIMARY KEY (spool, first)
) STRICT, WITHOUT ROWID;

-- Sums of the newest batches, 64 to a row, 8 bytes each (0: none), so that one that comes again is
-- told from another one of its number.
CREATE TABLE inbox_sums (
	spool INTEGER NOT NULL,
	block INTEGER NOT NULL,
	sums BLOB NOT NULL,
	PRIMARY KEY (spool, block)
) STRICT, WITHOUT ROWID;

-- Numbers that their sender says will never come.
CREATE TABLE inbox_gap (
	spool INTEGER NOT NULL,
	first INTEGER NOT NULL,
	last INTEGER NOT NULL,
	what TEXT,
	why TEXT,
	carried INTEGER NOT NULL, -- 1: the batch that said so has the last number, and nothing else
	from_ns INTEGER,
	to_ns INTEGER,
	real_ns INTEGER NOT NULL,
	PRIMARY KEY (spool, first, last)
) STRICT, WITHOUT ROWID;

-- What was lost without a number, or was not taken in.
CREATE TABLE inbox_loss (
	spool INTEGER NOT NULL,
	what TEXT NOT NULL,
	why TEXT NOT NULL,
	run TEXT NOT NULL, -- '': not known
	exec TEXT NOT NULL,
	count INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	from_ns INTEGER,
	to_ns INTEGER,
	text TEXT,
	ours INTEGER NOT NULL, -- 1: it came, and the daemon did not take it in
	real_ns INTEGER NOT NULL,
	PRIMARY KEY (spool, what, why, run, exec, ours)
) STRICT, WITHOUT ROWID;
CREATE INDEX inbox_loss_run ON inbox_loss (run) WHERE run <> '';

CREATE TABLE inbox_node (
	agent TEXT PRIMARY KEY,
	real_ns INTEGER NOT NULL,
	frame BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Runs, and groups of processes outside of runs.
CREATE TABLE inbox_run (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	ambient INTEGER NOT NULL,
	state INTEGER NOT NULL, -- 0 open, 1 stored, 2 failed, 3 late
	uid INTEGER NOT NULL,   -- -1 not known
	began_age_ns INTEGER NOT NULL,
	news_age_ns INTEGER NOT NULL,
	due_age_ns INTEGER,
	ended_age_ns INTEGER,
	closed_age_ns INTEGER,
	stored TEXT, -- run id of its record
	why TEXT,
	wants_node INTEGER -- spool of the agent whose node was not known when the record was made
) STRICT;
CREATE INDEX inbox_run_node ON inbox_run (wants_node) WHERE wants_node IS NOT NULL;
CREATE INDEX inbox_run_due ON inbox_run (due_age_ns) WHERE due_age_ns IS NOT NULL;
CREATE INDEX inbox_run_state ON inbox_run (state, id);

CREATE TABLE inbox_frame (
	run INTEGER NOT NULL REFERENCES inbox_run (id) ON DELETE CASCADE,
	type INTEGER NOT NULL,
	exec TEXT NOT NULL,
	uid INTEGER NOT NULL,
	spool INTEGER NOT NULL,
	weight INTEGER NOT NULL,
	real_ns INTEGER NOT NULL,
	frame BLOB NOT NULL,
	PRIMARY KEY (run, type, exec, uid)
) STRICT, WITHOUT ROWID;

-- Mark logs of processes.
CREATE TABLE inbox_log (
	id INTEGER PRIMARY KEY,
	run INTEGER NOT NULL REFERENCES inbox_run (id) ON DELETE CASCADE,
	exec TEXT NOT NULL,
	uid INTEGER NOT NULL,
	stream TEXT NOT NULL,
	spool INTEGER NOT NULL,
	snapshot INTEGER NOT NULL, -- that is whole; -1: none is
	final INTEGER,             -- the first one after its end
	steps REAL,     -- of its process that did most, at the newest look
	processes REAL, -- that stand in it
	UNIQUE (run, exec, uid, stream)
) STRICT;

-- How far processes are, as looks tell that bring no log.
CREATE TABLE inbox_progress (
	run INTEGER NOT NULL REFERENCES inbox_run (id) ON DELETE CASCADE,
	exec TEXT NOT NULL,
	stream TEXT NOT NULL,
	steps REAL NOT NULL,
	PRIMARY KEY (run, exec, stream)
) STRICT, WITHOUT ROWID;

-- What frames say about a process, the newest of those that leave the same fields unknown.
CREATE TABLE inbox_meta (
	log INTEGER NOT NULL REFERENCES inbox_log (id) ON DELETE CASCADE,
	mask INTEGER NOT NULL,
	snapshot INTEGER NOT NULL,
	frame BLOB NOT NULL,
	PRIMARY KEY (log, mask)
) STRICT, WITHOUT ROWID;

CREATE TABLE inbox_piece (
	log INTEGER NOT NULL REFERENCES inbox_log (id) ON DELETE CASCADE,
	snapshot INTEGER NOT NULL,
	at INTEGER NOT NULL,
	n INTEGER NOT NULL,    -- bytes, unpacked
	size INTEGER NOT NULL, -- of the whole log
	data BLOB NOT NULL,
	PRIMARY KEY (log, snapshot, at)
) STRICT;
