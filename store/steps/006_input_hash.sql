-- What was measured, as a hash (inputs.input_hash of the record), so that a list of runs can tell where
-- another program or another input was. Null: not known; runs of before this step are not looked at
-- again.
ALTER TABLE run ADD COLUMN input_hash TEXT;
