// Runs that are under way: what the daemon tells of each, once a second at most, and what can be
// said from it. Only a page that a daemon sends has any. What is not known is null, and never 0.
import { computed, signal } from "@preact/signals";
import { useState } from "preact/hooks";
import * as f from "./format";
import { short_name } from "./grid";
import { Null } from "./history";
import { href } from "./route";

// docs/daemon.md, "Progress"
export interface Running {
	run_id: string | null; suite: string | null; app: string | null; case: string | null; platform: string | null; kind: string | null;
	user: string | null; job: string | null; execution: string | null; execution_began: string | null;
	executions_done: number | null; executions: number | null; steps: number | null; steps_expected: number | null;
	processes: number | null; expected_s: number | null; expected_end: string | null; ended: boolean;
}
interface Entry { run: Running; heard: number }

const QUIET_MS = 30_000;  // agents tell every few seconds; after this it is said that one does not
const AGAIN_MS = 30_000;  // and the daemon is asked whether it is still under way
const SHOWN = 6;          // lines before "and n more"

const entries = signal(new Map<string, Entry>());
const now = signal(Date.now());
let ticking = 0, asked = 0;

// Processes outside of runs have no id before they have ended.
const key_of = (r: Running): string => r.run_id ?? `${r.user} ${r.job} ${r.app} ${r.case} ${r.execution_began}`;

// A clock for what is left and what is silent, as long as there is something to tell.
function keep_time(): void {
	if (entries.value.size && !ticking)
		ticking = window.setInterval(() => {
			now.value = Date.now();
			if ([...entries.value.values()].some((e) => now.value - e.heard > QUIET_MS) && now.value - asked > AGAIN_MS)
				void look();
		}, 1000);
	else if (!entries.value.size && ticking) {
		clearInterval(ticking);
		ticking = 0;
	}
}

function set(next: Map<string, Entry>): void {
	entries.value = next;
	now.value = Date.now();
	keep_time();
}

// All that is under way now. What was heard of before stays as old as it was.
async function look(): Promise<void> {
	asked = Date.now();
	const answer = await fetch("api/v1/running", { headers: { Accept: "application/json" } }).catch(() => null);
	const list = answer?.ok ? ((await answer.json()) as { runs: Running[] }).runs : null;
	if (!list)
		return;
	const next = new Map<string, Entry>();
	for (const run of list) {
		const key = key_of(run), old = entries.value.get(key);
		next.set(key, { run, heard: old && same(old.run, run) ? old.heard : asked });
	}
	set(next);
}

const same = (a: Running, b: Running): boolean => JSON.stringify(a) === JSON.stringify(b);

export function follow_running(events: EventSource): void {
	events.addEventListener("hello", () => void look());
	events.addEventListener("progress", (e) => {
		const run = JSON.parse((e as MessageEvent<string>).data) as Running;
		// Without an id it can't be told which one it is.
		if (run.run_id === null) {
			if (Date.now() - asked > 2000)
				void look();
			return;
		}
		set(new Map(entries.value).set(run.run_id, { run, heard: Date.now() }));
	});
	for (const name of ["run", "gone"])
		events.addEventListener(name, (e) => {
			const { run_id, kind } = JSON.parse((e as MessageEvent<string>).data) as { run_id: string; kind?: string };
			if (kind === "ambient" && [...entries.value.values()].some((x) => x.run.run_id === null))
				void look();
			if (!entries.value.has(run_id))
				return;
			const next = new Map(entries.value);
			next.delete(run_id);
			set(next);
		});
}

// How far, in 0 to 1: by executions, and within one by its steps, else by its time. null: not known.
function fraction(r: Running, at: number): number | null {
	if (r.executions === null || r.executions_done === null || r.executions <= 0)
		return null;
	const began = r.execution_began === null ? NaN : Date.parse(r.execution_began);
	let part = 0;
	if (r.execution !== null && r.steps !== null && r.steps_expected)
		part = r.steps / r.steps_expected;
	else if (r.execution !== null && r.expected_s && !Number.isNaN(began))
		part = (at - began) / 1000 / r.expected_s;
	return Math.min(1, (r.executions_done + Math.max(0, Math.min(0.99, part))) / r.executions);
}

// "about 3 min": as fine as anybody can use it.
function about(s: number): string {
	if (s < 60)
		return `${Math.max(5, Math.round(s / 5) * 5)} s`;
	if (s < 5400)
		return `${Math.round(s / 60)} min`;
	return s < 129_600 ? `${f.significant(Math.round(s / 360) / 10)} h` : `${Math.round(s / 86400)} days`;
}

function Ends({ r, at }: { r: Running; at: number }) {
	if (r.ended)
		return <span class="dim">waits for its last marks</span>;
	const end = r.expected_end === null ? NaN : Date.parse(r.expected_end);
	if (Number.isNaN(end))
		return <><span class="dim">end </span><Null why="no earlier run says how long this takes" /></>;
	const left = (end - at) / 1000;
	return <time dateTime={r.expected_end!} title={f.when(r.expected_end!)}>{left >= 0 ? `in about ${about(left)}` : `${about(-left)} later than expected`}</time>;
}

function Execution({ r }: { r: Running }) {
	if (r.kind === "ambient")
		return <span class="dim">{[r.job === null ? "" : `job ${r.job}`, r.user ?? ""].filter(Boolean).join(", ")}</span>;
	const k = r.executions_done === null ? null : Math.min(r.executions_done + (r.execution === null ? 0 : 1), r.executions ?? Infinity);
	return (
		<>
			{r.execution === null ? <span class="dim">{r.ended ? "all made" : "between executions"}</span> : <code>{r.execution}</code>}
			{k !== null && r.executions !== null ? <span class="dim"> {r.execution === null ? `${k} of ${r.executions} made` : `${k} of ${r.executions}`}</span> : null}
		</>
	);
}

function Steps({ r }: { r: Running }) {
	if (r.steps === null)
		return <><Null why="this program marks no steps, or none was heard of yet" /><span class="dim"> steps</span></>;
	return <>{f.count(r.steps)}<span class="dim">{r.steps_expected === null ? "" : ` of ${f.count(r.steps_expected)}`} {r.steps === 1 && r.steps_expected === null ? "step" : "steps"}</span></>;
}

function Line({ entry, at }: { entry: Entry; at: number }) {
	const r = entry.run, done = fraction(r, at), silent = at - entry.heard;
	const name = <><span class="app">{r.app ?? "a program"}</span> <span class="case">{r.case ?? ""}</span></>;
	const can_open = r.suite !== null && r.app !== null && r.case !== null && r.platform !== null;
	return (
		<tr class={silent > QUIET_MS ? "silent" : undefined}>
			<th scope="row">
				{can_open ? <a href={href({ suite: r.suite!, app: r.app!, case: r.case!, platform: r.platform!, run: "" })}>{name}</a> : name}
				{r.kind !== null && r.kind !== "measured" ? <span class="tag">{r.kind}</span> : null}
			</th>
			<td class="on" title={r.platform ?? undefined}>{r.platform === null ? <Null /> : short_name(r.platform).product}</td>
			<td class="execution"><Execution r={r} /></td>
			<td class="steps"><Steps r={r} /></td>
			<td class="bars">{done === null ? null : <span class="progress" role="progressbar" aria-label={`${r.app ?? "run"} ${r.case ?? ""}`} aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.floor(done * 100)}><i style={{ width: `${(done * 100).toFixed(1)}%` }} /></span>}</td>
			<td class="ends">{silent > QUIET_MS ? <span class="bad" title="its agent is not heard of: stopped, cut off, or its node is down">no news for {about(silent / 1000)}</span> : <Ends r={r} at={at} />}</td>
		</tr>
	);
}

// What the live region speaks: that there are more, or fewer; not each step.
export const running_said = computed(() => {
	const n = entries.value.size;
	return n ? `${f.plural(n, "run")} in progress` : "";
});

export function RunningStrip() {
	const [all, set_all] = useState(false);
	const list = [...entries.value.values()].sort((a, b) => (key_of(a.run) < key_of(b.run) ? 1 : -1));
	if (!list.length)
		return null;
	const shown = all ? list : list.slice(0, SHOWN);
	return (
		<section class="running" aria-label="Runs in progress">
			<div class="scroll" tabIndex={0} role="region" aria-label="Table of runs in progress">
				<table class="data">
					<thead><tr><th scope="col">In progress</th><th scope="col">Platform</th><th scope="col">Execution</th><th scope="col">Steps of it</th><th scope="col">Done</th><th scope="col" class="n">Ends</th></tr></thead>
					<tbody>{shown.map((e) => <Line key={key_of(e.run)} entry={e} at={now.value} />)}</tbody>
				</table>
			</div>
			{list.length > SHOWN ? <button type="button" aria-expanded={all} onClick={() => set_all(!all)}>{all ? "fewer" : `${list.length - SHOWN} more in progress`}</button> : null}
		</section>
	);
}
