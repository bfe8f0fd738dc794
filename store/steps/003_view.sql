-- For people with the sqlite3 shell; programs do not use it.
CREATE VIEW runs AS
SELECT strftime('%Y%m%dT%H%M%SZ', (run.id >> 32) + 2147483648, 'unixepoch') || '-' ||
	printf('%08x', run.id & 4294967295) AS run_id,
	suite, app, case_name AS "case", platform, kind, utc, status, wall_s, cv, min_s, max_s, samples,
	process_wall_s, busy_frac, fom, caveats
FROM run JOIN cell ON cell.id = run.cell;
