// Is report.json what the records say? Compared with shape.mjs, which makes the same data in
// another way.    node compare.mjs FIXTURE_DIR REPORT_JSON
import { readFileSync } from "node:fs";
import { shape } from "./shape.mjs";

const [dir, file] = process.argv.slice(2);

// Tables as rows, shared blocks in their place, numbers with the 15 digits that records carry.
function plain(report) {
	const rows = (t) => t.rows.map((r) => {
		const row = { ...t.same };
		t.columns.forEach((c, i) => { if (r[i] !== null) row[c] = r[i]; });
		return row;
	});
	for (const rec of report.records)
		for (const [key, value] of Object.entries(rec))
			if (report.dict[key] && typeof value === "number")
				rec[key] = report.dict[key][value];
			else if (value?.rows && value?.columns)
				rec[key] = rows(value);
	for (const cell of report.suites.flatMap((s) => s.apps).flatMap((a) => a.cases).flatMap((c) => c.cells))
		if (cell)
			cell.history = rows(cell.history);
	for (const p of report.platforms)
		p.info = report.dict.platform_info[p.info];
	delete report.dict;
	return JSON.parse(JSON.stringify(report, (_, v) => (typeof v === "number" ? Number(v.toPrecision(15)) : v)));
}

const got = plain(JSON.parse(readFileSync(file, "utf8"))), wanted = plain(shape(dir));
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
