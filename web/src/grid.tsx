// Applications and inputs down, platforms across. A real table, of which only the rows in sight
// exist once there are many: 1,000 inputs by 10 platforms open at once and scroll freely.
import { computed, effect, signal } from "@preact/signals";
import { memo } from "preact/compat";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { type Case, type Cell, is_loaded, type Platform, type Suite, platform_info, report } from "./data";
import { Badge } from "./badge";
import * as f from "./format";
import { Mark } from "./icons";
import { go, href, route } from "./route";
import { status_meaning, status_word } from "./words";

const ROW_PX = 34;
const ALL_ROWS = 250; // up to here every row exists, and the browser's own search finds it
const BEYOND = 12;    // rows kept above and below what is in sight

interface AppLine { kind: "app"; suite: string; app: string; shown: number; measured: number; possible: number }
interface CaseLine { kind: "case"; suite: string; app: string; item: Case; index: number }
type Line = AppLine | CaseLine;

// The suite whose grid is shown, or was before a measurement was opened; "" is all of them.
const before = signal<string | null>(null);
export const tab = computed<string>(() => {
	is_loaded();
	const r = route.value;
	const name = r.app && before.value !== null ? before.value : r.suite;
	return report.suites.some((s) => s.name === name) ? name : "";
});
effect(() => {
	const r = route.value;
	if (!r.app && r.suite !== "@platforms")
		before.value = r.suite;
});

const suites = computed<Suite[]>(() => !is_loaded() ? [] : report.suites.filter((s) => tab.value === "" || s.name === tab.value));

// Every platform, those that the shown suites ran on first.
export const columns = computed<[Platform, number][]>(() => {
	is_loaded();
	const all = report.platforms.map((p, i) => [p, i] as [Platform, number]);
	const is_used = ([, i]: [Platform, number]) => suites.value.some((s) => s.apps.some((a) => a.cases.some((c) => c.cells[i])));
	return [...all.filter(is_used), ...all.filter((p) => !is_used(p))];
});

// With one or two platforms a cell has room to show its executions.
export const is_roomy = computed(() => columns.value.length <= 2);

export const lines = computed<Line[]>(() => {
	is_loaded();
	const words = route.value.filter.toLowerCase().split(/\s+/).filter(Boolean);
	const out: Line[] = [];
	let index = 0;
	for (const s of suites.value)
		for (const app of s.apps) {
			const cases = app.cases.filter((c) => {
				const text = `${s.name}/${app.name}/${c.name} ${c.title ?? ""}`.toLowerCase();
				return words.every((w) => text.includes(w));
			});
			if (!cases.length)
				continue;
			let measured = 0;
			for (const c of cases)
				for (const [, i] of columns.value)
					measured += c.cells[i]?.ok ? 1 : 0;
			out.push({ kind: "app", suite: s.name, app: app.name, shown: cases.length, measured, possible: cases.length * columns.value.length });
			for (const item of cases)
				out.push({ kind: "case", suite: s.name, app: app.name, item, index: index++ });
		}
	return out;
});

const case_lines = computed(() => lines.value.filter((l): l is CaseLine => l.kind === "case"));

const active = signal<{ row: number; column: number }>({ row: 0, column: 0 });
const scroll = signal({ top: 0, height: 800 });
const printing = signal(false);
addEventListener("beforeprint", () => { printing.value = true; });
addEventListener("afterprint", () => { printing.value = false; });

function tint(ratio: number): string {
	const strength = Math.min(1, Math.abs(Math.log2(ratio)) / 3);
	const percent = Math.round(8 + 34 * Math.sqrt(strength));
	return `color-mix(in srgb, var(${ratio < 1 ? "--faster" : "--slower"}) ${percent}%, transparent)`;
}

// Text that is spoken and not shown: with what is shown it makes a sentence of the cell.
function Said({ children }: { children: string }) {
	return <span class="hidden">{children}</span>;
}

function Marks({ cell }: { cell: Cell }) {
	const { two_levels, unstable, notable, last } = cell;
	return (
		<span class="marks">
			{two_levels ? <Mark name="levels" /> : unstable ? <Mark name="unstable" /> : null}
			{notable ? <Mark name="caveat" /> : null}
			{last ? <Mark name="failed" /> : null}
			<Said>{`${two_levels ? ", two levels" : unstable ? ", not stable" : ""}${notable ? `, ${f.plural(notable, "caveat")}` : ""}${last ? `, a later run: ${status_word(last.status)}` : ""}`}</Said>
		</span>
	);
}

const DOTS_REACH = 250; // thousandths of the median, to either side; the same in every row, so that rows compare

// The executions of a cell about their median, where there is room for it.
function Dots({ dots }: { dots: (number | null)[] }) {
	const x = (v: number) => 50 + 50 * Math.max(-1, Math.min(1, v / DOTS_REACH));
	return (
		<span class="dots" aria-hidden="true" title="each execution, from 25 % below to 25 % above the median">
			{dots.map((v, i) => v === null ? null : <i key={i} class={Math.abs(v) > DOTS_REACH ? "far" : undefined} style={{ left: `${x(v).toFixed(2)}%` }} />)}
		</span>
	);
}

function Content({ cell, base }: { cell: Cell | null; base: Cell | null | undefined }) {
	if (!cell)
		return <><span class="absent" aria-hidden="true">–</span><Said>not measured</Said></>;
	if (!cell.ok)
		return <><span class="failed">{status_word(cell.last!.status)}</span><Said>, no result</Said></>;
	const wall = cell.ok.wall_s;
	const [number, unit] = wall == null ? ["null", ""] : f.seconds_parts(wall);
	const { spread } = cell, { share } = cell.ok;
	const relative = base?.ok?.wall_s && base !== cell && wall ? wall / base.ok.wall_s : null;
	let aside = "", before = ", ", after = "";
	if (relative !== null) {
		aside = f.ratio_text(relative);
		after = ` the time of ${short_name(route.value.rel).product}`;
	} else if (spread !== undefined) {
		aside = f.percent(spread);
		before = ", range ";
	} else if (cell.ok.samples === 1) {
		aside = "n = 1";
	}
	return (
		<>
			<span class="median">{number} <small>{unit}</small></span>
			<span class={relative !== null ? "aside ratio" : "aside"}>{aside ? <Said>{before}</Said> : null}{aside}{after ? <Said>{after}</Said> : null}</span>
			{is_roomy.value ? cell.dots ? <Dots dots={cell.dots} /> : <span /> : null}
			<Marks cell={cell} />
			{share !== undefined ? <span class="share" style={{ width: `${Math.min(100, Math.max(0.6, share * 100)).toFixed(1)}%` }} /> : null}
		</>
	);
}

function hint(cell: Cell | null): string {
	if (!cell)
		return "not measured";
	if (!cell.ok)
		return `${status_meaning(cell.last!.status)} ${f.plural(cell.runs, "run")} stored, none of them a result.`;
	const out = [`median ${f.exact(cell.ok.wall_s)}`];
	if (cell.spread !== undefined && cell.ok.samples !== 1)
		out.push(`range ${f.percent(cell.spread)}${cell.ok.samples === undefined ? "" : ` of ${f.plural(cell.ok.samples, "execution")}`}`);
	if (cell.ok.share !== undefined)
		out.push(`${f.percent(cell.ok.share)} of the process`);
	if (cell.ok.caveats)
		out.push(f.plural(cell.ok.caveats, "caveat"));
	if (cell.last)
		out.push(`a later run: ${status_word(cell.last.status)}`);
	return out.join("\n");
}

const CaseRow = memo(function CaseRow({ line, rows, rel, at, row }: {
	line: CaseLine; rows: [Platform, number][]; rel: number; at: number; row: number;
}) {
	const base = rel >= 0 ? line.item.cells[rel] : undefined;
	return (
		<tr class="case" aria-rowindex={row}>
			<th scope="row" role="rowheader" title={line.item.title ? `${line.item.name}: ${line.item.title}` : line.item.name}>
				<span class="name">{line.item.name}</span>
				{line.item.title ? <span class="title">{line.item.title}</span> : null}
			</th>
			{rows.map(([p, i], column) => {
				const cell = line.item.cells[i] ?? null;
				const ratio = base?.ok?.wall_s && cell?.ok?.wall_s && base !== cell ? cell.ok.wall_s / base.ok.wall_s : null;
				return (
					<td role="gridcell" key={p.id} class={ratio === null ? undefined : "tinted"} style={ratio === null ? undefined : { background: tint(ratio) }}>
						<a href={href({ suite: line.suite, app: line.app, case: line.item.name, platform: p.id, run: "" })}
							tabIndex={at === column ? 0 : -1} data-at={`${line.index}:${column}`} title={hint(cell)}>
							<Said>{`${line.app} ${line.item.name} on ${short_name(p.id).product}: `}</Said>
							<Content cell={cell} base={base} />
						</a>
					</td>
				);
			})}
		</tr>
	);
});

export function short_name(id: string): { vendor: string; product: string; runtime: string } {
	const m = /^([^-]+)-(.+?)\.([a-z]+[0-9].*)$/.exec(id);
	return m ? { vendor: m[1]!, product: m[2]!, runtime: m[3]! } : { vendor: "", product: id, runtime: "" };
}

function facts(p: Platform): string {
	const info = platform_info(p);
	const out: string[] = [];
	if (typeof info.device_count === "number" && info.vendor !== "cpu")
		out.push(f.plural(info.device_count, "device"));
	if (typeof info.device_memory_bytes === "number")
		out.push(f.bytes(info.device_memory_bytes));
	if (!out.length && typeof info.cores === "number")
		out.push(f.plural(info.cores, "core"));
	else if (!out.length && typeof info.cpus === "number")
		out.push(f.plural(info.cpus, "CPU"));
	if (info.vendor === "cpu" && typeof info.memory_bytes === "number")
		out.push(f.bytes(info.memory_bytes));
	return out.join(" · ");
}

function Head() {
	const cases = suites.value.flatMap((s) => s.apps).flatMap((a) => a.cases);
	return (
		<thead>
			<tr aria-rowindex={1}>
				<th scope="col" role="columnheader" class="corner">Application and input</th>
				{columns.value.map(([p, i]) => {
					const name = short_name(p.id);
					const measured = cases.filter((c) => c.cells[i]?.ok).length;
					return (
						<th scope="col" role="columnheader" key={p.id} class={route.value.rel === p.id ? "base" : undefined}>
							<a href={href({ suite: "@platforms", app: "", case: "", platform: "" })} tabIndex={-1} title={`${p.id}\nall facts of the platforms`}>
								<span class="product">{name.product}</span>{" "}
								<span class="runtime">{name.vendor} · {name.runtime}</span>
								{facts(p) ? <span class="keyfacts">{facts(p)}</span> : null}
								<span class="measured">{measured} of {cases.length} measured</span>
								<Badge of={p} />
							</a>
						</th>
					);
				})}
			</tr>
		</thead>
	);
}

function focus_active(box: HTMLElement | null): void {
	box?.querySelector<HTMLElement>(`[data-at="${active.value.row}:${active.value.column}"]`)?.focus({ preventScroll: true });
}

// Bring a row into sight, below the sticky head.
function show_row(box: HTMLElement, row: number): void {
	const line = case_lines.value[row];
	if (!line)
		return;
	const top = lines.value.indexOf(line) * ROW_PX;
	const room = box.clientHeight - (box.querySelector("thead")?.offsetHeight ?? 0);
	// One row more at the top, where the name of the application stays.
	if (top - ROW_PX < box.scrollTop)
		box.scrollTop = Math.max(0, top - ROW_PX);
	else if (top + ROW_PX > box.scrollTop + room)
		box.scrollTop = top + ROW_PX - room;
}

function show_column(box: HTMLElement): void {
	const cell = box.querySelector<HTMLElement>(`[data-at="${active.value.row}:${active.value.column}"]`)?.closest("td");
	const first = box.querySelector<HTMLElement>("th.corner");
	if (!cell || !first)
		return;
	if (cell.offsetLeft - first.offsetWidth < box.scrollLeft)
		box.scrollLeft = cell.offsetLeft - first.offsetWidth;
	else if (cell.offsetLeft + cell.offsetWidth > box.scrollLeft + box.clientWidth)
		box.scrollLeft = cell.offsetLeft + cell.offsetWidth - box.clientWidth;
}

export function focus_grid(): void {
	const box = document.querySelector<HTMLElement>(".grid-box");
	if (box)
		show_row(box, active.value.row);
	requestAnimationFrame(() => focus_active(box));
}

// The cell that the address names becomes the active one, so that Esc comes back to it.
export function activate_from_route(): void {
	const r = route.value;
	const row = case_lines.value.findIndex((l) => l.suite === r.suite && l.app === r.app && l.item.name === r.case);
	const column = columns.value.findIndex(([p]) => p.id === r.platform);
	if (row >= 0 && column >= 0)
		active.value = { row, column };
}

function on_key(event: KeyboardEvent, box: HTMLElement): void {
	if (event.altKey || event.metaKey)
		return;
	const last_row = case_lines.value.length - 1, last_column = columns.value.length - 1;
	const page = Math.max(1, Math.floor(box.clientHeight / ROW_PX) - 3);
	let { row, column } = active.value;
	switch (event.key) {
	case "ArrowDown": row++; break;
	case "ArrowUp": row--; break;
	case "ArrowLeft": column--; break;
	case "ArrowRight": column++; break;
	case "PageDown": row += page; break;
	case "PageUp": row -= page; break;
	case "Home": column = 0; if (event.ctrlKey) row = 0; break;
	case "End": column = last_column; if (event.ctrlKey) row = last_row; break;
	case "Enter": case " ": {
		event.preventDefault();
		(event.target as HTMLElement).closest("a")?.click();
		return;
	}
	default: return;
	}
	event.preventDefault();
	active.value = { row: Math.min(last_row, Math.max(0, row)), column: Math.min(last_column, Math.max(0, column)) };
	show_row(box, active.value.row);
	// The row may only come into being with the next drawing.
	requestAnimationFrame(() => {
		focus_active(box);
		show_column(box);
	});
}

// The rows from start to end; the first of them gives way to its application's own row, which
// then stays below the head.
function with_app(all: Line[], start: number, end: number): Line[] {
	const out = all.slice(start, end);
	for (let i = start; i >= 0; i--)
		if (all[i]!.kind === "app") {
			out[0] = all[i]!;
			break;
		}
	return out;
}

export function Grid({ hidden }: { hidden: boolean }) {
	is_loaded();
	const box = useRef<HTMLDivElement>(null);
	const all = lines.value;
	const rel = report.platforms.findIndex((p) => p.id === route.value.rel);
	const every = printing.value || all.length <= ALL_ROWS;
	const start = every ? 0 : Math.max(0, Math.floor(scroll.value.top / ROW_PX) - BEYOND);
	const end = every ? all.length : Math.min(all.length, Math.ceil((scroll.value.top + scroll.value.height) / ROW_PX) + BEYOND);
	const shown = start > 0 ? with_app(all, start, end) : all.slice(start, end);
	// One cell always takes the Tab key, also when the active one is scrolled out of being.
	const rows = shown.filter((l): l is CaseLine => l.kind === "case");
	const here = rows.some((l) => l.index === active.value.row) ? active.value : { row: rows[0]?.index ?? 0, column: 0 };

	useLayoutEffect(() => {
		const node = box.current!;
		const measure = () => {
			if (node.clientHeight)
				scroll.value = { top: node.scrollTop, height: node.clientHeight };
			node.style.setProperty("--head-px", `${node.querySelector("thead")?.offsetHeight ?? 0}px`);
		};
		measure();
		const watch = new ResizeObserver(measure);
		watch.observe(node);
		node.addEventListener("scroll", measure, { passive: true });
		return () => {
			watch.disconnect();
			node.removeEventListener("scroll", measure);
		};
	}, []);
	useEffect(() => {
		if (box.current && !hidden)
			box.current.scrollTop = 0;
	}, [tab.value, route.value.filter]);

	return (
		<div class="grid-box" ref={box} hidden={hidden} onKeyDown={(e) => on_key(e, box.current!)}
			onFocusIn={(e) => {
				const at = (e.target as HTMLElement).dataset?.at?.split(":").map(Number);
				if (at)
					active.value = { row: at[0]!, column: at[1]! };
			}}>
			<table role="grid" class={is_roomy.value ? (columns.value.length === 1 ? "roomy single" : "roomy") : undefined} aria-label={`${tab.value || "all suites"}: inputs by platforms`} aria-rowcount={all.length + 1}
				aria-colcount={columns.value.length + 1} style={{ "--columns": columns.value.length }}>
				<colgroup><col class="first" />{columns.value.map(([p]) => <col key={p.id} />)}</colgroup>
				<Head />
				<tbody>
					{start > 0 ? <tr class="space" role="presentation" style={{ height: `${start * ROW_PX}px` }} /> : null}
					{shown.map((line, i) => line.kind === "app" ? (
						<tr class="app" key={`a ${line.suite}/${line.app}`} aria-rowindex={start + i + 2}>
							<th scope="rowgroup" role="rowheader">
								<span class="name">{line.app}</span>
								<span class="title">{tab.value === "" && report.suites.length > 1 ? <b>{line.suite}</b> : null}{f.plural(line.shown, "input")}, {line.measured} of {line.possible} measured</span>
							</th>
							<td role="gridcell" colSpan={columns.value.length} />
						</tr>
					) : (
						<CaseRow key={`c ${line.suite}/${line.app}/${line.item.name}`} line={line} rows={columns.value} rel={rel} row={start + i + 2}
							at={here.row === line.index ? here.column : -1} />
					))}
					{end < all.length ? <tr class="space" role="presentation" style={{ height: `${(all.length - end) * ROW_PX}px` }} /> : null}
				</tbody>
			</table>
			{all.length === 0 ? <p class="empty">{route.value.filter ? `No input matches “${route.value.filter}”.` : "Nothing is stored yet."}</p> : null}
		</div>
	);
}

// Arrow keys belong to the grid, but the first of them may come while nothing has the focus.
addEventListener("keydown", (e) => {
	if (document.activeElement === document.body && e.key.startsWith("Arrow") && !route.value.app && !e.altKey && !e.metaKey && !e.ctrlKey) {
		e.preventDefault();
		focus_grid();
	}
});

export function counts(): { apps: number; inputs: number; measured: number; possible: number } {
	const apps = suites.value.flatMap((s) => s.apps);
	const cases = apps.flatMap((a) => a.cases);
	let measured = 0;
	for (const c of cases)
		for (const [, i] of columns.value)
			measured += c.cells[i]?.ok ? 1 : 0;
	return { apps: apps.length, inputs: cases.length, measured, possible: cases.length * columns.value.length };
}

// What is on screen, as a table for other programs: medians in seconds; null is an empty cell.
export function grid_csv(): string {
	const quote = (text: string) => (/[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
	const head = ["suite", "app", "case", ...columns.value.map(([p]) => p.id)];
	const rows = case_lines.value.map((l) => [l.suite, l.app, l.item.name, ...columns.value.map(([, i]) => String(l.item.cells[i]?.ok?.wall_s ?? ""))]);
	return [head, ...rows].map((r) => r.map(quote).join(",") + "\r\n").join("");
}

export function step_case(by: number): void {
	const r = route.value;
	const at = case_lines.value.findIndex((l) => l.suite === r.suite && l.app === r.app && l.item.name === r.case);
	const next = case_lines.value[at + by];
	if (at >= 0 && next)
		go({ suite: next.suite, app: next.app, case: next.item.name, run: "" });
}
