// The data of the report, made a second time and independently from the C program: records and
// declared cases in, report.json and details.json out. Serves the page's own tests, and the comparison with what
// `roimeter report` writes.
import { readFileSync } from "node:fs";
import { join } from "node:path";

const DICT = ["measurement", "launcher", "placement", "platform_info", "provenance", "caveats", "nulls"];
const TABLES = ["phases", "ops", "executions", "ranks"];
const HISTORY = ["run_id", "utc", "kind", "status", "wall_s", "min_s", "max_s", "samples", "fom", "caveats", "input_hash"];
export const OPS_SHOWN = 15;
const DOTS_COLUMNS = 2;
// Caveats that do not mark a cell.
const ROUTINE = ["not_profiled", "ci_not_95", "multi_process_roi", "conformance_missing", "imported_rounded", "imported_incomplete",
	"source_also_says", "operations_cut", "exit_unknown", "single_execution", "unstable", "two_levels", "drift"];

function without_nulls(value) {
	if (Array.isArray(value))
		return value.map(without_nulls);
	if (value === null || typeof value !== "object")
		return value;
	const out = {};
	for (const [k, v] of Object.entries(value)) {
		const w = without_nulls(v);
		const empty = w !== null && typeof w === "object" && !Array.isArray(w) && Object.keys(w).length === 0;
		if (w !== null && w !== undefined && !empty)
			out[k] = w;
	}
	return out;
}

function table(rows) {
	const columns = [];
	for (const row of rows)
		for (const k of Object.keys(row))
			if (!columns.includes(k))
				columns.push(k);
	const same = {};
	for (const c of columns)
		if (rows.length > 1 && rows.every((r) => c in r && JSON.stringify(r[c]) === JSON.stringify(rows[0][c])))
			same[c] = rows[0][c];
	const left = columns.filter((c) => !(c in same));
	return { ...(Object.keys(same).length ? { same } : {}), columns: left, rows: rows.map((r) => left.map((c) => r[c] ?? null)) };
}

function run_row(rec) {
	return without_nulls({
		run_id: rec.run_id, utc: rec.utc, kind: rec.kind, status: rec.status, wall_s: rec.roi?.wall_s, min_s: rec.roi?.min_s,
		max_s: rec.roi?.max_s, cv: rec.roi?.cv, samples: rec.measurement?.cleans_used, process_wall_s: rec.context?.process_wall_s,
		busy_frac: rec.device?.busy_frac_of_roi, fom: rec.fom?.value, caveats: rec.caveats?.length ?? 0,
		input_hash: rec.inputs?.input_hash,
	});
}

// What a cell shows: of its latest ok run, and that there is a later one.
function cell_of(runs, dots) {
	const ok = runs.find((r) => r.status === "ok"), last = runs[0], shown = ok ?? last, roi = shown.roi ?? {};
	const row = ok && run_row(ok);
	const four = (x) => Number(x.toPrecision(4));
	const notable = (shown.caveats ?? []).filter((c) => !ROUTINE.includes(c.code)).length;
	return {
		runs: runs.length,
		ok: ok ? {
			run_id: row.run_id, ...(row.kind === "measured" ? {} : { kind: row.kind }), wall_s: row.wall_s,
			...(row.process_wall_s ? { share: four(row.wall_s / row.process_wall_s) } : {}),
			...(row.samples === undefined ? {} : { samples: row.samples }), ...(row.caveats ? { caveats: row.caveats } : {}),
		} : null,
		...(last !== ok ? { last: { run_id: last.run_id, status: last.status } } : {}),
		...(roi.spread != null ? { spread: four(roi.spread) } : {}),
		...(roi.two_levels ? { two_levels: true } : {}),
		...(roi.stable === false || roi.drift ? { unstable: true } : {}),
		...(notable ? { notable } : {}),
		...(dots && roi.runs_s?.length > 1 ? { dots: roi.runs_s.map((x) => (x / roi.wall_s - 1) * 1000).map((x) => Math.sign(x) * Math.round(Math.abs(x))) } : {}),
	};
}

export function natural(a, b) {
	const pa = a.match(/\d+|\D+/g) ?? [], pb = b.match(/\d+|\D+/g) ?? [];
	for (let i = 0; i < Math.min(pa.length, pb.length); i++) {
		const na = /^\d/.test(pa[i]), nb = /^\d/.test(pb[i]);
		if (na && nb && Number(pa[i]) !== Number(pb[i]))
			return Number(pa[i]) - Number(pb[i]);
		if (pa[i] !== pb[i] && !(na && nb))
			return pa[i] < pb[i] ? -1 : 1;
	}
	return pa.length - pb.length || (a < b ? -1 : a > b ? 1 : 0);
}

export function shape(dir, title = "Roimeter report") {
	const records = readFileSync(join(dir, "records.jsonl"), "utf8").trim().split("\n").map((l) => JSON.parse(l));
	const declared = readFileSync(join(dir, "declared.tsv"), "utf8").trim().split("\n").map((l) => l.split("\t"));
	const out = { schema: "roimeter-report/2", title, tool: "roimeter 0.1.0", platforms: [], suites: [] };
	const details = { dict: {}, records: [], history: {} };
	const seen = {}, shown_runs = [];
	const intern = (name, value) => {
		seen[name] ??= new Map();
		details.dict[name] ??= [];
		const key = JSON.stringify(value);
		if (!seen[name].has(key)) {
			seen[name].set(key, details.dict[name].length);
			details.dict[name].push(value);
		}
		return seen[name].get(key);
	};
	const add_record = (rec) => {
		const r = without_nulls(rec);
		if (r.ops) {
			r.ops_count = r.ops.length;
			r.ops = r.ops.slice(0, OPS_SHOWN);
		}
		for (const name of TABLES)
			if (r[name])
				r[name] = table(r[name]);
		for (const name of DICT)
			if (r[name])
				r[name] = intern(name, r[name]);
		details.records.push(r);
	};
	const platforms = [...new Set(records.map((r) => r.platform))].sort();
	const suites = [...new Set([...records.map((r) => r.suite), ...declared.map((d) => d[0])])].sort();
	for (const suite of suites) {
		const rows = declared.filter((d) => d[0] === suite).map((d) => ({ app: d[1], name: d[2], title: d[3], declared: true }));
		const extra = new Map();
		for (const r of records)
			if (r.suite === suite && !rows.some((d) => d.app === r.app && d.name === r.case))
				extra.set(`${r.app}/${r.case}`, { app: r.app, name: r.case, declared: false });
		rows.push(...[...extra.values()].sort((a, b) => natural(a.app, b.app) || natural(a.name, b.name)));
		const apps = [];
		for (const row of rows) {
			let app = apps.find((a) => a.name === row.app);
			if (!app)
				apps.push((app = { name: row.app, cases: [] }));
			app.cases.push({ name: row.name, ...(row.title ? { title: row.title } : {}), declared: row.declared, cells: platforms.map((platform) => {
				const runs = records.filter((r) => r.suite === suite && r.app === row.app && r.case === row.name && r.platform === platform)
					.sort((a, b) => (a.run_id < b.run_id ? 1 : -1));
				if (!runs.length)
					return null;
				const ok = runs.find((r) => r.status === "ok"), last = runs[0], shown = ok ?? last;
				shown_runs.push(shown);
				add_record(shown);
				if (last !== shown)
					add_record(last);
				details.history[shown.run_id] = table(runs.slice(0, 100).map((r) => { const w = run_row(r); return Object.fromEntries(HISTORY.filter((c) => c in w).map((c) => [c, w[c]])); }));
				return cell_of(runs, platforms.length <= DOTS_COLUMNS);
			}) });
		}
		out.suites.push({ name: suite, apps });
	}
	out.platforms = platforms.map((id) => {
		const newest = shown_runs.filter((r) => r.platform === id && r.platform_info).sort((a, b) => (a.run_id < b.run_id ? 1 : -1))[0];
		return { id, info: newest ? without_nulls(newest.platform_info) : null };
	});
	return [out, details];
}
