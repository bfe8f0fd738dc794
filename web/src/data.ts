// The data of the report, as `roimeter report` writes them (docs/report.md tells the shape): the
// grid, and what stands behind a cell. That is in the page, or is asked of the daemon when it is shown.
// A field that is absent is null: not known. 0 is a number that was observed.
import { type Signal, signal } from "@preact/signals";
import type { Num } from "./format";

export interface Row { [key: string]: unknown }

// same: columns that have one value in all rows.
export interface Table { same?: Row; columns: string[]; rows: unknown[][] }

export interface RunRow {
	run_id: string; utc?: string; kind?: string; status: string;
	wall_s?: number; min_s?: number; max_s?: number; cv?: number; samples?: number;
	process_wall_s?: number; busy_frac?: number; fom?: number; caveats?: number; input_hash?: string;
}

// last: a later run, or the latest where none is ok. dots: thousandths of the median.
export interface Cell {
	runs: number;
	ok: Ok | null;
	last?: { run_id: string; status: string };
	spread?: number; two_levels?: boolean; unstable?: boolean; notable?: number; dots?: (number | null)[];
}
export interface Ok { run_id: string; kind?: string; wall_s?: number; share?: number; samples?: number; caveats?: number | null }

export interface Case { name: string; title?: string; declared: boolean; cells: (Cell | null)[] }
export interface App { name: string; cases: Case[] }
export interface Suite { name: string; apps: App[] }
export interface Platform { id: string; info: Row | null; conformance?: Result[] }
// Of a conformance test: the newest of a collector. fails: names of checks.
export interface Result {
	collector: string; verdict: string; utc: string; passed: number; failed: number; skipped: number; why?: string; fails?: string[];
}

export interface Report {
	schema: string; title: string; tool: string;
	platforms: Platform[];
	suites: Suite[];
}

// The records and histories of all cells, in a page that has no daemon.
interface Details { dict: { [name: string]: unknown[] }; records: Row[]; history: { [run_id: string]: Table } }

export interface Caveat { code: string; text: string }
export interface NullReason { field: string; why: string }

export interface Execution {
	name: string; order?: number; status?: string; why?: string; used?: boolean; exit_code?: number; signal?: number; utc?: string;
	process_wall_s?: number; roi_s?: number; pre_roi_s?: number; post_roi_s?: number; excluded_s?: number; entries?: number;
	processes?: number; unfinished?: number; imbalance_s?: number; steps?: number; fom?: number; own_timer_s?: number; output_tail?: string;
	[key: string]: unknown;
}

export interface Rank {
	execution: string; rank?: string | number; host?: string; pid?: string | number; roi_s?: number; gross_s?: number; excluded_s?: number;
	entries?: number; unterminated?: boolean; lost?: number; first_begin_s?: number; last_end_s?: number; steps?: number; cpus?: string;
	threads?: number;
}

export interface Phase { name: string; count?: number; total_s?: number; min_s?: number; max_s?: number; share?: number }
export interface Op { name: string; category?: string; count?: number; total_s?: number; avg_s?: number; min_s?: number; max_s?: number; share?: number }

type Values = { [key: string]: Num };

export interface Roi extends Row {
	wall_s?: number; runs_s?: number[]; warmup_runs_s?: number[]; min_s?: number; max_s?: number; stddev_s?: number; cv?: number;
	ci95_s?: number[]; ci95_coverage?: number; spread?: number; iqr?: number; stable?: boolean; stable_rule?: string;
	two_levels?: boolean; drift?: boolean; entries?: number; excluded_s?: number; excludes?: number; processes?: number;
	unfinished?: number; imbalance_s?: number; steps?: number; step_s?: number; step_min_s?: number; step_max_s?: number;
	step_p95_s?: number; profiled_wall_s?: number; profiler_inflation?: number; source?: string; timer?: string; setup_s?: number;
	entry_min_s?: number; entry_max_s?: number; folded?: number;
}

export interface Rec {
	run_id: string; suite: string; app: string; case: string; platform: string; kind?: string; utc?: string; status: string;
	status_text?: string;
	measurement: Row; inputs: Row & { argv?: string[]; env?: string[]; files?: string[]; ranks?: number; cwd?: string };
	roi: Roi; phases: Phase[]; device: Values & { per_device?: Row[] } | null; runtime_api: Row | null; ops: Op[]; ops_count: number; ops_scope?: string;
	io: Row | null; gap: Values | null; context: Row & { process_wall_s?: number; pre_roi_s?: number; post_roi_s?: number; between_s?: number; outside_region_s?: number };
	fom: { name?: string; value?: number; unit?: string; better?: string; runs?: number[]; status?: string; pattern?: string };
	own_timer: { value_s?: number; runs_s?: number[]; roi_diff_frac?: number; status?: string; pattern?: string };
	launcher: Row & { argv?: string[] }; placement: Row; platform_info: Row; provenance: Row; observer: Row;
	executions: Execution[]; ranks: Rank[]; ranks_count?: number; caveats: Caveat[]; nulls: NullReason[];
	json: Row;
}

export let report: Report;
let details: Details | null = null;
// What is computed from the report asks this, and is computed anew after each load.
const loads = signal(0);
export const is_loaded = (): boolean => loads.value > 0;

// One line is the grid; a second one, where there is one, the details.
export function load(text: string): void {
	const at = text.indexOf("\n");
	const data = JSON.parse(at < 0 ? text : text.slice(0, at)) as Report;
	if (data.schema !== "roimeter-report/2")
		throw new Error(`this page shows roimeter-report/2, and the data are ${data.schema}`);
	details = at >= 0 && text.slice(at + 1).trim() ? (JSON.parse(text.slice(at + 1)) as Details) : null;
	report = data;
	loads.value++;
}

export function rows_of<T>(table: unknown): T[] {
	const t = table as Table | undefined;
	if (!t)
		return [];
	return t.rows.map((r) => {
		const out: Row = { ...t.same };
		t.columns.forEach((c, i) => {
			if (r[i] !== null)
				out[c] = r[i];
		});
		return out as T;
	});
}

const SHARED = ["measurement", "launcher", "placement", "platform_info", "provenance", "caveats", "nulls"];
const TABLES = ["phases", "ops", "executions", "ranks"];
const OPS_MAX = 15, RANKS_MAX = 1024, FILES_MAX = 40, SERIES_MAX = 65;

function record_from(json: Row): Rec {
	return {
		measurement: {}, inputs: {}, roi: {}, phases: [], device: null, runtime_api: null, ops: [], ops_count: 0, io: null, gap: null,
		context: {}, fom: {}, own_timer: {}, launcher: {}, placement: {}, platform_info: {}, provenance: {}, observer: {}, executions: [],
		ranks: [], caveats: [], nulls: [], ...json, json,
	} as unknown as Rec;
}

// Of the page's own details: shared blocks and tables are put back.
function unfold(row: Row): Row {
	const json: Row = { ...row };
	for (const name of SHARED)
		if (typeof json[name] === "number")
			json[name] = details!.dict[name]![json[name] as number];
	for (const name of TABLES)
		if (json[name])
			json[name] = rows_of(json[name]);
	return json;
}

// Without nulls, and without blocks that are empty then.
function without_nulls(value: unknown): unknown {
	if (Array.isArray(value))
		return value.map(without_nulls);
	if (value === null || typeof value !== "object")
		return value;
	const out: Row = {};
	for (const [key, v] of Object.entries(value)) {
		const small = v === null ? null : without_nulls(v);
		if (small !== null && !(typeof small === "object" && !Array.isArray(small) && Object.keys(small as Row).length === 0))
			out[key] = small;
	}
	return out;
}

// As report/data.c does: the files with most bytes, and the bytes over time of the first processes.
function fold_io(json: Row): void {
	const io = json.io as { files?: Row[]; files_count?: number; series?: Row[]; series_count?: number } | undefined;
	for (const [list, count, max] of [["files", "files_count", FILES_MAX], ["series", "series_count", SERIES_MAX]] as const) {
		const n = io?.[list]?.length ?? 0;
		if (io && n > max) {
			io[count] = n;
			io[list] = io[list]!.slice(0, max);
		}
	}
}

// What the daemon sent, cut as `roimeter report` cuts it.
function fold(whole: Row): Row {
	const json = without_nulls(whole) as Row;
	const ops = json.ops as Row[] | undefined, ranks = json.ranks as Row[] | undefined;
	if (ops) {
		json.ops_count = ops.length;
		json.ops = ops.slice(0, OPS_MAX);
	}
	fold_io(json);
	const used = (json.executions as Execution[] | undefined)?.find((e) => e.used)?.name;
	if (ranks && ranks.length > RANKS_MAX && used) {
		json.ranks_count = ranks.length;
		json.ranks = ranks.filter((r) => r.execution === used);
	}
	return json;
}

async function ask(path: string): Promise<Row> {
	const answer = await fetch(`api/v1/${path}`, { headers: { Accept: "application/json" } });
	const json = (await answer.json().catch(() => null)) as Row | null;
	if (!answer.ok || !json)
		throw new Error(typeof json?.detail === "string" ? json.detail : `the daemon answered ${answer.status}`);
	return json;
}

// What is asked of the daemon by need. After each load it is asked again, as a record may have
// been put in another's place; what was there is shown meanwhile. undefined: under way.
type Late<T> = T | Error | undefined;
interface Asked<T> { value: Signal<Late<T>>; of: number }

function late<T>(cache: Map<string, Asked<T>>, key: string, get: () => Promise<T>): Late<T> {
	let one = cache.get(key);
	if (!one)
		cache.set(key, one = { value: signal<Late<T>>(undefined), of: 0 });
	if (one.of !== loads.value) {
		const mine = one, of = (one.of = loads.value);
		const arrived = (v: T | Error) => {
			if (mine.of === of)
				mine.value.value = v;
		};
		get().then(arrived, (e: unknown) => arrived(e instanceof Error ? e : new Error(String(e))));
	}
	return one.value.value;
}

const records = new Map<string, Asked<Rec>>(), histories = new Map<string, Asked<RunRow[]>>();
const own = new Map<string, Rec>();

export function record_of(run_id: string): Late<Rec> {
	if (!details)
		return late(records, run_id, async () => record_from(fold(await ask(`runs/${run_id}`))));
	const known = own.get(run_id), row = known ? null : details.records.find((r) => r.run_id === run_id);
	if (row)
		own.set(run_id, record_from(unfold(row)));
	return own.get(run_id) ?? new Error("The record of this run is not in this report.");
}

// Whether the bytes over time of a run come again and again, and what is in its capture: of the daemon;
// a report has the first with the record, and the folder of the second may be anywhere.
export interface Period { period_s?: number; frequency_hz?: number; error_s?: number; confidence?: number; why_not?: string }
export interface Capture { complete?: boolean; reason?: string; summary?: Row & { processes?: Row[] } }
const periods = new Map<string, Asked<Period>>(), captures = new Map<string, Asked<Capture>>();

export function period_of(rec: Rec): Late<Period> | null {
	const told = rec.io?.period as Period | undefined;
	if (told || details)
		return told ?? null;
	return late(periods, rec.run_id, async () => without_nulls(await ask(`runs/${rec.run_id}/period`)) as Period);
}

export function capture_of(rec: Rec): Late<Capture> | null {
	if (details || !rec.io?.capture)
		return null;
	return late(captures, rec.run_id, async () => without_nulls(await ask(`runs/${rec.run_id}/capture`)) as Capture);
}

export const HISTORY_MAX = 100;

export function history_of(cell: Cell, suite: string, app: string, name: string, platform: string): Late<RunRow[]> {
	if (details)
		return rows_of<RunRow>(details.history[shown_run(cell)]);
	const query = new URLSearchParams({ suite, app, case: name, platform, limit: String(HISTORY_MAX) }).toString();
	return late(histories, query, async () => ((await ask(`runs?${query}`)).runs as Row[]).map((r) => without_nulls(r) as RunRow));
}

// The run that a cell stands for.
export function shown_run(cell: Cell): string {
	return (cell.ok ?? cell.last!).run_id;
}

export function platform_info(p: Platform): Row {
	return p.info ?? {};
}

// Why a field is null: said for the field, or for a block around it.
export function why_null(rec: Rec, field: string): string | null {
	for (let name = field; name; name = name.slice(0, Math.max(0, name.lastIndexOf(".")))) {
		const found = rec.nulls.find((n) => n.field === name);
		if (found)
			return found.why;
	}
	return null;
}

export function find_case(suite: string, app: string, name: string): Case | null {
	return report.suites.find((s) => s.name === suite)?.apps.find((a) => a.name === app)?.cases.find((c) => c.name === name) ?? null;
}
