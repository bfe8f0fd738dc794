// One measurement: all that is known about one case on one platform.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { type Case, type Cell, find_case, is_loaded, type Rec, record_of, report, type Row, shown_run, why_null } from "./data";
import { DeviceCard, GapCard, OpsCard, PhasesCard, RanksCard, StepsCard } from "./detail-parts";
import { StatesCard } from "./devices";
import { FilesCard } from "./files";
import * as f from "./format";
import { columns, short_name, step_case, tab } from "./grid";
import { History, Null } from "./history";
import { href, route } from "./route";
import { ExecutionStrip, ProcessBar } from "./strip";
import { interval_words, is_routine, status_meaning, status_word, why_words } from "./words";

export const said = signal(""); // what the live region speaks

function Value({ rec, field, children }: { rec: Rec; field: string; children: ComponentChildren }) {
	return children == null ? <Null why={why_words(why_null(rec, field))} /> : <>{children}</>;
}

export function copy(text: string, what: string): void {
	const done = () => { said.value = `${what} copied`; };
	const by_hand = () => {
		const area = document.createElement("textarea");
		area.value = text;
		document.body.append(area);
		area.select();
		said.value = document.execCommand("copy") ? `${what} copied` : `${what} could not be copied`;
		area.remove();
	};
	if (navigator.clipboard && isSecureContext)
		navigator.clipboard.writeText(text).then(done, by_hand);
	else
		by_hand();
}

export function save(name: string, text: string, type = "application/json"): void {
	const link = document.createElement("a");
	link.href = URL.createObjectURL(new Blob([text], { type }));
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// As it would be typed: quoted where a shell would take it apart.
function shell_word(word: string): string {
	return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`;
}

function command_line(rec: Rec): string {
	const env = (rec.inputs.env ?? []).map((pair) => {
		const at = pair.indexOf("=");
		return at < 0 ? pair : `${pair.slice(0, at)}=${shell_word(pair.slice(at + 1))}`;
	});
	return [...env, ...(rec.launcher.argv ?? []).map(shell_word), ...(rec.inputs.argv ?? []).map(shell_word)].join(" ");
}

function Headline({ rec }: { rec: Rec }) {
	const roi = rec.roi;
	if (roi.wall_s === undefined)
		return null;
	const [number, unit] = f.seconds_parts(roi.wall_s);
	const n = (rec.measurement.cleans_used as number | undefined) ?? roi.runs_s?.length;
	const [low, high] = roi.ci95_s ?? [];
	return (
		<div class="headline">
			<p class="big" title={f.exact(roi.wall_s)}>{number}<small>{unit}</small></p>
			<div class="beside">
				{low !== undefined && high !== undefined
					? <p><b>{f.seconds_range(low, high)}</b> <span class="dim">{interval_words(n ?? 0, low, high, roi.min_s, roi.max_s, roi.ci95_coverage)}</span></p>
					: <p class="dim">{n === 1 ? "One execution: the spread is not known." : `No interval: ${why_words(why_null(rec, "roi.ci95_s"))}.`}</p>}
				<p class="dim">
					Median {roi.source === "timer" ? <>of the application’s own timer (<code>{roi.timer}</code>)</> : "of the slowest process’s region"}
					{n === undefined ? ", number of executions not known" : ` over ${f.plural(n, "clean execution")}`}
					{roi.spread !== undefined ? `; range ${f.percent(roi.spread)} of it` : ""}
				</p>
				<p class="pills">
					{rec.kind && rec.kind !== "measured" ? <span class="pill info">{rec.kind}</span> : null}
					{roi.stable === true ? <span class="pill">stable <small>{roi.stable_rule === "iqr" ? "IQR ≤ 5 %" : "range ≤ 10 %"}</small></span> : null}
					{roi.stable === false ? <span class="pill warn">not stable <small>{roi.stable_rule === "iqr" ? "IQR > 5 %" : "range > 10 %"}</small></span> : null}
					{roi.two_levels ? <span class="pill warn">two levels</span> : null}
					{roi.drift ? <span class="pill warn">drift</span> : null}
					{rec.platform_info.conformance ? <span class="pill">conformance {String(rec.platform_info.conformance)}</span> : null}
				</p>
			</div>
		</div>
	);
}

function Caveats({ rec }: { rec: Rec }) {
	if (!rec.caveats.length && rec.status !== "ok")
		return null;
	const notable = rec.caveats.filter((c) => !is_routine(c.code) || ["unstable", "two_levels", "drift"].includes(c.code)), routine = rec.caveats.filter((c) => !notable.includes(c));
	return (
		<section class={notable.length ? "card caveats notable" : rec.caveats.length ? "card caveats" : "card"} id="caveats">
			<h3>Caveats <span class="dim">{rec.caveats.length || "none"}</span></h3>
			{rec.caveats.length ? <ul>{[...notable, ...routine].map((c, i) => <li key={i} class={i < notable.length ? undefined : "dim"}>{c.text} <code class="tag">{c.code}</code></li>)}</ul> : <p class="note">Nothing limits these numbers as far as the tool can tell.</p>}
		</section>
	);
}

interface Column { key: string; name: string; show: (v: never) => ComponentChildren; title?: string }
const S = (v: number) => <span title={f.exact(v)}>{f.seconds(v)}</span>;
const N = (v: number) => f.count(v);
const EXECUTION_COLUMNS: Column[] = [
	{ key: "roi_s", name: "Region", show: S },
	{ key: "pre_roi_s", name: "Before", show: S },
	{ key: "excluded_s", name: "Excluded", show: S },
	{ key: "post_roi_s", name: "After", show: S },
	{ key: "process_wall_s", name: "Process", show: S },
	{ key: "own_timer_s", name: "Own timer", show: S },
	{ key: "fom", name: "FOM", show: f.significant },
	{ key: "entries", name: "Entries", show: N },
	{ key: "imbalance_s", name: "Imbalance", show: S },
	{ key: "user_s", name: "User CPU", show: S },
	{ key: "system_s", name: "System CPU", show: S },
	{ key: "others_cpu_s", name: "Others’ CPU", show: S, title: "CPU time of other processes meanwhile" },
	{ key: "load1", name: "Load", show: f.significant, title: "load of the machine at the start" },
	{ key: "involuntary_switches", name: "Pushed off", show: N, title: "involuntary context switches" },
	{ key: "major_faults", name: "Major faults", show: N },
	{ key: "max_rss_bytes", name: "Peak memory", show: f.bytes },
	{ key: "threads_total", name: "Threads", show: N },
];

function Executions({ rec }: { rec: Rec }) {
	const list = rec.executions;
	const made = rec.measurement.cleans_made as number | undefined, used = rec.measurement.cleans_used as number | undefined;
	const shown = EXECUTION_COLUMNS.filter((c) => list.some((e) => e[c.key] != null)
		&& !(["imbalance_s", "excluded_s", "major_faults"].includes(c.key) && list.every((e) => !e[c.key])));
	const troubled = list.filter((e) => !e.used && !e.name.startsWith("warmup") && (e.why || e.status !== "ok"));
	return (
		<section class="card wide" id="executions">
			<h3>Executions <span class="dim">{made !== undefined && used !== undefined ? `${made} clean made, ${used} used` : ""}{rec.measurement.warmups ? `, ${rec.measurement.warmups} warm-up` : ""}{rec.measurement.order ? `, ${rec.measurement.order}` : ""}</span></h3>
			<ExecutionStrip rec={rec} />
			{list.length ? (
				<div class="scroll" tabIndex={0} role="region" aria-label="Table of executions">
					<table class="data">
						<thead><tr><th scope="col">Execution</th>{shown.map((c) => <th scope="col" class="n" key={c.key} title={c.title}>{c.name}</th>)}</tr></thead>
						<tbody>
							{list.map((e) => (
								<tr key={e.name} class={e.used ? undefined : "unused"}>
									<th scope="row">{e.name}{e.used ? null : e.name.startsWith("warmup") ? <span class="tag">discarded</span> : e.name.startsWith("profiled") ? null : <span class="tag bad">not used</span>}</th>
									{shown.map((c) => <td class="n" key={c.key}>{e[c.key] == null ? <Null /> : c.show(e[c.key] as never)}</td>)}
								</tr>
							))}
						</tbody>
					</table>
				</div>
			) : <p class="note">Single executions are not in this record.</p>}
			{troubled.map((e) => (
				<div class="trouble" key={e.name}>
					<p><b>{e.name}</b> {status_word(e.status ?? "")}{e.why ? `: ${e.why}` : ""}{/exit code|signal/.test(e.why ?? "") ? "" : e.exit_code !== undefined ? ` (exit code ${e.exit_code})` : e.signal !== undefined ? ` (signal ${e.signal})` : ""}</p>
					{e.output_tail ? <pre tabIndex={0} aria-label={`last lines of ${e.name}`}>{e.output_tail}</pre> : null}
				</div>
			))}
		</section>
	);
}

function Checks({ rec }: { rec: Rec }) {
	const { fom, own_timer, roi } = rec;
	const fom_asked = fom.status !== undefined && fom.status !== "none", own_asked = own_timer.status !== undefined && own_timer.status !== "none";
	if (!fom_asked && !own_asked)
		return null;
	const diff = own_timer.roi_diff_frac;
	return (
		<section class="card" id="checks">
			<h3>The application’s own numbers</h3>
			<dl class="facts">
				{own_asked ? <>
					<dt>Own timer</dt>
					<dd>{own_timer.value_s === undefined ? <Null why={own_timer.status?.replace(/_/g, " ")} /> : <span title={f.exact(own_timer.value_s)}>{f.seconds(own_timer.value_s)}</span>}
						{diff !== undefined ? <span class={Math.abs(diff) > 0.02 ? "bad" : "dim"}> region is {f.percent(Math.abs(diff), 2)} {diff < 0 ? "below" : "above"} it</span> : own_timer.status !== "ok" ? <span class="bad"> {own_timer.status?.replace(/_/g, " ")}</span> : null}</dd>
				</> : null}
				{fom_asked ? <>
					<dt>{fom.name ?? "Figure of merit"}</dt>
					<dd>{fom.value === undefined ? <Null why={fom.status?.replace(/_/g, " ")} /> : <b>{f.significant(fom.value)} {fom.unit}</b>}
						{fom.better ? <span class="dim"> {fom.better} is better</span> : null}{fom.status !== "ok" ? <span class="bad"> {fom.status?.replace(/_/g, " ")}</span> : null}</dd>
					{fom.runs?.length ? <><dt>each execution</dt><dd class="list">{fom.runs.map((v, i) => <span key={i}>{f.significant(v)}</span>)}</dd></> : null}
				</> : null}
				{roi.entries != null || roi.source === "markers" ? <><dt>Entries</dt><dd><Value rec={rec} field="roi.entries">{roi.entries == null ? null : f.count(roi.entries)}</Value>{roi.folded ? <span class="dim"> {f.count(roi.folded)} of them kept as counters only</span> : null}</dd></> : null}
				{roi.entry_min_s !== undefined && roi.entry_max_s !== undefined ? <><dt>one entry</dt><dd>{f.seconds(roi.entry_min_s)} – {f.seconds(roi.entry_max_s)}</dd></> : null}
			</dl>
		</section>
	);
}

type Fact = [label: string, field: string, show?: (v: never) => ComponentChildren];
const yes = (v: boolean) => (v ? "yes" : "no");
const list = (v: string[]) => (v.length === 0 ? "none" : v.length > 6 ? `${v.slice(0, 6).join(", ")} and ${v.length - 6} more` : v.join(", "));
const khz = (v: number) => f.si(v * 1e3, "Hz");

// Facts of one block: those that are known, and those that are not but were asked for.
function Facts({ rec, block, facts, always = [], quiet }: { rec: Rec; block: string; facts: Fact[]; always?: string[]; quiet?: boolean }) {
	const values = (rec as unknown as { [k: string]: Row })[block] ?? {};
	const shown = facts.filter(([, field]) => values[field] != null || always.includes(field));
	if (!shown.length)
		return quiet ? null : <p class="note">null: {why_words(why_null(rec, block))}.</p>;
	return (
		<dl class="facts">
			{shown.map(([label, field, show]) => (
				<><dt key={`${field} t`}>{label}</dt><dd key={field}><Value rec={rec} field={`${block}.${field}`}>{values[field] == null ? null : show ? show(values[field] as never) : String(values[field])}</Value>{values[field] == null ? <span class="dim"> {why_words(why_null(rec, `${block}.${field}`))}</span> : null}</dd></>
			))}
		</dl>
	);
}

const MACHINE: Fact[] = [
	["Load at start", "load1", f.significant], ["Others’ CPU time", "others_cpu_s", f.seconds], ["Other runs at once", "others_running", N],
	["CPU time, user", "user_s", f.seconds], ["CPU time, system", "system_s", f.seconds], ["Waited", "voluntary_switches", N],
	["Pushed off the CPU", "involuntary_switches", N], ["Minor faults", "minor_faults", N], ["Major faults", "major_faults", N],
	["Peak memory", "max_rss_bytes", f.bytes], ["Slowest CPU", "cpu_khz_min", khz], ["Fastest CPU", "cpu_khz_max", khz],
	["Governor", "governor"], ["Temperature", "temperature_c", (v: number) => `${f.significant(v)} °C`], ["Stolen by hypervisor", "steal_frac", f.percent],
	["Accelerators looked at", "devices", (v: Row[]) => f.count(v.length)],
];
const PLACEMENT: Fact[] = [
	["CPU sets", "cpus", list], ["CPUs together", "cpus_n", N], ["Threads", "threads_total", N], ["Oversubscribed", "oversubscribed", yes], ["Memory nodes", "mems", list],
];
const PLATFORM: Fact[] = [
	["Vendor", "vendor"], ["Product", "product"], ["Runtime", "runtime"], ["CPU", "cpu_model"], ["Sockets", "sockets", N], ["Cores", "cores", N],
	["CPUs", "cpus", N], ["NUMA nodes", "numa_nodes", N], ["Memory", "memory_bytes", f.bytes], ["Last-level cache", "l3_bytes", f.bytes],
	["Devices", "device_count", N], ["Device memory", "device_memory_bytes", f.bytes], ["Driver", "driver"], ["Kernel", "kernel"], ["System", "os"],
	["Host", "host"], ["Hypervisor", "hypervisor"], ["Clock source", "clocksource"], ["Invariant TSC", "tsc_invariant", yes],
	["SMT", "smt", yes], ["Turbo", "turbo", yes], ["Conformance", "conformance"],
];
export { PLATFORM as PLATFORM_FACTS };
const mono = (v: string) => <code class="hash">{v}</code>;
const HOW: Fact[] = [
	["Region", "region", mono], ["Collector", "collector"], ["Not profiled", "profile_reason"], ["Marks’ clock", "clock"], ["Waits for the device", "device_sync", yes],
	["Ranks of the timer", "launcher_region"], ["Results checked", "verify"], ["Marks leave out", "excludes"], ["Limit", "timeout_s", f.seconds], ["Processes held by", "tree"],
	["Passed on", "env_allow", list], ["Kept out", "env_refused", list], ["Tool", "tool"],
];
const PROVENANCE: Fact[] = [
	["Suite file", "suite_file"], ["Suite hash", "suite_hash", mono], ["Commit", "git_commit", mono], ["Changed files", "git_dirty", yes],
	["Imported from", "imported_from"], ["Import hash", "import_hash", mono], ["Source commit", "source_commit", mono], ["Source’s verdict", "verification"], ["Results correct", "correctness"],
];
const OBSERVER: Fact[] = [
	["Marks", "marks", N], ["Cost of marks", "mark_cost_s", f.seconds], ["Runner’s CPU", "runner_cpu_s", f.seconds], ["Log", "log_bytes", f.bytes], ["Collector’s CPU", "collector_cpu_s", f.seconds], ["Agent’s CPU", "agent_cpu_s", f.seconds], ["Wake-ups", "wakeups", N], ["Looking at devices", "sampler_cpu_s", f.seconds],
];
const INPUTS: Fact[] = [["Folder", "cwd", mono], ["Processes", "ranks", N], ["Executable", "exe_hash", mono], ["Input identity", "input_hash", mono], ["Files", "files", list]];

function Command({ rec }: { rec: Rec }) {
	const line = command_line(rec);
	return (
		<section class="card" id="command">
			<h3>Command</h3>
			{line ? <div class="command"><pre tabIndex={0} aria-label="command line">{line}</pre><button type="button" onClick={() => copy(line, "command")}>Copy</button></div>
				: <p class="note">null: {why_words(why_null(rec, "inputs"))}.</p>}
			{line ? <Facts rec={rec} block="inputs" facts={INPUTS} /> : null}
		</section>
	);
}

function Json({ rec }: { rec: Rec }) {
	const text = () => JSON.stringify(rec.json, null, 2);
	return (
		<section class="card wide" id="json">
			<h3>Record <code class="hash">{rec.run_id}</code></h3>
			<p class="buttons">
				<button type="button" onClick={() => copy(text(), "record")}>Copy JSON</button>
				<button type="button" onClick={() => save(`${rec.run_id}.json`, text())}>Save JSON</button>
				<button type="button" onClick={() => copy(location.href, "link")}>Copy link</button>
			</p>
			<p class="note">Fields that are null are left out{rec.ops_count > rec.ops.length ? `, and the ${rec.ops.length} largest of ${rec.ops_count} operations are in it` : ""}; <code>roimeter show {rec.run_id} --format json</code> prints all of it.</p>
		</section>
	);
}

function PlatformTabs({ item }: { item: Case }) {
	return (
		<nav class="platforms" aria-label="The same input on each platform">
			{columns.value.map(([p, i]) => {
				const cell = item.cells[i] ?? null, name = short_name(p.id);
				const here = p.id === route.value.platform;
				return (
					<a key={p.id} href={href({ platform: p.id, run: "" })} aria-current={here ? "page" : undefined} title={p.id}>
						<span>{name.product}</span>
						<b class={cell?.ok ? "" : "none"}>{!cell ? "not measured" : cell.ok ? f.seconds(cell.ok.wall_s) : status_word(cell.last!.status)}</b>
					</a>
				);
			})}
		</nav>
	);
}

function Banner({ cell, rec }: { cell: Cell; rec: Rec }) {
	if (rec.status !== "ok")
		return (
			<div class="banner" role="note">
				<p><b>{status_word(rec.status)}</b> <code class="tag">{rec.status}</code> {rec.status_text ?? status_meaning(rec.status)}</p>
				<p class="dim">{f.when(rec.utc)}. This run is not a result{cell.ok ? <>; <a href={href({ run: "" })}>show the latest result</a></> : ", and there is none yet"}.</p>
			</div>
		);
	if (cell.ok && cell.last) {
		const last = record_of(cell.last.run_id);
		const there = last && !(last instanceof Error) ? last : null;
		return (
			<div class="banner" role="note">
				<p><b>A later run {status_word(cell.last.status)}.</b> {there?.status_text ?? status_meaning(cell.last.status)}</p>
				<p class="dim">{there ? `${f.when(there.utc)}. ` : ""}Below is the latest result, of {f.when(rec.utc)}; <a href={href({ run: "last" })}>show the later run</a>.</p>
			</div>
		);
	}
	return null;
}

function Measurement({ cell }: { cell: Cell }) {
	const rec = record_of(route.value.run === "last" && cell.last ? cell.last.run_id : shown_run(cell));
	if (rec === undefined)
		return <p class="empty" role="status">Loading the record …</p>;
	if (rec instanceof Error)
		return <p class="empty" role="alert">The record of this run can’t be shown: {rec.message}</p>;
	return (
		<>
			<Banner cell={cell} rec={rec} />
			<Headline rec={rec} />
			<ProcessBar rec={rec} />
			<div class="cards">
				<Caveats rec={rec} />
				<div class="stack"><Checks rec={rec} /><StepsCard rec={rec} /></div>
				<Executions rec={rec} />
				<RanksCard rec={rec} />
				<PhasesCard rec={rec} />
				<DeviceCard rec={rec} />
				<GapCard rec={rec} />
				<OpsCard rec={rec} />
				<FilesCard rec={rec} />
				<StatesCard rec={rec} />
				<History cell={cell} shown={rec.run_id} />
			</div>
			<div class="cards">
				<Command rec={rec} />
			</div>
			<div class="columns">
				{rec.kind === "measured" || Object.keys(rec.context).length ? <section class="card" id="machine"><h3>Machine meanwhile</h3><Facts rec={rec} block="context" facts={MACHINE} always={rec.kind === "measured" ? ["load1", "others_cpu_s", "devices"] : []} /><Facts rec={rec} block="placement" facts={PLACEMENT} quiet /></section> : null}
				<section class="card" id="how"><h3>How it was measured</h3><Facts rec={rec} block="measurement" facts={HOW} /></section>
				<section class="card" id="platform"><h3>Platform</h3><Facts rec={rec} block="platform_info" facts={PLATFORM} /></section>
				<section class="card" id="provenance"><h3>Provenance</h3><Facts rec={rec} block="provenance" facts={PROVENANCE} /></section>
				{Object.keys(rec.observer).length ? <section class="card" id="observer"><h3>What measuring cost</h3><Facts rec={rec} block="observer" facts={OBSERVER} /></section> : null}
			</div>
			<Json rec={rec} />
		</>
	);
}

export function Detail() {
	is_loaded();
	const r = route.value;
	const item = find_case(r.suite, r.app, r.case);
	const at = report.platforms.findIndex((p) => p.id === r.platform);
	const cell = item?.cells[at] ?? null;
	return (
		<main class="detail" id="main" tabIndex={-1} aria-label={`${r.app} ${r.case} on ${r.platform}`}>
			<div class="where">
				<nav aria-label="Where this is">
					<a href={href({ suite: tab.value, app: "", case: "", platform: "", run: "" })} title="Esc">← {tab.value || "all"}</a>
				</nav>
				<span class="steps">
					<button type="button" onClick={() => step_case(-1)} title="the input before ([)" aria-label="the input before">‹</button>
					<button type="button" onClick={() => step_case(1)} title="the next input (])" aria-label="the next input">›</button>
				</span>
			</div>
			<h2>{report.suites.length > 1 ? <span class="suite">{r.suite}</span> : null}<span class="app">{r.app}</span> <span class="case">{r.case}</span>{item?.title ? <small>{item.title}</small> : null}</h2>
			{item ? <PlatformTabs item={item} /> : null}
			{!item ? <p class="empty">There is no input “{r.app}/{r.case}” in this report.</p>
				: at < 0 ? <p class="empty">There is no platform “{r.platform}” in this report.</p>
					: !cell ? <p class="empty">Not measured: no run of <b>{r.app}/{r.case}</b> on <b>{r.platform}</b> is stored. <span class="null">null</span></p>
						: <Measurement cell={cell} />}
		</main>
	);
}
