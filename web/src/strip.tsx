// Every execution in its order: warm-ups hollow, those that do not count crossed out. Dots, not
// lines, since nothing lies between two executions; the median and its interval behind them.
import type { Execution, Rec } from "./data";
import * as f from "./format";

function nice_ticks(low: number, high: number): number[] {
	const span = high - low || Math.abs(high) || 1;
	const raw = span / 3, power = 10 ** Math.floor(Math.log10(raw));
	const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= raw) ?? power;
	const out: number[] = [];
	for (let t = Math.ceil(low / step) * step; t <= high + step * 1e-6; t += step)
		out.push(t);
	return out;
}

// One unit for the whole axis, with as many digits as tell the ticks apart.
function axis_label(ticks: number[], high: number): (t: number) => string {
	const unit = high >= 1 ? ["s", 1] as const : high >= 1e-3 ? ["ms", 1e3] as const : high >= 1e-6 ? ["µs", 1e6] as const : ["ns", 1e9] as const;
	const step = ticks.length > 1 ? (ticks[1]! - ticks[0]!) * unit[1] : 1;
	let digits = 0;
	while (digits < 6 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6 * step * 10 ** digits)
		digits++;
	return (t) => `${(t * unit[1]).toFixed(digits)} ${unit[0]}`;
}

export function ExecutionStrip({ rec }: { rec: Rec }) {
	const list: Execution[] = rec.executions.length ? rec.executions
		: (rec.roi.runs_s ?? []).map((roi_s, i) => ({ name: `clean.${i}`, roi_s, used: true, status: "ok" }));
	const timed = list.filter((e) => e.roi_s !== undefined);
	if (!timed.length)
		return null;
	const values = timed.map((e) => e.roi_s!);
	// The scale is that of the samples: a slow warm-up must not press them into a line. What is
	// far outside stands at the edge as an arrow.
	const samples = list.filter((e) => e.used && e.roi_s !== undefined).map((e) => e.roi_s!);
	const scale = samples.length ? samples : values;
	let low = Math.min(...scale), high = Math.max(...scale);
	const room = Math.max(2 * (high - low), 0.004 * high);
	low = Math.min(low, ...values.filter((v) => v >= low - room));
	high = Math.max(high, ...values.filter((v) => v <= high + room));
	const pad = Math.max((high - low) * 0.14, high * 0.0004) || 1e-9;
	low -= pad;
	high += pad;
	const ticks = nice_ticks(low, high), label = axis_label(ticks, high);
	// Wide enough for the longest label in any font: a first digit that is cut off is another number.
	const left = Math.max(64, 14 + 7.2 * Math.max(...ticks.map((t) => label(t).length)));
	const W = 640, H = 148, right = 12, top = 8, bottom = 22;
	const x = (i: number) => left + (list.length === 1 ? 0.5 : (i + 0.5) / list.length) * (W - left - right);
	const y = (v: number) => top + (1 - (v - low) / (high - low)) * (H - top - bottom);
	const every = Math.ceil(list.length / 24);
	const [ci_low, ci_high] = rec.roi.ci95_s ?? [];
	const summary = `${f.plural(timed.length, "execution")} from ${f.seconds(Math.min(...values))} to ${f.seconds(Math.max(...values))}`
		+ (rec.roi.wall_s === undefined ? "" : `, median ${f.seconds(rec.roi.wall_s)}`);
	return (
		<svg class="strip" viewBox={`0 0 ${W} ${H}`} role="img" aria-label={`Region of each execution in order: ${summary}`}>
			{ticks.map((t) => (
				<g key={t}>
					<line x1={left} x2={W - right} y1={y(t)} y2={y(t)} class="tick" />
					<text x={left - 8} y={y(t) + 3.5} text-anchor="end">{label(t)}</text>
				</g>
			))}
			{ci_low !== undefined && ci_high !== undefined
				? <rect x={left} width={W - left - right} y={y(ci_high)} height={Math.max(1, y(ci_low) - y(ci_high))} class="band" /> : null}
			{rec.roi.wall_s !== undefined ? <line x1={left} x2={W - right} y1={y(rec.roi.wall_s)} y2={y(rec.roi.wall_s)} class="median" /> : null}
			{list.map((e, i) => {
				const warm = e.name.startsWith("warmup");
				const words = `${e.name}: ${e.roi_s === undefined ? "no region" : f.exact(e.roi_s)}${e.used || warm ? "" : `, not used${e.why ? `: ${e.why}` : ""}`}${warm ? ", warm-up" : ""}`;
				const cx = x(i), v = e.roi_s, above = v !== undefined && v > high, below = v !== undefined && v < low;
				const cy = v === undefined ? H - bottom : above ? top + 5 : below ? H - bottom - 5 : y(v);
				return (
					<g key={e.name}>
						{above || below ? <>
							<path d={above ? `M${cx - 4.5} ${cy + 4}h9l-4.5-8z` : `M${cx - 4.5} ${cy - 4}h9l-4.5 8z`} class={e.used ? "dot" : "dot hollow"} />
							<text x={cx + 9} y={cy + 4}>{f.seconds(v)}</text>
						</> : e.used ? <circle cx={cx} cy={cy} r="4" class="dot" />
							: warm && e.roi_s !== undefined ? <circle cx={cx} cy={cy} r="3.6" class="dot hollow" />
								: <path d={`M${cx - 4} ${cy - 4}l8 8m0-8l-8 8`} class="cross" />}
						<rect x={cx - 7} y={cy - 7} width="14" height="14" fill="transparent"><title>{words}</title></rect>
						{i % every === 0 ? <text x={cx} y={H - 6} text-anchor="middle">{warm ? `w${e.name.slice(7)}` : e.name.replace(/^clean\./, "")}</text> : null}
					</g>
				);
			})}
		</svg>
	);
}

interface Part { name: string; label: string; seconds: number }

// Where the time of the process went. Only what is known is drawn; what is left over is named.
export function ProcessBar({ rec }: { rec: Rec }) {
	const { context, roi, device } = rec;
	const wall = roi.wall_s, total = context.process_wall_s;
	if (wall === undefined || !total)
		return null;
	const parts: Part[] = [];
	const put = (name: string, label: string, s: number | null | undefined) => {
		if (s != null && s > 0)
			parts.push({ name, label, seconds: s });
	};
	put("before", "before the region", context.pre_roi_s);
	const busy = device?.busy_frac_of_roi;
	if (busy != null) {
		// For display only: the clean region and the profiled busy time may not fit exactly.
		const share = Math.min(1, Math.max(0, busy));
		put("busy", "region, device busy", wall * share);
		put("idle", "region, device idle", wall * (1 - share));
	} else {
		put("region", "region", wall);
	}
	put("between", "excluded and between entries", (roi.excluded_s ?? 0) + (context.between_s ?? 0));
	put("after", "after the region", context.post_roi_s);
	const known = parts.reduce((sum, p) => sum + p.seconds, 0);
	const rest = total - known;
	const split = context.pre_roi_s !== undefined && context.post_roi_s !== undefined;
	if (rest > 0.005 * total)
		put("rest", split ? "not attributed (medians of different executions)" : "outside the region, before or after it", rest);
	const scale = Math.max(total, known);
	const share = wall / total;
	return (
		<figure class="process">
			<figcaption>
				The region is <strong>{f.percent(share)}</strong> of its process, which took {f.seconds(total)}.
			</figcaption>
			<div class="bar" role="img" aria-label={parts.map((p) => `${p.label} ${f.seconds(p.seconds)}`).join(", ")}>
				{parts.map((p) => (
					<span key={p.name} class={`part ${p.name}`} style={{ flexGrow: p.seconds / scale }} title={`${p.label}: ${f.exact(p.seconds)}`} />
				))}
			</div>
			<ul class="legend">
				{parts.map((p) => (
					<li key={p.name}><span class={`key ${p.name}`} />{p.label} <b>{f.seconds(p.seconds)}</b> <span class="dim">{f.percent(p.seconds / total)}</span></li>
				))}
			</ul>
		</figure>
	);
}

// One bar a rank, the slowest marked.
export function RankStrip({ ranks, slowest }: { ranks: { label: string; seconds: number }[]; slowest: number }) {
	const high = Math.max(...ranks.map((r) => r.seconds));
	return (
		<div class="ranks" role="img"
			aria-label={`Region of ${ranks.length} processes: ${f.seconds(Math.min(...ranks.map((r) => r.seconds)))} to ${f.seconds(high)}`}>
			{ranks.map((r, i) => (
				<span key={r.label} class={i === slowest ? "rank slowest" : "rank"} style={{ height: `${(100 * r.seconds) / (high || 1)}%` }}
					title={`${r.label}: ${f.exact(r.seconds)}${i === slowest ? ", the slowest" : ""}`} />
			))}
		</div>
	);
}
