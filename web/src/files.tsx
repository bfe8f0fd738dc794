// What a run did to its files: what is missing first, then sums, bytes over time, interfaces, files.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { capture_of, period_of, type Rec, type Row, why_null } from "./data";
import * as f from "./format";
import { Null } from "./history";
import { theme } from "./theme";
import { why_words } from "./words";

type Sums = { [key: string]: f.Num };
interface Pattern { [key: string]: f.Num | number[] }
interface File {
	name?: string; type?: string; interface?: string; filesystem?: string; processes?: number; shared?: boolean; size_bytes?: number; block_bytes?: number;
	roi?: Sums; whole?: Sums; roi_pattern?: Pattern; whole_pattern?: Pattern; hints_set?: string[]; hints_in_force?: string[]; layout?: string[];
}
interface Interface { name?: string; within?: string; roi?: Sums; whole?: Sums }
interface Series { source?: string; rank?: number; begin_s?: number; bin_s?: number; read_bytes?: f.Num[]; write_bytes?: f.Num[] }
export interface Io extends Row {
	roi?: Sums; whole?: Sums; interfaces?: Interface[]; files?: File[]; series?: Series[]; mpi?: Row[]; partial?: string[];
	read_bytes?: number; write_bytes?: number; read_ops?: number; write_ops?: number; time_s?: number; wait_s?: number; whole_wait_s?: number;
	files_total?: number; files_folded?: number; files_count?: number; dropped_ops?: number; incomplete?: boolean; execution?: string; processes?: number;
	device_read_bytes?: number; device_write_bytes?: number; cgroup_read_bytes?: number; cgroup_write_bytes?: number;
	capture?: string; capture_bytes?: number; capture_events?: number; capture_rules?: number;
	capture_calls?: number; capture_processes?: number; capture_dropped_ops?: number; capture_complete?: boolean;
}

const FILES_SHOWN = 12;
const shown = signal({ run: "", all: false, source: "", what: "both" });

const size = (x: f.Num) => (x == null ? <Null /> : <span title={`${x} B`}>{f.si(x, "B")}</span>);
const time = (x: f.Num) => (x == null ? <Null /> : <span title={f.exact(x)}>{f.seconds(x)}</span>);
const calls = (x: f.Num) => (x == null ? <Null /> : <>{f.count(x)}</>);
const some = (s: Sums | undefined) => s !== undefined && Object.values(s).some((v) => v != null);

// Names that differ in their ends only must not look alike: what is cut is in the middle.
function Name({ name }: { name?: string }) {
	if (name === undefined)
		return <code>null</code>;
	const all = plain(name), end = Math.max(all.lastIndexOf("/"), all.length - 24);
	return <code class="cut"><span>{all.slice(0, Math.max(end, 0))}</span><span>{all.slice(Math.max(end, 0))}</span></code>;
}

// A file's name may hold anything; what would turn the text around it is shown as a sign.
const plain = (name: string) => name.replace(/[\u0000-\u001f\u007f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");

// ---- over time ---------------------------------------------------------------------------------------

const LEFT = 58, TOP_HEIGHT = 64, AXIS = 22, ROWS_MAX = 256;

function ticks_of(from: number, to: number, width: number): number[] {
	const raw = (to - from) / Math.max(2, width / 110), power = 10 ** Math.floor(Math.log10(raw));
	const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw) ?? power;
	const out: number[] = [];
	for (let t = Math.ceil(from / step - 1e-9) * step; t <= to + step * 1e-6; t += step)
		out.push(Number(t.toPrecision(12)));
	return out;
}

function bytes_in(s: Series, i: number, what: string): [f.Num, f.Num] {
	return [what === "written" ? 0 : s.read_bytes?.[i], what === "read" ? 0 : s.write_bytes?.[i]];
}

interface Picture { all: Series; rows: Series[]; cut: number; from: number; to: number }

// Of one source: the series of all processes together (or the sum of theirs), and each rank's.
function picture_of(series: Series[], source: string): Picture | null {
	const mine = series.filter((s) => s.source === source && s.bin_s && s.begin_s !== undefined);
	const rows = mine.filter((s) => s.rank !== undefined).sort((a, b) => a.rank! - b.rank!);
	let all = mine.find((s) => s.rank === undefined);
	if (!all && rows.length && rows.every((r) => r.bin_s === rows[0]!.bin_s && r.begin_s === rows[0]!.begin_s)) {
		const add = (of: (s: Series) => f.Num[] | undefined) => {
			const n = Math.max(...rows.map((r) => of(r)?.length ?? 0));
			return Array.from({ length: n }, (_, i) => rows.reduce<f.Num>((sum, r) => (sum == null || of(r)?.[i] == null ? null : sum + of(r)![i]!), 0));
		};
		all = { ...rows[0]!, rank: undefined, read_bytes: add((s) => s.read_bytes), write_bytes: add((s) => s.write_bytes) };
	}
	all ??= rows[0];
	if (!all)
		return null;
	const ends = [all, ...rows].map((s) => s.begin_s! + s.bin_s! * Math.max(s.read_bytes?.length ?? 0, s.write_bytes?.length ?? 0));
	return { all, rows: rows.slice(0, ROWS_MAX), cut: Math.max(0, rows.length - ROWS_MAX), from: Math.min(...[all, ...rows].map((s) => s.begin_s!)), to: Math.max(...ends) };
}

function draw(canvas: HTMLCanvasElement, p: Picture, what: string, row_height: number): void {
	const color = (name: string) => getComputedStyle(canvas).getPropertyValue(name).trim();
	const width = canvas.clientWidth, height = TOP_HEIGHT + (p.rows.length ? 6 + p.rows.length * row_height : 0) + AXIS, ratio = devicePixelRatio || 1;
	canvas.width = width * ratio;
	canvas.height = height * ratio;
	const c = canvas.getContext("2d")!;
	c.scale(ratio, ratio);
	// On whole pixels: bins side by side must not show a seam that could be taken for a pause.
	const x = (t: number) => Math.round((LEFT + ((t - p.from) / (p.to - p.from)) * (width - LEFT)) * ratio) / ratio;
	const read_color = color("--region"), write_color = color("--slower"), unknown = color("--line-strong");
	const bins = (s: Series) => Math.max(s.read_bytes?.length ?? 0, s.write_bytes?.length ?? 0);
	const sum = ([r, w]: [f.Num, f.Num]) => (r ?? 0) + (w ?? 0);
	const most = (s: Series) => Array.from({ length: bins(s) }).reduce<number>((m, _, i) => Math.max(m, sum(bytes_in(s, i, what)) / s.bin_s!), 0);
	// All together: what was read below, what was written on it.
	const top = most(p.all) || 1;
	c.fillStyle = color("--head-ground");
	c.fillRect(LEFT, 0, width - LEFT, TOP_HEIGHT);
	for (let i = 0; i < bins(p.all); i++) {
		const [r, w] = bytes_in(p.all, i, what), left = x(p.all.begin_s! + i * p.all.bin_s!), wide = Math.max(1, x(p.all.begin_s! + (i + 1) * p.all.bin_s!) - left);
		if (r == null && w == null) {
			c.fillStyle = unknown;
			c.fillRect(left, TOP_HEIGHT - 3, wide, 3);
		}
		const high_r = ((r ?? 0) / p.all.bin_s! / top) * (TOP_HEIGHT - 2), high_w = ((w ?? 0) / p.all.bin_s! / top) * (TOP_HEIGHT - 2);
		c.fillStyle = read_color;
		c.fillRect(left, TOP_HEIGHT - high_r, wide, high_r);
		c.fillStyle = write_color;
		c.fillRect(left, TOP_HEIGHT - high_r - high_w, wide, high_w);
	}
	c.font = `11px ${color("--sans") || "sans-serif"}`;
	c.fillStyle = color("--dim");
	c.textAlign = "right";
	c.fillText(`${f.si(top, "B/s")}`, LEFT - 6, 10);
	c.fillText("0", LEFT - 6, TOP_HEIGHT - 1);
	// Each process: the darker the more, by its logarithm; nothing moved is nothing drawn.
	const high = Math.max(...p.rows.map(most), 0);
	p.rows.forEach((s, k) => {
		const y = TOP_HEIGHT + 6 + k * row_height;
		c.globalAlpha = 1;
		c.fillStyle = color("--head-ground");
		c.fillRect(LEFT, y, width - LEFT, row_height - (row_height > 4 ? 1 : 0));
		for (let i = 0; i < bins(s); i++) {
			const [r, w] = bytes_in(s, i, what), rate = sum([r, w]) / s.bin_s!;
			if (!(rate > 0) && !(r == null && w == null))
				continue;
			const left = x(s.begin_s! + i * s.bin_s!), wide = Math.max(1, x(s.begin_s! + (i + 1) * s.bin_s!) - left);
			c.globalAlpha = rate > 0 ? Math.max(0.18, 1 + Math.log10(rate / high) / 4) : 0.5;
			c.fillStyle = !(rate > 0) ? unknown : (w ?? 0) > (r ?? 0) ? write_color : read_color;
			c.fillRect(left, y, wide, row_height - (row_height > 4 ? 1 : 0));
		}
		c.globalAlpha = 1;
		if (row_height >= 10 || k === 0 || k === p.rows.length - 1) {
			c.fillStyle = color("--dim");
			c.fillText(`rank ${s.rank}`, LEFT - 6, y + Math.max(9, row_height - 3));
		}
	});
	c.fillStyle = color("--dim");
	c.textAlign = "center";
	for (const t of ticks_of(p.from, p.to, width - LEFT)) {
		const text = t === 0 ? "0 s" : f.seconds(t);
		c.fillRect(Math.min(x(t), width - 1), height - AXIS, 1, 4);
		c.fillText(text, Math.min(x(t), width - c.measureText(text).width / 2 - 1), height - AXIS + 16);
	}
}

function OverTime({ rec, io }: { rec: Rec; io: Io }) {
	const canvas = useRef<HTMLCanvasElement>(null), told = useRef<HTMLParagraphElement>(null);
	const series = io.series ?? [], sources = [...new Set(series.map((s) => s.source ?? ""))];
	const state = shown.value;
	const source = sources.includes(state.source) ? state.source : sources.includes("program") ? "program" : sources[0] ?? "";
	const p = picture_of(series, source), shade = theme.value;
	const row_height = !p || p.rows.length <= 16 ? 14 : p.rows.length <= 64 ? 6 : 3;
	useEffect(() => {
		if (!p || !canvas.current)
			return;
		const again = () => draw(canvas.current!, p, state.what, row_height);
		again();
		const watch = new ResizeObserver(again);
		watch.observe(canvas.current);
		return () => watch.disconnect();
	}, [rec.run_id, source, state.what, shade]);
	if (!p)
		return null;
	const height = TOP_HEIGHT + (p.rows.length ? 6 + p.rows.length * row_height : 0) + AXIS;
	const tell = (e: MouseEvent) => {
		const box = canvas.current!.getBoundingClientRect(), t = p.from + ((e.clientX - box.left - LEFT) / (box.width - LEFT)) * (p.to - p.from);
		const k = Math.floor((e.clientY - box.top - TOP_HEIGHT - 6) / row_height), s = k >= 0 ? p.rows[k] : p.all;
		const i = s ? Math.floor((t - s.begin_s!) / s.bin_s!) : -1;
		told.current!.textContent = !s || i < 0 || t < p.from ? " " : `${s.rank === undefined ? "all processes" : `rank ${s.rank}`}, ${f.seconds(s.begin_s! + i * s.bin_s!)} to ${f.seconds(s.begin_s! + (i + 1) * s.bin_s!)}: ${
			s.read_bytes?.[i] == null ? "null" : f.si(s.read_bytes[i], "B")} read, ${s.write_bytes?.[i] == null ? "null" : f.si(s.write_bytes[i], "B")} written`;
	};
	return (
		<>
			<p class="note heat-head"><b>Bytes over time</b> <span class="key read" /> read <span class="key written" /> written, in {f.seconds(p.all.bin_s)} each, after the start of the command
				{" "}<label class="pick">show <select value={state.what} onChange={(e) => { shown.value = { ...state, what: e.currentTarget.value }; }}>
					{["both", "read", "written"].map((w) => <option key={w} value={w}>{w}</option>)}</select></label>
				{sources.length > 1 ? <label class="pick">of <select value={source} onChange={(e) => { shown.value = { ...state, source: e.currentTarget.value }; }}>
					{sources.map((w) => <option key={w} value={w}>{w}</option>)}</select></label> : null}
			</p>
			<canvas ref={canvas} class="heat" style={{ height: `${height}px` }} role="img" onMouseMove={tell} onMouseLeave={() => { told.current!.textContent = " "; }}
				aria-label={`Bytes read and written over ${f.seconds(p.to - p.from)}${p.rows.length ? ` by each of ${p.rows.length} processes` : ""}`} />
			<p class="note heat-told" ref={told}>&nbsp;</p>
			{p.cut ? <p class="note">{f.plural(p.cut, "process", "processes")} more are in the sum only.</p> : null}
		</>
	);
}

// ---- patterns ----------------------------------------------------------------------------------------

function sizes_words(bins: number[] | undefined): string {
	let all = 0, most = 0, bin = 0;
	for (let i = 0; bins && i + 1 < bins.length; i += 2) {
		all += bins[i + 1]!;
		if (bins[i + 1]! > most) {
			most = bins[i + 1]!;
			bin = bins[i]!;
		}
	}
	if (!most)
		return "";
	return bin === 0 ? ", of no byte" : `, ${most < all ? "mostly " : ""}${f.bytes(2 ** (bin - 1))} to ${f.bytes(2 ** bin)}`;
}

function order_words(what: string, ops: f.Num, consecutive: f.Num, sequential: f.Num, bins: number[] | undefined): string {
	if (!ops || consecutive == null || sequential == null)
		return "";
	const order = consecutive >= 0.9 * (ops - 1) ? "one after the other" : sequential >= 0.9 * (ops - 1) ? "forward with gaps"
		: sequential <= 0.65 * ops ? "at random" : `${f.percent(sequential / ops, 0)} forward`;
	return `${what} ${order}${sizes_words(bins)}`;
}

export function pattern_words(p: Pattern | undefined, s: Sums | undefined): string {
	if (!p || !s)
		return "";
	const n = (key: string) => p[key] as f.Num, all = (s.read_ops ?? 0) + (s.write_ops ?? 0);
	return [
		order_words("reads", s.read_ops, n("consecutive_reads"), n("sequential_reads"), p.read_bins as number[]),
		order_words("writes", s.write_ops, n("consecutive_writes"), n("sequential_writes"), p.write_bins as number[]),
		n("unaligned_ops") && all ? `${f.percent(n("unaligned_ops")! / all)} unaligned` : "",
		n("reread_bytes") ? `${f.si(n("reread_bytes"), "B")} read back` : "",
	].filter(Boolean).join("; ");
}

// Hints that were asked for and are not what came.
export function hints_ignored(file: File): string[] {
	if (!file.hints_set?.length || !file.hints_in_force?.length)
		return [];
	const force = new Map(file.hints_in_force.map((h) => [h.slice(0, h.indexOf("=")), h.slice(h.indexOf("=") + 1)]));
	return file.hints_set.filter((h) => force.get(h.slice(0, h.indexOf("="))) !== h.slice(h.indexOf("=") + 1))
		.map((h) => `${h} asked for, ${force.get(h.slice(0, h.indexOf("="))) ?? "nothing"} in force`);
}

// ---- tables ------------------------------------------------------------------------------------------

function Table({ label, heads, rows }: { label: string; heads: string[]; rows: ComponentChildren[][] }) {
	if (!rows.length)
		return null;
	return (
		<div class="scroll" tabIndex={0} role="region" aria-label={label}>
			<table class="data">
				<thead><tr>{heads.map((h, i) => <th scope="col" class={i ? "n" : undefined} key={i}>{h}</th>)}</tr></thead>
				<tbody>{rows.map((r, k) => <tr key={k}>{r.map((v, i) => (i ? <td class="n" key={i}>{v}</td> : <th scope="row" key={i}>{v}</th>))}</tr>)}</tbody>
			</table>
		</div>
	);
}

function Interfaces({ list = [] }: { list: Interface[] | undefined }) {
	return <Table label="Table of interfaces" heads={["Interface", "Read", "Calls", "Time", "Written", "Calls", "Time", "Opens", "Seeks", "Syncs", "Names"]}
		rows={list.map((i) => {
			const s = (some(i.roi) ? i.roi : i.whole) ?? {};
			return [<>{i.name ?? <Null />}{i.within ? <span class="dim"> within {i.within}</span> : null}</>, size(s.read_bytes), calls(s.read_ops), time(s.read_s), size(s.write_bytes),
				calls(s.write_ops), time(s.write_s), ...["open_ops", "seek_ops", "sync_ops", "meta_ops"].map((k) => calls(s[k]))];
		})} />;
}

function Files({ rec, io }: { rec: Rec; io: Io }) {
	const list = io.files ?? [], all = shown.value.all && shown.value.run === rec.run_id;
	if (!list.length)
		return null;
	const rows = all ? list : list.slice(0, FILES_SHOWN), there = io.files_count ?? list.length;
	return (
		<>
			<div class="scroll" tabIndex={0} role="region" aria-label="Table of files">
				<table class="data">
					<thead><tr><th scope="col">File</th><th scope="col" class="n">Read</th><th scope="col" class="n">Written</th><th scope="col" class="n">Calls</th><th scope="col" class="n">Processes</th><th scope="col" class="n" title="end of the last byte that was seen">Size</th><th scope="col">Interface</th><th scope="col">On</th><th scope="col">Pattern, hints</th></tr></thead>
					<tbody>{rows.map((x, i) => {
						const inside = some(x.roi), s = (inside ? x.roi : x.whole) ?? {}, p = inside ? x.roi_pattern : x.whole_pattern;
						const words = pattern_words(p, s), ignored = hints_ignored(x);
						return (
							<tr key={i}><th scope="row" class="op file" title={x.name === undefined ? undefined : plain(x.name)}><Name name={x.name} />{x.type && x.type !== "file" ? <span class="tag">{x.type}</span> : null}</th>
								<td class="n">{size(s.read_bytes)}</td><td class="n">{size(s.write_bytes)}</td>
								<td class="n">{s.read_ops == null && s.write_ops == null ? <Null /> : f.count((s.read_ops ?? 0) + (s.write_ops ?? 0))}</td>
								<td class="n">{x.processes === undefined ? <Null /> : f.count(x.processes)}{x.shared ? <span class="tag">shared</span> : null}</td>
								<td class="n">{size(x.size_bytes)}</td><td>{x.interface ?? <Null />}</td><td title={x.layout?.join(", ")}>{x.filesystem ?? <Null />}</td>
								<td class="why">{words || <Null why="no pattern is known" />}
									{ignored.map((h) => <div class="bad" key={h}>hint {h}</div>)}
									{x.hints_in_force?.length && !ignored.length ? <div class="dim" title={x.hints_in_force.join(", ")}>{f.plural(x.hints_in_force.length, "hint")} in force</div> : null}
									{x.layout?.length ? <div class="dim">{x.layout.join(", ")}</div> : null}</td></tr>
						);
					})}</tbody>
				</table>
			</div>
			{rows.length < list.length ? <p class="buttons"><button type="button" onClick={() => { shown.value = { ...shown.value, run: rec.run_id, all: true }; }}>Show all {list.length}</button></p> : null}
			{there > list.length ? <p class="note">The {list.length} with the most bytes of {f.count(there)} are in this report; <code>roimeter show {rec.run_id} --format json</code> has all.</p> : null}
			{io.files_folded ? <p class="note">{f.plural(io.files_folded, "file")} more {io.files_folded === 1 ? "is" : "are"} in the sums only: there was no room for a line of their own.</p> : null}
		</>
	);
}

function Mpi({ list = [] }: { list: Row[] | undefined }) {
	return <Table label="Table of MPI calls" heads={["Other calls of MPI", "Calls", "Time", "Calls, whole", "Time, whole"]}
		rows={list.map((m) => [String(m.class ?? "null").replace(/_/g, " "), calls(m.calls as f.Num), time(m.time_s as f.Num), calls(m.whole_calls as f.Num), time(m.whole_time_s as f.Num)])} />;
}

// ---- the card ----------------------------------------------------------------------------------------

function Missing({ io }: { io: Io }) {
	const lines = [
		...(io.partial ?? []).map((p) => `Partial: ${p} had no room for everything; what is here is less than what was.`),
		...(io.dropped_ops ? [`${f.plural(io.dropped_ops, "call was", "calls were")} seen and could not be counted.`] : []),
	];
	if (io.incomplete && !lines.length)
		lines.push("Something is known to be missing; the caveats say what.");
	return lines.length ? <div class="banner" role="note">{lines.map((l) => <p key={l}><b>{l}</b></p>)}</div> : null;
}

function Bandwidth({ b, s, word }: { b: f.Num; s: f.Num; word: string }) {
	return b && s ? <div class="dim" title="bytes by the time in these calls, of all threads and processes together">{f.si(b / s, "B/s")} = {f.si(b, "B")} / {f.seconds(s)} in calls that {word}</div> : null;
}

// Bytes, calls and time of one direction, and by what its bandwidth is computed.
function Direction({ rec, io, word, key_, name }: { rec: Rec; io: Io; word: string; key_: "read" | "write"; name: string }) {
	const roi = io.roi ?? {}, whole = io.whole ?? {}, field = `io.roi.${key_}_bytes`;
	const b = roi[`${key_}_bytes`] ?? io[`${key_}_bytes`] as f.Num, n = roi[`${key_}_ops`] ?? io[`${key_}_ops`] as f.Num, s = roi[`${key_}_s`];
	return (
		<>
			<dt>{name}</dt>
			<dd>{b == null ? <><Null why={why_words(why_null(rec, field))} /> <span class="dim">{why_words(why_null(rec, field))}</span></> : <b title={`${b} B`}>{f.si(b, "B")}</b>}
				<span class="dim">{n == null ? "" : ` in ${f.plural(n, "call")}`}{s == null ? "" : `, ${f.seconds(s)}`}</span>
				{b ? <Bandwidth b={b} s={s} word={word} /> : null}
				{whole[`${key_}_bytes`] == null ? null : <div class="dim">whole processes: {f.si(whole[`${key_}_bytes`], "B")}{whole[`${key_}_ops`] == null ? "" : ` in ${f.plural(whole[`${key_}_ops`]!, "call")}`}{whole[`${key_}_s`] == null ? "" : `, ${f.seconds(whole[`${key_}_s`])}`}</div>}
				{b == null ? <Bandwidth b={whole[`${key_}_bytes`]} s={whole[`${key_}_s`]} word={word} /> : null}
			</dd>
		</>
	);
}

const OTHERS: [string, string][] = [["open_ops", "opens and closes"], ["seek_ops", "seeks"], ["sync_ops", "syncs"], ["meta_ops", "of names, sizes, attributes"]];

function Kernel({ rec, name, field, read, write }: { rec: Rec; name: string; field: string; read: f.Num; write: f.Num }) {
	const why = why_null(rec, field);
	if (read == null && write == null)
		return why === undefined ? null : <><dt>{name}</dt><dd><Null why={why_words(why)} /> <span class="dim">{why_words(why)}</span></dd></>;
	return <><dt>{name}</dt><dd>{size(read)} read, {size(write)} written <span class="dim">whole, as the kernel counts</span></dd></>;
}

function PeriodLine({ rec, io }: { rec: Rec; io: Io }) {
	if (!io.series?.length)
		return null;
	const p = period_of(rec);
	if (p === null)
		return null;
	return (
		<><dt>Period</dt><dd id="period">{p === undefined ? <span class="dim">under way</span> : p instanceof Error ? <span class="bad">{p.message}</span>
			: p.period_s == null ? <>no period <span class="dim">{p.why_not}</span></>
			: <>{time(p.period_s)}{p.error_s == null ? "" : ` \u00b1 ${f.seconds(p.error_s)}`} <span class="dim">confidence {p.confidence?.toFixed(2)}</span></>}</dd></>
	);
}

function CaptureLine({ rec, io }: { rec: Rec; io: Io }) {
	if (!io.capture)
		return null;
	const there = capture_of(rec), kept = io.capture_calls ?? io.capture_events;
	const facts = [
		io.capture_bytes == null ? "" : f.si(io.capture_bytes, "B"),
		kept == null ? "" : f.plural(kept, "call"),
		io.capture_rules == null ? "" : f.plural(io.capture_rules, "rule"),
		io.capture_bytes == null || !kept ? "" : `${Number((io.capture_bytes / kept).toPrecision(3))} B a call`,
		io.capture_processes == null ? "" : f.plural(io.capture_processes, "process", "processes"),
	].filter(Boolean);
	return (
		<><dt>Capture</dt><dd id="capture"><code class="hash">{plain(io.capture)}</code>{io.capture_complete === false ? <> <span class="tag bad">incomplete</span></> : null} <span class="dim">{facts.join(", ")}{io.capture_complete === true ? ", complete" : ""}</span>
			{there === null || there === undefined ? null : <div class="dim" id="capture-there">{there instanceof Error ? there.message : there.summary ? `the daemon can read it: ${f.plural(there.summary.processes?.length ?? 0, "file")}, ${f.plural(there.summary.signatures as number ?? 0, "signature")}` : `not looked into: ${there.reason}`}</div>}</dd></>
	);
}

export function FilesCard({ rec }: { rec: Rec }) {
	const io = rec.io as Io | null;
	if (!io || (!some(io.roi) && !some(io.whole) && !io.files && io.read_bytes == null && io.write_bytes == null && !io.capture))
		return null;
	const sums = some(io.roi) ? io.roi! : io.whole ?? {};
	const others = OTHERS.filter(([key]) => sums[key]).map(([key, words]) => `${f.count(sums[key])} ${words}`);
	return (
		<section class="card wide" id="files">
			<h3>Files <span class="dim">{some(io.roi) || io.read_bytes != null ? "inside the region" : "in whole processes"}{io.execution ? `, in ${io.execution}` : ""}{io.files_total == null ? "" : `; ${f.plural(io.files_total, "file")}`}</span>{io.incomplete || io.partial?.length ? <span class="tag bad">incomplete</span> : null}</h3>
			<Missing io={io} />
			<dl class="facts across">
				<Direction rec={rec} io={io} word="read" key_="read" name="Read" />
				<Direction rec={rec} io={io} word="write" key_="write" name="Written" />
				<dt>Other calls</dt><dd>{others.length ? others.join(", ") : Object.keys(sums).length ? "none" : <Null why={why_words(why_null(rec, "io.roi"))} />}{sums.meta_s == null ? null : <span class="dim">, {f.seconds(sums.meta_s)}</span>}{sums.failed_ops ? <div class="bad">{f.plural(sums.failed_ops, "call")} failed</div> : null}{sums.untimed_ops ? <div class="bad">{f.plural(sums.untimed_ops, "call")} of unknown time</div> : null}</dd>
				<dt>Waited for it</dt><dd>{io.wait_s == null ? <Null why={why_words(why_null(rec, "io.wait_s"))} /> : time(io.wait_s)} <span class="dim">any thread of a process, summed over {io.processes == null ? "processes" : f.plural(io.processes, "process", "processes")}</span></dd>
				<Kernel rec={rec} name="Block devices" field="io.device_read_bytes" read={io.device_read_bytes} write={io.device_write_bytes} />
				<Kernel rec={rec} name="Control group" field="io.cgroup_read_bytes" read={io.cgroup_read_bytes} write={io.cgroup_write_bytes} />
				<PeriodLine rec={rec} io={io} />
				<CaptureLine rec={rec} io={io} />
			</dl>
			<OverTime rec={rec} io={io} />
			<Files rec={rec} io={io} />
			<Interfaces list={io.interfaces} />
			<Mpi list={io.mpi} />
		</section>
	);
}
