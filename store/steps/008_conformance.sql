-- Results of conformance tests; the newest of a platform and collector counts. body: bytes of the
-- block. A new one is a change of every application that has runs on that platform, since their
-- caveats and the badge change, and of the whole (the row without names), since a platform may have
-- nothing else.
CREATE TABLE conformance (
	platform TEXT NOT NULL,
	collector TEXT NOT NULL,
	utc TEXT NOT NULL,
	verdict TEXT NOT NULL,
	body BLOB NOT NULL,
	PRIMARY KEY (platform, collector, utc)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER conformance_added AFTER INSERT ON conformance BEGIN
	INSERT INTO app_change
	SELECT suite, app, (SELECT coalesce(max(change), 0) FROM app_change) + row_number() OVER ()
	FROM (SELECT DISTINCT suite, app FROM cell WHERE platform = new.platform
		UNION ALL SELECT '', '')
	WHERE true
	ON CONFLICT (suite, app) DO UPDATE SET change = excluded.change;
END;
