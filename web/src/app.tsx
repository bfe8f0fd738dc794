// The page: what is on top, and the two views below it.
import { render } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { signal } from "@preact/signals";
import { Results } from "./badge";
import { is_loaded, load, platform_info, report } from "./data";
import { Detail, PLATFORM_FACTS, said, save } from "./detail";
import * as f from "./format";
import { activate_from_route, columns, counts, focus_grid, Grid, grid_csv, is_roomy, lines, short_name, step_case, tab } from "./grid";
import { Null } from "./history";
import { Mark } from "./icons";
import { adjust, go, href, route } from "./route";
import { follow_running, running_said, RunningStrip } from "./running";
import { set_theme, theme, type Theme } from "./theme";

// Of the data: in the page's element, or the entity tag of what the daemon sent.
const hash = signal(document.documentElement.dataset.hash ?? "");

function ThemeSwitch() {
	return (
		<fieldset class="theme">
			<legend class="hidden">Colours</legend>
			{(["auto", "light", "dark"] as Theme[]).map((t) => (
				<label key={t}><input type="radio" name="theme" checked={theme.value === t} onChange={() => set_theme(t)} /><span>{t}</span></label>
			))}
		</fieldset>
	);
}

function Top() {
	is_loaded();
	const c = counts();
	return (
		<header class="top">
			<h1><a href={href({ suite: tab.value, app: "", case: "", platform: "", run: "" })}>{report.title}</a></h1>
			<p class="counts">
				<span><b>{f.count(c.apps)}</b> {c.apps === 1 ? "application" : "applications"}</span>
				<span><b>{f.count(c.inputs)}</b> {c.inputs === 1 ? "input" : "inputs"}</span>
				<span><b>{f.count(columns.value.length)}</b> {columns.value.length === 1 ? "platform" : "platforms"}</span>
				<span><b>{f.count(c.measured)}</b> of {f.count(c.possible)} measured</span>
			</p>
			<ThemeSwitch />
		</header>
	);
}

function Tools() {
	is_loaded();
	const box = useRef<HTMLInputElement>(null);
	useEffect(() => {
		const focus = (e: KeyboardEvent) => {
			const target = e.target as HTMLElement;
			if (e.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) && !e.ctrlKey && !e.metaKey) {
				e.preventDefault();
				box.current?.focus();
				box.current?.select();
			}
		};
		addEventListener("keydown", focus);
		return () => removeEventListener("keydown", focus);
	}, []);
	return (
		<div class="tools">
			{report.suites.length > 1 ? (
				<nav class="tabs" aria-label="Suites">
					{["", ...report.suites.map((s) => s.name)].map((name) => <a key={name} href={href({ suite: name, app: "", case: "", platform: "", run: "" })} aria-current={name === tab.value ? "page" : undefined}>{name || "all"}</a>)}
				</nav>
			) : null}
			<label class="filter">
				<span class="hidden">Filter applications and inputs</span>
				<input ref={box} type="search" placeholder="Filter applications and inputs" value={route.value.filter} autocomplete="off" spellcheck={false}
					onInput={(e) => adjust({ filter: e.currentTarget.value })}
					onKeyDown={(e) => {
						if (e.key === "Escape") {
							e.preventDefault();
							e.stopPropagation();
							adjust({ filter: "" });
							focus_grid();
						} else if (e.key === "ArrowDown" || e.key === "Enter") {
							e.preventDefault();
							focus_grid();
						}
					}} />
				<kbd>/</kbd>
			</label>
			{columns.value.length > 1 ? <label class="rel">
				<span>relative to</span>
				<select value={columns.value.some(([p]) => p.id === route.value.rel) ? route.value.rel : ""} onChange={(e) => go({ rel: e.currentTarget.value })}>
					<option value="">nothing</option>
					{columns.value.map(([p]) => <option key={p.id} value={p.id}>{short_name(p.id).product}</option>)}
				</select>
			</label> : null}
		</div>
	);
}

function Legend() {
	return (
		<footer class="foot">
			<ul class="marks-legend">
				<li><span class="absent">–</span> not measured</li>
				<li><span class="aside">0.8 %</span> range of the executions</li>
				{is_roomy.value ? <li class="dots-legend"><span class="dots" aria-hidden="true"><i style={{ left: "30%" }} /><i style={{ left: "50%" }} /><i style={{ left: "74%" }} /></span> each execution, ±25 % of the median</li> : null}
				<li><span class="share-key" /> region’s share of its process</li>
				<li><Mark name="caveat" /> caveats</li>
				<li><Mark name="unstable" /> not stable</li>
				<li><Mark name="levels" /> two levels</li>
				<li><Mark name="failed" /> a later run failed</li>
				{route.value.rel ? <li><span class="ratio-key faster" /> less time <span class="ratio-key slower" /> more time than {short_name(route.value.rel).product}</li> : null}
			</ul>
			<p class="cite"><a href={href({ suite: "@platforms", app: "", case: "", platform: "" })}>Platforms</a> · {report.tool}{hash.value ? <> · <span title="hash of the data: the same records give the same report">report@<code>{hash.value.slice(0, 12)}</code></span></> : null} <button type="button" onClick={() => save("grid.csv", grid_csv(), "text/csv")} title="the grid as it is filtered now: medians in seconds, null is an empty cell">CSV</button></p>
		</footer>
	);
}

// Facts side by side; a row in which the platforms differ stands out.
function Platforms() {
	is_loaded();
	const all = report.platforms;
	const rows = PLATFORM_FACTS.filter(([, field]) => all.some((p) => platform_info(p)[field] != null));
	return (
		<main class="detail" id="main" tabIndex={-1}>
			<div class="where"><nav aria-label="Where this is"><a href={href({ suite: tab.value, app: "", case: "", platform: "" })}>← {tab.value || "grid"}</a></nav></div>
			<h2>Platforms</h2>
			<div class="scroll" tabIndex={0} role="region" aria-label="Facts of the platforms">
				<table class="data platforms-table">
					<thead><tr><th scope="col">Fact</th>{all.map((p) => <th scope="col" key={p.id}>{p.id}</th>)}</tr></thead>
					<tbody>
						<tr><th scope="row">Conformance tests</th>{all.map((p) => <td key={p.id}><Results of={p} /></td>)}</tr>
						{rows.map(([label, field, show]) => {
						const values = all.map((p) => platform_info(p)[field]);
						return (
							<tr key={field} class={new Set(values.filter((v) => v != null).map(String)).size > 1 ? "differs" : undefined}>
								<th scope="row">{label}</th>
								{values.map((v, i) => <td key={i}>{v == null ? <Null /> : show ? show(v as never) : String(v)}</td>)}
							</tr>
						);
					})}
					</tbody>
				</table>
			</div>
		</main>
	);
}

function App() {
	is_loaded();
	const r = route.value;
	const detail = r.app !== "" && r.case !== "", platforms = r.suite === "@platforms";
	const grid = !detail && !platforms;
	const before = useRef(grid);
	useEffect(() => {
		const title = detail ? `${r.app} ${r.case} on ${r.platform} – ${report.title}` : report.title;
		document.title = title;
		if (detail)
			activate_from_route();
		if (before.current && !grid)
			document.getElementById("main")?.focus();
		else if (!before.current && grid)
			focus_grid();
		if (!grid)
			scrollTo(0, 0);
		before.current = grid;
	}, [r.suite, r.app, r.case, r.platform, r.run]);
	useEffect(() => {
		const keys = (e: KeyboardEvent) => {
			const typing = /^(INPUT|SELECT|TEXTAREA)$/.test((e.target as HTMLElement).tagName);
			const at = route.value;
			if (typing || e.ctrlKey || e.metaKey || e.altKey)
				return;
			if (e.key === "Escape" && (at.app || at.suite === "@platforms"))
				go({ suite: tab.value, app: "", case: "", platform: "", run: "" });
			else if (at.app && (e.key === "[" || e.key === "]"))
				step_case(e.key === "]" ? 1 : -1);
		};
		addEventListener("keydown", keys);
		return () => removeEventListener("keydown", keys);
	}, []);
	return (
		<div class={grid ? "page is-grid" : "page"}>
			<a class="skip" href="#main" onClick={(e) => { e.preventDefault(); if (grid) focus_grid(); else document.getElementById("main")?.focus(); }}>Skip to the numbers</a>
			<Top />
			{grid ? <RunningStrip /> : null}
			{grid ? <Tools /> : null}
			{grid ? <main class="grid-main"><Grid hidden={false} /></main> : null}
			{detail ? <Detail /> : null}
			{platforms ? <Platforms /> : null}
			{grid ? <Legend /> : null}
			<div class="hidden" role="status" aria-live="polite">{running_said}</div>
			<div class="hidden" role="status" aria-live="polite">{said.value || (grid && r.filter ? `${lines.value.filter((l) => l.kind === "case").length} inputs match` : "")}</div>
		</div>
	);
}

const data = document.getElementById("data");
const root = document.getElementById("app")!;

function start(text: string): void {
	load(text);
	render(<App />, root);
	performance.mark("roimeter-ready");
}

async function fetch_report(): Promise<string> {
	const answer = await fetch("api/v1/report", { headers: { Accept: "application/json" } });
	if (!answer.ok)
		throw new Error((await answer.json().catch(() => null))?.detail ?? `the daemon answered ${answer.status}`);
	hash.value = (answer.headers.get("ETag") ?? "").replace(/^W\/|"|-gzip/g, "");
	return answer.text();
}

// Behind the daemon: the data come by themselves, and again when something was stored. A burst of
// runs is one look; what happened while a look was under way is the next one. A large report takes its
// time here: then it is looked at less often.
async function live(): Promise<void> {
	start(await fetch_report());
	let busy = false, again = false;
	const look = async () => {
		again = true;
		if (busy)
			return;
		for (busy = true; again;) {
			again = false;
			const before = hash.value, began = performance.now();
			const text = await fetch_report().catch(() => null);
			if (text !== null && hash.value !== before)
				load(text);
			await new Promise((done) => setTimeout(done, Math.max(500, 4 * (performance.now() - began))));
		}
		busy = false;
	};
	let events: EventSource | null = null;
	const listen = () => {
		events = new EventSource("api/v1/events");
		for (const name of ["change", "hello"])
			events.addEventListener(name, look);
		follow_running(events);
	};
	listen();
	// A page that was left is kept by the browser, and its stream would be one of the six that a
	// browser opens to one host. When it is shown again, the new stream's hello makes it look.
	addEventListener("pagehide", () => {
		events?.close();
		events = null;
	});
	addEventListener("pageshow", () => {
		if (!events)
			listen();
	});
}

const failed = (where: string) => (e: unknown) => {
	root.textContent = `This report cannot be shown: ${e instanceof Error ? e.message : String(e)}. ${where} the same numbers.`;
};
if (data)
	try {
		start(data.textContent ?? "");
	} catch (e) {
		failed("report.md beside it has")(e);
	}
else
	live().catch(failed("api/v1/report has"));
