// Is report.json what the records say? Compared with shape.mjs, which makes the same data in
// another way.    node compare.mjs FIXTURE_DIR REPORT_JSON
import { readFileSync } from "node:fs";
import { shape } from "./shape.mjs";

const [dir, file] = process.argv.slice(2);
const got = JSON.parse(readFileSync(file, "utf8")), wanted = shape(dir);
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
