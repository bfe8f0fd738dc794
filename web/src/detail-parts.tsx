// Parts of a measurement that only some records have.
import { signal } from "@preact/signals";
import { type Rank, type Rec, type Row, why_null } from "./data";
import * as f from "./format";
import { Null } from "./history";
import { RankStrip } from "./strip";
import { CATEGORIES, category_words, why_words } from "./words";

const RANKS_SHOWN = 16;
const chosen = signal<{ run: string; execution: string; all: boolean }>({ run: "", execution: "", all: false });

function rank_name(r: Rank): string {
	return r.rank === undefined ? `pid ${r.pid ?? "?"}` : `rank ${r.rank}`;
}

// Numbers of ranks by value, whatever form the log had them in.
function by_rank(a: Rank, b: Rank): number {
	return Number(a.rank ?? NaN) - Number(b.rank ?? NaN) || 0;
}

export function RanksCard({ rec }: { rec: Rec }) {
	const executions = [...new Set(rec.ranks.map((r) => r.execution))];
	const many = executions.some((e) => rec.ranks.filter((r) => r.execution === e).length > 1);
	if (!many)
		return null;
	// The execution nearest to the headline, unless the reader chose another.
	const used = rec.executions.filter((e) => e.used && e.roi_s !== undefined);
	const nearest = [...used].sort((a, b) => Math.abs(a.roi_s! - (rec.roi.wall_s ?? 0)) - Math.abs(b.roi_s! - (rec.roi.wall_s ?? 0)))[0]?.name;
	const state = chosen.value.run === rec.run_id ? chosen.value : { run: rec.run_id, execution: nearest ?? executions[0]!, all: false };
	const ranks = rec.ranks.filter((r) => r.execution === state.execution).sort(by_rank);
	const timed = ranks.filter((r) => r.roi_s !== undefined && !r.unterminated);
	const high = Math.max(...timed.map((r) => r.roi_s!)), low = Math.min(...timed.map((r) => r.roi_s!));
	const slowest = timed.findIndex((r) => r.roi_s === high);
	const shown = state.all ? ranks : ranks.slice(0, RANKS_SHOWN);
	const has = (key: keyof Rank) => ranks.some((r) => r[key] != null && r[key] !== 0 && r[key] !== false);
	return (
		<section class="card wide" id="ranks">
			<h3>Processes <span class="dim">{f.plural(ranks.length, "process", "processes")}</span>
				<label class="pick">of <select value={state.execution} onChange={(e) => { chosen.value = { ...state, execution: e.currentTarget.value }; }}>
					{executions.map((e) => <option key={e} value={e}>{e}</option>)}
				</select></label>
			</h3>
			{timed.length ? <>
				<RankStrip ranks={timed.map((r) => ({ label: rank_name(r), seconds: r.roi_s! }))} slowest={slowest} />
				<p class="note">Slowest: <b>{rank_name(timed[slowest]!)}</b>, {f.seconds(high)}. Fastest: {f.seconds(low)}. Imbalance {f.seconds(high - low)}, {f.percent((high - low) / high)} of the slowest.
					{timed.length < ranks.length ? ` ${f.plural(ranks.length - timed.length, "process", "processes")} did not finish.` : ""}</p>
			</> : <p class="note">No process finished its region.</p>}
			<div class="scroll" tabIndex={0} role="region" aria-label="Table of processes">
				<table class="data">
					<thead><tr><th scope="col">Process</th><th scope="col">Host</th><th scope="col" class="n">Region</th>{has("excluded_s") ? <th scope="col" class="n">Excluded</th> : null}<th scope="col" class="n">Entries</th><th scope="col" class="n">First begin</th><th scope="col" class="n">Last end</th>{has("steps") ? <th scope="col" class="n">Steps</th> : null}{has("lost") ? <th scope="col" class="n">Lost</th> : null}<th scope="col">CPUs</th><th scope="col" class="n">Threads</th></tr></thead>
					<tbody>
						{shown.map((r, i) => (
							<tr key={i} class={r === timed[slowest] ? "now" : undefined}>
								<th scope="row">{rank_name(r)}{r === timed[slowest] ? <span class="tag">slowest</span> : null}{r.unterminated ? <span class="tag bad">never ended</span> : null}</th>
								<td>{r.host ?? <Null />}</td>
								<td class="n">{r.roi_s === undefined ? <Null /> : <span title={f.exact(r.roi_s)}>{f.seconds(r.roi_s)}</span>}</td>
								{has("excluded_s") ? <td class="n">{r.excluded_s === undefined ? <Null /> : f.seconds(r.excluded_s)}</td> : null}
								<td class="n">{r.entries === undefined ? <Null /> : f.count(r.entries)}</td>
								<td class="n">{r.first_begin_s === undefined ? <Null /> : f.seconds(r.first_begin_s)}</td>
								<td class="n">{r.last_end_s === undefined ? <Null /> : f.seconds(r.last_end_s)}</td>
								{has("steps") ? <td class="n">{r.steps === undefined ? <Null /> : f.count(r.steps)}</td> : null}
								{has("lost") ? <td class="n">{r.lost === undefined ? <Null /> : f.count(r.lost)}</td> : null}
								<td>{r.cpus ?? <Null />}</td>
								<td class="n">{r.threads === undefined ? <Null /> : f.count(r.threads)}</td>
							</tr>
						))}
					</tbody>
				</table>
			</div>
			{rec.ranks_count ? <p class="note">The processes of {state.execution} are in this report; the record has {f.count(rec.ranks_count)} rows.</p> : null}
			{shown.length < ranks.length ? <p class="buttons"><button type="button" onClick={() => { chosen.value = { ...state, all: true }; }}>Show all {ranks.length}</button></p> : null}
		</section>
	);
}

export function StepsCard({ rec }: { rec: Rec }) {
	const { roi } = rec;
	if (!roi.steps)
		return null;
	const at = (v: number | undefined) => (v === undefined ? <Null why={why_words(why_null(rec, "roi.step_s"))} /> : <span title={f.exact(v)}>{f.seconds(v)}</span>);
	return (
		<section class="card" id="steps">
			<h3>Steps <span class="dim">{f.count(roi.steps)}</span></h3>
			<dl class="facts">
				<dt>mean</dt><dd>{at(roi.step_s)}</dd>
				{roi.step_min_s !== undefined || roi.step_max_s !== undefined ? <>
					<dt>shortest</dt><dd>{at(roi.step_min_s)}</dd>
					<dt>95 % not longer than</dt><dd>{at(roi.step_p95_s)}</dd><dt>longest</dt><dd>{at(roi.step_max_s)}</dd>
				</> : <><dt>each step</dt><dd><Null why={why_words(why_null(rec, "roi.step_min_s"))} /></dd></>}
			</dl>
		</section>
	);
}

function Share({ of }: { of: number | undefined }) {
	return of === undefined ? <Null /> : <span class="inbar"><b>{f.percent(of)}</b><span><i style={{ width: `${Math.min(100, 100 * of)}%` }} /></span></span>;
}

export function PhasesCard({ rec }: { rec: Rec }) {
	if (!rec.phases.length)
		return null;
	const timer = rec.roi.source === "timer";
	const columns = ([["count", "Count", f.count], ["min_s", "Shortest", f.seconds], ["max_s", "Longest", f.seconds]] as const)
		.filter(([key]) => rec.phases.some((p) => p[key] !== undefined));
	return (
		<section class="card wide" id="phases">
			<h3>{timer ? "Parts that the timer reports" : "Phases"} {timer ? null : <span class="dim">of the process that spent the most</span>}</h3>
			<div class="scroll" tabIndex={0} role="region" aria-label="Table of phases">
				<table class="data">
					<thead><tr><th scope="col">{timer ? "Part" : "Phase"}</th><th scope="col">Share of the region</th><th scope="col" class="n">Total</th>{columns.map(([key, name]) => <th scope="col" class="n" key={key}>{name}</th>)}</tr></thead>
					<tbody>{rec.phases.map((p, i) => (
						<tr key={i}><th scope="row">{p.name}</th><td class="bars"><Share of={p.share} /></td>
							<td class="n">{p.total_s === undefined ? <Null /> : f.seconds(p.total_s)}</td>
							{columns.map(([key, , show]) => <td class="n" key={key}>{p[key] === undefined ? <Null /> : show(p[key])}</td>)}</tr>
					))}</tbody>
				</table>
			</div>
		</section>
	);
}

type Numbers = { [key: string]: f.Num };

// What the device did by kind of work; path is where it stands in the record.
function Categories({ rec, d, path }: { rec: Rec; d: Numbers; path: string }) {
	if (!CATEGORIES.some(([c]) => d[`${c}_s`] != null))
		return null;
	const unions = CATEGORIES.some(([c]) => d[`${c}_busy_s`] != null);
	return (
		<div class="scroll" tabIndex={0} role="region" aria-label="Table of device categories">
			<table class="data">
				<thead><tr><th scope="col">Category</th><th scope="col">Share of all operations</th>{unions ? <th scope="col" class="n" title="Time in which at least one of them was at work">Busy</th> : null}<th scope="col" class="n">Time</th><th scope="col" class="n">Operations</th><th scope="col" class="n">Bytes</th>{unions ? <th scope="col" class="n" title="Bytes by busy time">Rate</th> : null}</tr></thead>
				<tbody>{CATEGORIES.map(([c, words]) => {
					const s = d[`${c}_s`], why = why_null(rec, `${path}.${c}_s`);
					if (s == null)
						return <tr key={c}><th scope="row">{words}</th><td colSpan={unions ? 6 : 4} class="dim why"><Null why={why_words(why)} /> not observable ({why_words(why)})</td></tr>;
					const n = d[`${c}_ops`], b = d[`${c}_bytes`], busy = d[`${c}_busy_s`];
					const moves = c.startsWith("copy") || c === "fill";
					return (
						<tr key={c} class={n === 0 ? "dim" : undefined}><th scope="row">{words}</th><td class="bars">{d.op_time_sum_s && s ? <Share of={s / d.op_time_sum_s} /> : null}</td>
							{unions ? <td class="n">{busy == null ? <Null /> : <span title={f.exact(busy)}>{f.seconds(busy)}</span>}</td> : null}<td class="n" title={f.exact(s)}>{f.seconds(s)}</td>
							<td class="n">{n == null ? <Null /> : f.count(n)}</td><td class="n">{b == null ? <span class="dim">{moves ? <Null /> : "–"}</span> : f.si(b, "B")}</td>
							{unions ? <td class="n">{b && busy ? f.si(b / busy, "B/s") : <span class="dim">–</span>}</td> : null}</tr>
					);
				})}</tbody>
			</table>
		</div>
	);
}

function Devices({ rows }: { rows: Row[] | undefined }) {
	if (!rows?.length)
		return null;
	const has = (key: string) => rows.some((r) => r[key] != null);
	const time = (v: unknown) => (v == null ? <Null /> : <span title={f.exact(v as number)}>{f.seconds(v as number)}</span>);
	return (
		<div class="scroll" tabIndex={0} role="region" aria-label="Table of devices">
			<table class="data">
				<thead><tr><th scope="col">Device</th>{has("host") ? <th scope="col">Host</th> : null}{has("busy_frac") ? <th scope="col">Busy share</th> : null}<th scope="col" class="n">Busy</th>{has("idle_s") ? <th scope="col" class="n">Idle</th> : null}<th scope="col" class="n">Processes</th></tr></thead>
				<tbody>{rows.map((r, i) => (
					<tr key={i}><th scope="row" title={r.id == null ? undefined : String(r.id)}>{String(r.device ?? r.id ?? i)}</th>{has("host") ? <td>{r.host == null ? <Null /> : String(r.host)}</td> : null}
						{has("busy_frac") ? <td class="bars"><Share of={(r.busy_frac as number | null) ?? undefined} /></td> : null}<td class="n">{time(r.busy_s)}</td>
						{has("idle_s") ? <td class="n">{time(r.idle_s)}</td> : null}<td class="n">{r.processes == null ? <Null /> : f.count(r.processes as number)}</td></tr>
				))}</tbody>
			</table>
		</div>
	);
}

const ODD: [string, string][] = [["untimed_ops", "operations without a usable time"], ["dropped_ops", "operations that the collector lost"],
	["late_ops", "operations too late for the unions"], ["pending_ops", "operations that never ended"], ["graphs", "graphs seen as a whole"]];

function Calls({ rec }: { rec: Rec }) {
	const a = rec.runtime_api;
	if (!a)
		return null;
	const whole = a.calls == null, of = (key: string) => a[whole ? `whole_${key}` : key] as f.Num;
	if (of("calls") == null)
		return null;
	return <><dt>Calls of {String(a.name ?? "the runtime")}</dt><dd>{f.count(of("calls"))} <span class="dim">in {f.seconds(of("time_s"))}; {f.count(of("sync_calls"))} of them wait for the device, {f.seconds(of("sync_s"))}{whole ? "; in the whole process" : ""}</span></dd></>;
}

// A trace without a region: all that it saw.
function WholeCard({ rec }: { rec: Rec }) {
	const w = rec.context.whole_process as Numbers & { per_device?: Row[] } | null | undefined;
	if (!w || w.busy_s == null)
		return null;
	return (
		<section class="card wide" id="device">
			<h3>Device <span class="dim">in the whole process; no region is known</span></h3>
			<dl class="facts across">
				<dt>Busy</dt><dd><span title={f.exact(w.busy_s)}>{f.seconds(w.busy_s)}</span></dd>
				<dt>Sum of operations</dt><dd>{f.seconds(w.op_time_sum_s)}</dd>
				<Calls rec={rec} />
			</dl>
			<Categories rec={rec} d={w} path="context.whole_process" />
			<Devices rows={w.per_device} />
		</section>
	);
}

export function DeviceCard({ rec }: { rec: Rec }) {
	const d = rec.device;
	if (!d)
		return <WholeCard rec={rec} />;
	const time = (field: string) => {
		const v = d[field];
		return v == null ? <Null why={why_words(why_null(rec, `device.${field}`))} /> : <span title={f.exact(v)}>{f.seconds(v)}</span>;
	};
	const shares = [[d.busy_frac_of_roi, "clean region"], [d.busy_frac_of_profiled_roi, "profiled one"]] as const;
	const told = shares.filter(([x]) => x != null).map(([x, of], i) => `${f.percent(x)} of the ${i ? of : of.replace("profiled one", "profiled region")}`);
	const detailed = CATEGORIES.some(([c]) => d[`${c}_s`] != null);
	const several = (d.processes ?? 1) > 1 || (d.per_device?.length ?? 0) > 1;
	const execution = (d as Row).execution, incomplete = (d as Row).incomplete === true;
	return (
		<section class="card wide" id="device">
			<h3>Device <span class="dim">inside the region{execution == null ? "" : `, in ${String(execution)}`}</span>{incomplete ? <span class="tag bad" title="Something is known to be missing; the caveats say what.">incomplete</span> : null}</h3>
			<dl class="facts across">
				<dt>Busy</dt><dd>{d.busy_s == null && d.busy_frac_of_roi != null ? null : time("busy_s")} <span class="dim">{told.join(", ")}</span></dd>
				<dt>Idle, host</dt><dd>{d.host_gap_s == null && d.host_gap_frac_of_roi != null ? null : time("host_gap_s")} {d.host_gap_frac_of_roi == null ? null : <span class="dim">{f.percent(d.host_gap_frac_of_roi)}</span>}</dd>
				{detailed ? <><dt>Sum of operations</dt><dd>{time("op_time_sum_s")}</dd><dt>Overlap</dt><dd>{time("overlap_s")}</dd></> : null}
				{several && d.job_busy_s != null ? <><dt>Any device of the job</dt><dd>{time("job_busy_s")}</dd></> : null}
				{several && d.process_device_busy_s != null ? <><dt>Each device by itself</dt><dd>{time("process_device_busy_s")}</dd></> : null}
				{rec.roi.profiled_wall_s !== undefined ? <><dt>Region under the collector</dt><dd>{f.seconds(rec.roi.profiled_wall_s)} {rec.roi.profiler_inflation !== undefined ? <span class={rec.roi.profiler_inflation > 1.2 ? "bad" : "dim"}>×{f.significant(rec.roi.profiler_inflation)} the clean one</span> : null}</dd></> : null}
				{ODD.map(([key, words]) => d[key] ? <><dt>{words}</dt><dd class="bad">{f.count(d[key])}</dd></> : null)}
				<Calls rec={rec} />
			</dl>
			<Categories rec={rec} d={d as Numbers} path="device" />
			<Devices rows={d.per_device} />
		</section>
	);
}

const GAP: [string, string][] = [["sync_s", "waiting for the device"], ["api_s", "in another call of the runtime"], ["cpu_s", "on the CPU"],
	["off_cpu_s", "off the CPU"], ["io_s", "in I/O"], ["mpi_s", "in MPI"]];

export function GapCard({ rec }: { rec: Rec }) {
	const g = rec.gap;
	if (!g || Object.values(g).every((v) => v == null))
		return null;
	return (
		<section class="card wide" id="gap">
			<h3>Host while the device was idle {g.device_idle_s == null ? null : <span class="dim" title={f.exact(g.device_idle_s)}>{f.seconds(g.device_idle_s)} under the collector</span>}</h3>
			<div class="scroll" tabIndex={0} role="region" aria-label="Table of what the host did"><table class="data">
				<tbody>{GAP.map(([key, words]) => g[key] == null
					? <tr key={key}><th scope="row">{words}</th><td colSpan={2} class="dim why"><Null why={why_words(why_null(rec, `gap.${key}`))} /> not observed: {why_words(why_null(rec, `gap.${key}`))}</td></tr>
					: <tr key={key}><th scope="row">{words}</th><td class="bars"><Share of={g.device_idle_s ? g[key]! / g.device_idle_s : undefined} /></td><td class="n" title={f.exact(g[key])}>{f.seconds(g[key])}</td></tr>)}</tbody>
			</table></div>
		</section>
	);
}

export function OpsCard({ rec }: { rec: Rec }) {
	if (!rec.ops.length)
		return null;
	return (
		<section class="card wide" id="ops">
			<h3>Operations <span class="dim">{rec.ops_count > rec.ops.length ? `the ${rec.ops.length} largest of ${rec.ops_count}` : f.plural(rec.ops.length, "kind")}{rec.ops_scope === "whole_process" ? ", of the whole process" : ""}</span></h3>
			<div class="scroll" tabIndex={0} role="region" aria-label="Table of operations">
				<table class="data">
					<thead><tr><th scope="col">Operation</th><th scope="col">Category</th><th scope="col">Share</th><th scope="col" class="n">Total</th><th scope="col" class="n">Count</th><th scope="col" class="n">Mean</th><th scope="col" class="n">Longest</th></tr></thead>
					<tbody>{rec.ops.map((o, i) => (
						<tr key={i}><th scope="row" class="op" title={o.name}><code>{o.name}</code></th><td>{o.category == null ? <Null /> : category_words(o.category)}</td><td class="bars"><Share of={o.share} /></td>
							<td class="n">{f.seconds(o.total_s)}</td><td class="n">{f.count(o.count)}</td><td class="n">{f.seconds(o.avg_s)}</td><td class="n">{f.seconds(o.max_s)}</td></tr>
					))}</tbody>
				</table>
			</div>
		</section>
	);
}
