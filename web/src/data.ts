// The data of the report, as `roimeter report` writes them (docs/report.md tells the shape).
// A field that is absent is null: not known. 0 is a number that was observed.
import { signal } from "@preact/signals";
import type { Num } from "./format";

export interface Row { [key: string]: unknown }

// same: columns that have one value in all rows.
export interface Table { same?: Row; columns: string[]; rows: unknown[][] }

export interface RunRow {
	run_id: string; utc?: string; kind?: string; status: string;
	wall_s?: number; min_s?: number; max_s?: number; cv?: number; samples?: number;
	process_wall_s?: number; busy_frac?: number; fom?: number; caveats?: number;
}

export interface Cell {
	runs: number;
	ok: RunRow | null;
	last: RunRow;
	record: number | null;
	last_record: number | null;
	history: Table;
}

export interface Case { name: string; title?: string; declared: boolean; cells: (Cell | null)[] }
export interface App { name: string; cases: Case[] }
export interface Suite { name: string; apps: App[] }
export interface Platform { id: string; info: number | null }

export interface Report {
	schema: string; title: string; tool: string;
	platforms: Platform[];
	suites: Suite[];
	dict: { [name: string]: unknown[] };
	records: Row[];
}

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
	io: Values | null; gap: Values | null; context: Row & { process_wall_s?: number; pre_roi_s?: number; post_roi_s?: number; between_s?: number; outside_region_s?: number };
	fom: { name?: string; value?: number; unit?: string; better?: string; runs?: number[]; status?: string; pattern?: string };
	own_timer: { value_s?: number; runs_s?: number[]; roi_diff_frac?: number; status?: string; pattern?: string };
	launcher: Row & { argv?: string[] }; placement: Row; platform_info: Row; provenance: Row; observer: Row;
	executions: Execution[]; ranks: Rank[]; ranks_count?: number; caveats: Caveat[]; nulls: NullReason[];
	json: Row;
}

export let report: Report;
// What is computed from the report asks this, and is computed anew after each load.
const loads = signal(0);
export const is_loaded = (): boolean => loads.value > 0;

export function load(text: string): void {
	const data = JSON.parse(text) as Report;
	if (data.schema !== "roimeter-report/1")
		throw new Error(`this page shows roimeter-report/1, and the data are ${data.schema}`);
	report = data;
	cache.clear();
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
const cache = new Map<number, Rec>();

// The record with its shared blocks and tables put back.
export function record_at(index: number): Rec {
	const known = cache.get(index);
	if (known)
		return known;
	const json: Row = { ...report.records[index]! };
	for (const name of SHARED)
		if (typeof json[name] === "number")
			json[name] = report.dict[name]![json[name] as number];
	for (const name of TABLES)
		if (json[name])
			json[name] = rows_of(json[name]);
	const rec = {
		measurement: {}, inputs: {}, roi: {}, phases: [], device: null, runtime_api: null, ops: [], ops_count: 0, io: null, gap: null,
		context: {}, fom: {}, own_timer: {}, launcher: {}, placement: {}, platform_info: {}, provenance: {}, observer: {}, executions: [],
		ranks: [], caveats: [], nulls: [], ...json,
	} as unknown as Rec;
	rec.json = json;
	cache.set(index, rec);
	return rec;
}

// What the grid needs of a record, without putting it together.
export function roi_at(index: number | null): Roi {
	return index === null ? {} : ((report.records[index]!.roi as Roi | undefined) ?? {});
}

export function caveats_at(index: number | null): Caveat[] {
	const place = index === null ? undefined : report.records[index]!.caveats;
	return typeof place === "number" ? (report.dict.caveats![place] as Caveat[]) : [];
}

export function platform_info(p: Platform): Row {
	return p.info === null ? {} : (report.dict.platform_info![p.info] as Row);
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

export function history_rows(cell: Cell): RunRow[] {
	return rows_of<RunRow>(cell.history);
}

export function find_case(suite: string, app: string, name: string): Case | null {
	return report.suites.find((s) => s.name === suite)?.apps.find((a) => a.name === app)?.cases.find((c) => c.name === name) ?? null;
}
