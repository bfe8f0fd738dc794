// The stored runs of one cell over time: medians with their ranges, and what changed.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { type Cell, history_of, HISTORY_MAX, type RunRow } from "./data";
import * as f from "./format";
import { route } from "./route";
import { status_word } from "./words";
import { theme } from "./theme";

function time_of(run: RunRow): number {
	const t = Date.parse(run.utc ?? "");
	return Number.isNaN(t) ? 0 : t / 1000;
}

// Days as ISO has them, hours where the ticks are closer; the year where it begins.
function dates(ticks: number[], step: number): string[] {
	let year = "";
	return ticks.map((t) => {
		const text = new Date(t * 1e3).toISOString();
		const day = step < 86400 && !text.endsWith("T00:00:00.000Z") ? text.slice(11, 16) : text.slice(5, 10);
		const out = text.slice(0, 4) === year ? day : `${day}\n${text.slice(0, 4)}`;
		year = text.slice(0, 4);
		return out;
	});
}

function Chart({ runs }: { runs: RunRow[] }) {
	const host = useRef<HTMLDivElement>(null);
	const shade = theme.value;
	useEffect(() => {
		const node = host.current!;
		const color = (name: string) => getComputedStyle(node).getPropertyValue(name).trim();
		const xs = runs.map(time_of), ys = runs.map((r) => r.wall_s!);
		const low = runs.map((r) => r.min_s ?? r.wall_s!), high = runs.map((r) => r.max_s ?? r.wall_s!);
		const top = Math.max(...high), bottom = Math.min(...low), span = top - bottom || top * 0.1;
		const zone = (u: number) => uPlot.tzDate(new Date(u * 1e3), "Etc/UTC");
		const draw_ranges = (u: uPlot) => {
			const { ctx } = u;
			ctx.save();
			ctx.strokeStyle = color("--region");
			ctx.globalAlpha = 0.55;
			ctx.lineWidth = 1.5 * devicePixelRatio;
			for (let i = 0; i < xs.length; i++) {
				const x = Math.round(u.valToPos(xs[i]!, "x", true));
				ctx.beginPath();
				ctx.moveTo(x, u.valToPos(low[i]!, "y", true));
				ctx.lineTo(x, u.valToPos(high[i]!, "y", true));
				ctx.stroke();
			}
			ctx.restore();
		};
		const axis = { stroke: color("--dim"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line"), width: 1, size: 4 }, font: "11px system-ui, sans-serif" };
		const plot = new uPlot({
			width: node.clientWidth || 600, height: 190, ms: 1e-3, tzDate: zone, legend: { show: false },
			cursor: { points: { size: 9 }, drag: { x: true, y: false } },
			scales: { x: { time: true, range: (_u, a, b) => { const p = (b - a) * 0.03 || 43200; return [a - p, b + p]; } }, y: { range: [Math.max(0, bottom - span * 0.25), top + span * 0.25] } },
			axes: [{ ...axis, values: (_u, ticks, _i, _space, step) => dates(ticks, step) }, { ...axis, size: 66, values: (_u, ticks) => ticks.map((t) => (t < 0 ? "" : f.seconds(t))) }],
			series: [{}, { stroke: color("--region"), width: 0, points: { show: true, size: 8, fill: color("--region"), stroke: color("--page") }, paths: () => null }],
			hooks: { drawAxes: [draw_ranges] },
		}, [xs, ys], node);
		const watch = new ResizeObserver(() => {
			if (node.clientWidth && node.clientWidth !== plot.width)
				plot.setSize({ width: node.clientWidth, height: 190 });
		});
		watch.observe(node);
		return () => {
			watch.disconnect();
			plot.destroy();
		};
	}, [runs, shade]);
	const first = runs[0]!, last = runs[runs.length - 1]!;
	return (
		<div role="figure" aria-label={`${runs.length} results from ${f.when(first.utc)} to ${f.when(last.utc)}, the last median ${f.seconds(last.wall_s)}; the table below has them all`}>
			<div class="chart" ref={host} aria-hidden="true" />
		</div>
	);
}

// A change is called one only where no execution of one run lies within the range of the other.
function ranges_apart(a: RunRow, b: RunRow): boolean {
	if (a.min_s == null || a.max_s == null || b.min_s == null || b.max_s == null || a.samples === 1 || b.samples === 1)
		return false;
	return a.min_s > b.max_s || a.max_s < b.min_s;
}

export function History({ cell, shown }: { cell: Cell; shown: string }) {
	const at = route.value, list = history_of(cell, at.suite, at.app, at.case, at.platform);
	if (list === undefined || list instanceof Error)
		return <section class="card wide" id="history"><h3>History</h3><p class="note" role="status">{list ? `The other runs can’t be shown: ${list.message}` : "Loading the other runs …"}</p></section>;
	const runs = list;
	const ok = runs.filter((r) => r.status === "ok" && r.wall_s != null);
	// Of the newest run that says what was measured. A run that does not say it is not called another.
	const input = runs.find((r) => r.input_hash !== undefined)?.input_hash;
	const is_other = (r: RunRow) => r.input_hash !== undefined && r.input_hash !== input;
	const before = new Map<string, RunRow>();
	for (let i = 0; i + 1 < ok.length; i++)
		before.set(ok[i]!.run_id, ok[i + 1]!);
	return (
		<section class="card wide" id="history">
			<h3>History <span class="dim">{f.plural(cell.runs, "run")}</span></h3>
			{ok.length > 1 ? <Chart runs={[...ok].reverse()} /> : null}
			<div class="scroll" tabIndex={0} role="region" aria-label="Table of runs">
				<table class="data">
					<thead><tr><th scope="col">Run</th><th scope="col">Status</th><th scope="col" class="n">Median</th><th scope="col" class="n">Range</th><th scope="col" class="n">n</th><th scope="col" class="n">Against the result before</th></tr></thead>
					<tbody>
						{runs.map((r) => {
							const prev = before.get(r.run_id);
							const ratio = prev && r.wall_s ? r.wall_s / prev.wall_s! : null;
							const apart = ratio !== null && ranges_apart(r, prev!);
							return (
								<tr key={r.run_id} class={r.run_id === shown ? "now" : undefined}>
									<td title={r.run_id}>{f.when(r.utc)}{r.run_id === shown ? <span class="tag">shown</span> : null}{r.kind && r.kind !== "measured" ? <span class="tag">{r.kind}</span> : null}{is_other(r) ? <span class="tag other">other input</span> : null}</td>
									<td>{r.status === "ok" ? "ok" : <span class="bad">{status_word(r.status)}</span>}</td>
									<td class="n" title={f.exact(r.wall_s)}>{r.wall_s == null ? <Null /> : f.seconds(r.wall_s)}</td>
									<td class="n">{r.min_s == null || r.max_s == null ? <Null /> : r.samples === 1 ? <span class="dim">one sample</span> : f.seconds_range(r.min_s, r.max_s)}</td>
									<td class="n">{r.samples ?? <Null />}</td>
									<td class="n">{ratio === null ? <span class="dim">–</span> : <span class={!apart ? "dim" : ratio < 1 ? "faster" : "slower"} title={`${f.exact(prev!.wall_s)} before; ${apart ? "the ranges do not overlap" : "the ranges overlap, or one is not known"}`}>{f.change(ratio)}{!apart ? "" : ratio < 1 ? " faster" : " slower"}</span>}</td>
								</tr>
							);
						})}
					</tbody>
				</table>
			</div>
			{runs.some(is_other) ? <p class="note"><span class="tag other">other input</span> its command, declared environment or input files were not those of the newest run, so that its time may be another for that.</p> : null}
			{cell.runs > runs.length && runs.length === HISTORY_MAX ? <p class="note">The newest {runs.length} of {f.count(cell.runs)} runs are shown; <code>roimeter runs</code> lists the others.</p> : null}
		</section>
	);
}

export function Null({ why }: { why?: string }) {
	return <span class="null" title={why ?? "not known"}>null</span>;
}
