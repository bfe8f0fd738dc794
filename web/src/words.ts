// Short words for the names that programs use.
const STATUS: { [status: string]: [string, string] } = {
	ok: ["ok", "A result."],
	clean_failed: ["failed", "A clean execution did not end well."],
	clean_timeout: ["timed out", "A clean execution did not end within its limit."],
	roi_missing: ["no region", "A clean execution never entered its region of interest."],
	timer_missing: ["no timer", "The application's own timer is not in its output, or not complete."],
	profiled_failed: ["profiling failed", "The execution under the collector did not end well."],
	roi_missing_in_profile: ["no region in profile", "The collector saw no region, although the clean executions had one."],
	interrupted: ["interrupted", "The run was ended from outside."],
};

export function status_word(status: string): string {
	return STATUS[status]?.[0] ?? status.replace(/_/g, " ");
}

export function status_meaning(status: string): string {
	return STATUS[status]?.[1] ?? "Not a result.";
}

// Caveats that every measurement of its kind has, or that have a mark of their own: they are told
// with the measurement, and do not mark its cell.
const ROUTINE = new Set(["not_profiled", "ci_not_95", "multi_process_roi", "conformance_missing", "imported_rounded", "imported_incomplete",
	"source_also_says", "operations_cut", "exit_unknown", "single_execution", "unstable", "two_levels", "drift"]);

export function is_routine(code: string): boolean {
	return ROUTINE.has(code);
}

const WHY: { [why: string]: string } = {
	not_supported: "nothing on this platform can observe it",
	no_permission: "not permitted",
	not_measured: "not measured",
	lost: "lost",
	not_comparable: "not comparable",
	too_few: "too few samples",
};

export function why_words(why: string | null): string {
	return why === null ? "not known" : (WHY[why] ?? why.replace(/_/g, " "));
}

export const CATEGORIES: [string, string][] = [
	["compute", "compute"],
	["copy_h2d", "copy, host to device"],
	["copy_d2h", "copy, device to host"],
	["copy_d2d", "copy, device to device"],
	["copy_other", "copy, other"],
	["fill", "fill"],
	["collective", "collective"],
	["other", "other"],
];

export function category_words(name: string): string {
	return CATEGORIES.find(([c]) => c === name)?.[1] ?? name.replace(/_/g, " ");
}

// "range of 3, covers the median with 75 %": the interval with what it is worth.
export function interval_words(n: number, low: number, high: number, min: number | undefined, max: number | undefined, coverage: number | undefined): string {
	const all = low === min && high === max;
	const cover = coverage === undefined ? "" : `, covers the median with ${(coverage * 100).toFixed(coverage > 0.9 ? 1 : 0)} %`;
	return `${all ? `range of ${n}` : `order-statistic interval of ${n}`}${cover}`;
}
