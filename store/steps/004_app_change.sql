-- When an application's part of the grid was last changed, by whoever, as a number that only grows.
-- The greatest of them is the version of the whole; what comes after a version is what must be
-- looked at again. Kept by triggers, so that no way of writing can forget it. A row stays when its
-- application is gone: that is a change too.
CREATE TABLE app_change (
	suite TEXT NOT NULL,
	app TEXT NOT NULL,
	change INTEGER NOT NULL,
	PRIMARY KEY (suite, app)
) STRICT, WITHOUT ROWID;
INSERT INTO app_change
SELECT suite, app, row_number() OVER (ORDER BY suite, app)
FROM (SELECT suite, app FROM cell UNION SELECT suite, app FROM declared);
CREATE UNIQUE INDEX app_change_order ON app_change (change);

CREATE TRIGGER cell_changed AFTER UPDATE ON cell BEGIN
	INSERT INTO app_change
	VALUES (new.suite, new.app, (SELECT coalesce(max(change), 0) + 1 FROM app_change))
	ON CONFLICT (suite, app) DO UPDATE SET change = excluded.change;
END;
CREATE TRIGGER cell_added AFTER INSERT ON cell BEGIN
	INSERT INTO app_change
	VALUES (new.suite, new.app, (SELECT coalesce(max(change), 0) + 1 FROM app_change))
	ON CONFLICT (suite, app) DO UPDATE SET change = excluded.change;
END;
CREATE TRIGGER cell_removed AFTER DELETE ON cell BEGIN
	INSERT INTO app_change
	VALUES (old.suite, old.app, (SELECT coalesce(max(change), 0) + 1 FROM app_change))
	ON CONFLICT (suite, app) DO UPDATE SET change = excluded.change;
END;
CREATE TRIGGER declared_added AFTER INSERT ON declared BEGIN
	INSERT INTO app_change
	VALUES (new.suite, new.app, (SELECT coalesce(max(change), 0) + 1 FROM app_change))
	ON CONFLICT (suite, app) DO UPDATE SET change = excluded.change;
END;
CREATE TRIGGER declared_removed AFTER DELETE ON declared BEGIN
	INSERT INTO app_change
	VALUES (old.suite, old.app, (SELECT coalesce(max(change), 0) + 1 FROM app_change))
	ON CONFLICT (suite, app) DO UPDATE SET change = excluded.change;
END;
