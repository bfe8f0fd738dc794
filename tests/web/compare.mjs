// Are report.json and details.json what the records say? Compared with shape.mjs, which makes the same
// data in another way.    node compare.mjs FIXTURE_DIR REPORT_DIR
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { shape } from "./shape.mjs";

const [dir, report_dir] = process.argv.slice(2);

// Tables as rows, shared blocks in their place, numbers with the 15 digits that records carry.
function plain([grid, details]) {
	const rows = (t) => t.rows.map((r) => {
		const row = { ...t.same };
		t.columns.forEach((c, i) => { if (r[i] !== null) row[c] = r[i]; });
		return row;
	});
	const records = {}, history = {};
	for (const rec of details.records) {
		for (const [key, value] of Object.entries(rec))
			if (details.dict[key] && typeof value === "number")
				rec[key] = details.dict[key][value];
			else if (value?.rows && value?.columns)
				rec[key] = rows(value);
		records[rec.run_id] = rec;
	}
	for (const [run, table] of Object.entries(details.history))
		history[run] = rows(table);
	// The hashes of the records are not made a second time here.
	for (const app of grid.suites.flatMap((s) => s.apps))
		delete app.records;
	return JSON.parse(JSON.stringify({ grid, records, history }, (_, v) => (typeof v === "number" ? Number(v.toPrecision(15)) : v)));
}

const read = (name) => JSON.parse(readFileSync(join(report_dir, name), "utf8"));
const got = plain([read("report.json"), read("details.json")]), wanted = plain(shape(dir));
let differences = 0;

function compare(a, b, at) {
	if (differences > 20 || a === b)
		return;
	if (a && b && typeof a === "object" && typeof b === "object" && Array.isArray(a) === Array.isArray(b)) {
		for (const key of new Set([...Object.keys(a), ...Object.keys(b)]))
			compare(a[key], b[key], `${at}.${key}`);
		return;
	}
	differences++;
	console.log(`${at}: wanted ${JSON.stringify(a)?.slice(0, 200)}, got ${JSON.stringify(b)?.slice(0, 200)}`);
}

compare(wanted, got, "report");
process.exit(differences ? 1 : 0);
