// A reader's way through the report, in Chromium, from a file, with no network.
//   node journey.mjs REPORT_DIR LARGE_REPORT_DIR AXE_JS    prints "ok - .." lines
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { launch } from "./cdp.mjs";

const [dir, large, axe] = process.argv.slice(2);
const url = pathToFileURL(join(dir, "index.html")).href;
const data = JSON.parse(readFileSync(join(dir, "report.json"), "utf8"));
const details = JSON.parse(readFileSync(join(dir, "details.json"), "utf8"));
const READY_LIMIT_MS = 1000 * 6; // the budget is 1 s of work; a slow machine is given more, and what else it does is not the page's
let failed = 0;

async function test(sentence, body) {
	try {
		await body();
		console.log(`ok - ${sentence}`);
	} catch (e) {
		failed++;
		console.log(`not ok - ${sentence}\n# ${String(e.stack ?? e).replace(/\n/g, "\n# ")}`);
	}
}

function same(got, wanted, what = "") {
	if (JSON.stringify(got) !== JSON.stringify(wanted))
		throw new Error(`${what} wanted ${JSON.stringify(wanted)}, got ${JSON.stringify(got)}`);
}

function that(condition, what) {
	if (!condition)
		throw new Error(what);
}

// The page's rule for a duration, written a second time.
function seconds(s) {
	const [m, e] = (s * (1 + 2 ** -50)).toExponential(2).split("e").map(Number);
	const unit = e >= 0 ? [0, "s"] : e >= -3 ? [-3, "ms"] : e >= -6 ? [-6, "µs"] : [-9, "ns"];
	const value = m * 10 ** (e - unit[0]);
	return `${value.toFixed(Math.max(0, 2 - (e - unit[0])))} ${unit[1]}`;
}

const WORDS = { clean_failed: "failed", clean_timeout: "timed out", roi_missing: "no region", timer_missing: "no timer", profiled_failed: "profiling failed", roi_missing_in_profile: "no region in profile", interrupted: "interrupted" };

const browser = await launch();
const page = await browser.new_page();
await page.size(1440, 900);
const focused = () => page.run("document.activeElement?.dataset?.at ?? document.activeElement?.tagName");
const hash = () => page.run("decodeURIComponent(location.hash)");
const count = (selector) => page.run(`document.querySelectorAll(${JSON.stringify(selector)}).length`);
const text = (selector) => page.run(`document.querySelector(${JSON.stringify(selector)})?.textContent ?? null`);

await test("the page opens from a file and shows its title", async () => {
	await page.open(url);
	same(await text("h1"), data.title);
	same(await page.run("document.title"), data.title);
});

await test("every cell of the grid shows the number or the words that report.json has", async () => {
	for (const suite of [{ name: "", apps: data.suites.flatMap((s) => s.apps) }, ...data.suites]) {
		await page.open(`${url}#/${suite.name}`);
		const is_used = (i) => suite.apps.some((a) => a.cases.some((c) => c.cells[i]));
		const places = data.platforms.map((_, i) => i), used = [...places.filter(is_used), ...places.filter((i) => !is_used(i))];
		const wanted = suite.apps.flatMap((a) => a.cases.map((c) => [c.name, ...used.map((i) => {
			const cell = c.cells[i];
			return !cell ? "–" : cell.ok ? seconds(cell.ok.wall_s) : WORDS[cell.last.status];
		})]));
		const got = await page.run(`[...document.querySelectorAll("tr.case")].map((r) => [r.querySelector(".name").textContent,
			...[...r.querySelectorAll("td")].map((c) => (c.querySelector(".median") ?? c.querySelector(".failed, .absent")).textContent)])`);
		same(got, wanted, suite.name);
	}
});

await test("what was never measured says so, and shows neither 0 nor nothing", async () => {
	await page.open(`${url}#/demo`);
	const hints = await page.run(`[...document.querySelectorAll("td .absent")].map((c) => [c.textContent, c.closest("a").title, /: –?not measured$/.test(c.closest("a").textContent)])`);
	that(hints.length > 5, "the fixture has many");
	for (const h of hints)
		same(h, ["–", "not measured", true]);
});

await test("keys walk the grid, open a measurement and come back to its cell", async () => {
	await page.open(`${url}#/demo`);
	await page.press("ArrowDown");
	same(await focused(), "0:0", "first arrow");
	await page.press("ArrowDown");
	await page.press("ArrowRight");
	same(await focused(), "1:1");
	await page.press("End");
	same(await focused(), "1:2");
	await page.press("End", 2);
	const last = await focused();
	same(last.split(":")[1], "2");
	that(Number(last.split(":")[0]) > 10, "control and End go to the last row");
	await page.press("Home", 2);
	same(await focused(), "0:0");
	await page.press("PageDown");
	that(Number((await focused()).split(":")[0]) > 5, "a page down");
	await page.press("PageUp");
	same(await focused(), "0:0");
	await page.press("ArrowUp");
	same(await focused(), "0:0", "the edge holds");
	same(await count('td a[tabindex="0"]'), 1, "cells in the order of Tab");
	await page.press("ArrowDown");
	await page.press("Enter");
	const first = data.suites.find((s) => s.name === "demo").apps[0];
	same(await hash(), `#/demo/${first.name}/${first.cases[1].name}/${data.platforms[0].id}`);
	that((await text("h2")).startsWith(`demo${first.name} ${first.cases[1].name}`), "the measurement is shown");
	await page.press("Escape");
	same(await hash(), "#/demo");
	same(await focused(), "1:0", "the focus is back");
});

await test("/ goes to the filter, which narrows the grid and stands in the address", async () => {
	await page.open(`${url}#/demo`);
	await page.press("/");
	same(await focused(), "INPUT");
	await page.type("heat n10");
	same(await hash(), "#/demo?filter=heat+n10");
	same(await page.run(`[...document.querySelectorAll("tr.case .name")].map((n) => n.textContent)`), ["n1024"]);
	await page.press("Escape");
	same(await hash(), "#/demo");
});

await test("the back button goes back, and a link opens the same view", async () => {
	await page.open(`${url}#/demo`);
	await page.run(`document.querySelector('td a[data-at="0:0"]').click()`);
	await page.settle();
	await page.run(`document.querySelectorAll("nav.platforms a")[1].click()`);
	await page.settle();
	const there = await hash(), shown = await text("main");
	// The browser goes back, which is another process than the page's.
	const shows = (details) => `location.hash !== ${JSON.stringify(at)} && document.querySelectorAll("main.detail").length === ${details}`;
	let at = await page.run("location.hash");
	await page.run("history.back()");
	await page.until(shows(1)); // one step back is the platform before
	at = await page.run("location.hash");
	await page.run("history.back()");
	await page.until(shows(0));
	same(await hash(), "#/demo");
	await page.open(url + there);
	same(await text("main"), shown);
});

await test("relative to a platform shows ratios beside both medians", async () => {
	const base = data.platforms[0].id;
	await page.open(`${url}#/demo?rel=${base}`);
	const first = data.suites.find((s) => s.name === "demo").apps[0].cases[0].cells;
	const ratio = (first[1].ok.wall_s / first[0].ok.wall_s).toFixed(2);
	that((await text('a[data-at="0:1"] .ratio')).includes(`${ratio}×`), "the ratio");
	same(await text('a[data-at="0:1"] .median'), seconds(first[1].ok.wall_s));
	same(await count('a[data-at="0:0"] .ratio'), 0);
});

await test("a measurement shows every execution, its interval with its coverage, and its caveats", async () => {
	const suite = data.suites.find((s) => s.name === "demo");
	for (const app of suite.apps)
		for (const item of app.cases)
			for (const [i, cell] of item.cells.entries()) {
				if (!cell)
					continue;
				const rec = details.records.find((r) => r.run_id === (cell.ok ?? cell.last).run_id);
				await page.run(`location.hash = ${JSON.stringify(`#/demo/${app.name}/${item.name}/${data.platforms[i].id}`)}`);
				await page.settle();
				const where = `${app.name}/${item.name}`;
				same(await page.run(`[...document.querySelectorAll("svg.strip text")].filter((t) => t.getBBox().x < 0).map((t) => t.textContent)`), [], `${where}: labels that are cut off`);
				if (rec.executions)
					same(await count("#executions tbody tr"), rec.executions.rows.length, `${where}: rows`);
				if (rec.roi?.wall_s !== undefined)
					same(await page.run(`document.querySelector(".big").title`), `${rec.roi.wall_s} s`, where);
				if (rec.roi?.ci95_coverage !== undefined) {
					const shown = await text(".headline .beside");
					that(/covers the median with [0-9.]+ %/.test(shown), `${where}: ${shown}`);
				}
				const caveats = rec.caveats === undefined ? [] : details.dict.caveats[rec.caveats];
				same(await count("#caveats li"), caveats.length, `${where}: caveats`);
				if (rec.status !== "ok")
					that((await text(".banner")).includes(rec.status_text), `${where}: its status`);
				else if (cell.last)
					that((await text(".banner")).includes("later run"), `${where}: the later run`);
			}
});

await test("the history marks runs of another input, and not those that do not say theirs", async () => {
	await page.open(`${url}#/demo/heat/n1024/cpu-epyc-9354.linux6.1`);
	const rows = await page.run(`[...document.querySelectorAll("#history tbody tr")].map((r) => [r.querySelector("td").title, r.querySelector(".other") !== null])`);
	const at = data.platforms.findIndex((p) => p.id === "cpu-epyc-9354.linux6.1");
	const cell = data.suites.find((s) => s.name === "demo").apps.find((a) => a.name === "heat").cases.find((c) => c.name === "n1024").cells[at];
	const table = details.history[cell.ok.run_id], place = table.columns.indexOf("input_hash"), id = table.columns.indexOf("run_id");
	const wanted = table.rows.map((r) => [r[id], r[place] !== null && r[place] !== table.rows.find((x) => x[place] !== null)[place]]);
	same(rows, wanted);
	same(wanted.filter(([, other]) => other).length, 2);
	that((await text("#history .note .other")) === "other input", "the mark is explained");
});

await test("a name that is a script stays text", async () => {
	await page.open(`${url}#/demo/heat/n1024/nvidia-b200.cuda13.2`);
	that(/^heat n1024/.test(await page.run("document.title")), "the title is ours");
	that((await page.run(`[...document.querySelectorAll("#ops code")].map((c) => c.textContent)`)).includes("<script>document.title='hacked'</script>"), "it is shown");
	same(await count("#ops script"), 0);
});

await test("what the device cannot tell is null with its reason", async () => {
	const shown = await page.run(`[...document.querySelectorAll("#device tr")].map((r) => r.textContent).filter((t) => t.startsWith("collective"))`);
	same(shown, ["collectivenull not observable (nothing on this platform can observe it)"]);
});

await test("how each device ran has its units, and what was not seen is null with its reason", async () => {
	const rows = await page.run(`[...document.querySelectorAll("#states > .scroll tbody tr")].map((r) => [...r.children].map((c) => c.textContent))`);
	same(rows, [
		["0 NVIDIA B200", "1.63 GHz 1.20 GHz – 1.98 GHz", "4.00 GHz", "613 W 180 W – 1000 W", "52.0 °C 41.0 °C – 63.0 °C", "40.0 % of the looks: power cap, thermal hardware", "766 J", "75.0 %", "0", "25 in 1.25 s"],
		["1 NVIDIA B200gone", "1.63 GHz 1.20 GHz – 1.98 GHz", "4.00 GHz", "613 W 180 W – 1000 W", "52.0 °C 41.0 °C – 63.0 °C", "never", "null", "75.0 %", "null", "3 in 1.25 s"],
		["2 NVIDIA B200", "null not observed: its driver gave no answer"],
	]);
	same(await page.run(`[...document.querySelectorAll("#states > .scroll .null")].map((n) => n.title)`), ["its driver does not tell", "its driver does not tell", "its driver gave no answer"]);
	same(await page.run(`document.querySelector("#states details tbody tr").textContent`), "warmup.00null not observed: the region was over before a look at it");
});

await test("light, dark and the system's choice are different, and stay", async () => {
	const ground = () => page.run(`getComputedStyle(document.documentElement).backgroundColor`);
	await page.scheme("light");
	await page.open(`${url}#/demo`);
	const light = await ground();
	await page.scheme("dark");
	const dark = await ground();
	that(light !== dark, "the system's choice is followed");
	await page.run(`document.querySelectorAll(".theme input")[1].click()`);
	same(await ground(), light, "light in a dark system");
	await page.run(`document.querySelectorAll(".theme input")[0].click()`);
	same(await ground(), dark);
	await page.scheme("light");
});

await test("at 360 pixels nothing scrolls sideways but the grid and the tables", async () => {
	await page.size(360, 740, true);
	for (const at of ["#/demo", "#/demo?rel=cpu-epyc-9354.linux6.1", "#/demo/melt/4k-r16/cpu-xeon-8480.linux5.14", "#/demo/heat/n1024/nvidia-b200.cuda13.2", "#/demo/cg/poisson-384/cpu-epyc-9354.linux6.1", "#/@platforms"]) {
		await page.open(url + at);
		that((await page.run("document.documentElement.scrollWidth")) <= 360, `${at} is ${await page.run("document.documentElement.scrollWidth")} wide`);
	}
	await page.size(1440, 900);
});

await test("axe finds nothing serious in any view, light and dark", async () => {
	for (const scheme of ["light", "dark"])
		for (const at of ["#/demo", "#/demo?rel=cpu-epyc-9354.linux6.1", "#/demo/heat/n1024/nvidia-b200.cuda13.2", "#/demo/melt/4k-r16/cpu-xeon-8480.linux5.14", "#/demo/cg/poisson-192/cpu-epyc-9354.linux6.1?run=last", "#/hpcperf/miniem/p200k/nvidia-b200.cuda13.2", "#/@platforms"]) {
			await page.scheme(scheme);
			await page.open(url + at);
			await page.run(readFileSync(axe, "utf8") + ";0");
			const found = await page.run(`axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations.filter((v) => v.impact === "serious" || v.impact === "critical").map((v) => v.id + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + " " + n.failureSummary).join(" | ")))`);
			same(found, [], `${scheme} ${at}`);
		}
	await page.scheme("light");
});

await test("the print has every row of the grid", async () => {
	await page.open(`${url}#/demo`);
	const { data: pdf } = await page.call("Page.printToPDF", {});
	that(Buffer.from(pdf, "base64").subarray(0, 4).toString() === "%PDF", "a PDF");
});

await test("the console stays silent, and nothing is asked of a network", async () => {
	same(page.complaints, []);
	same(page.requests.filter((u) => !/^(file|data|about|blob):/.test(u)), []);
});

await test("1,000 inputs are ready at once, and their last row is one key away", async () => {
	const many = await browser.new_page();
	await many.size(1440, 900);
	await many.call("Performance.enable", { timeDomain: "threadTicks" });
	await many.open(pathToFileURL(join(large, "index.html")).href);
	const [parsed, ready] = await many.run(`[performance.getEntriesByType("navigation")[0].responseEnd, performance.getEntriesByName("roimeter-ready")[0].startTime]`);
	const { metrics } = await many.call("Performance.getMetrics");
	const worked = Math.min(ready, 1000 * metrics.find((m) => m.name === "ThreadTime").value);
	console.log(`# data read at ${Math.round(parsed)} ms, grid ready at ${Math.round(ready)} ms, of which the page worked ${Math.round(worked)} ms`);
	that(worked < READY_LIMIT_MS, `the page worked for ${worked} ms`);
	const rows = JSON.parse(readFileSync(join(large, "report.json"), "utf8")).suites.flatMap((s) => s.apps).reduce((n, a) => n + 1 + a.cases.length, 0);
	same(await many.run(`Number(document.querySelector('[role="grid"]').ariaRowCount ?? document.querySelector('[role="grid"]').getAttribute("aria-rowcount"))`), rows + 1);
	await many.press("ArrowDown");
	await many.press("End", 2);
	same(await many.run("document.activeElement.dataset.at"), "999:2");
	that(await many.run(`(() => { const c = document.activeElement.getBoundingClientRect(), b = document.querySelector(".grid-box").getBoundingClientRect(); return c.top >= b.top && c.bottom <= b.bottom + 1; })()`), "it is in sight");
	const began = Date.now();
	await many.press("/");
	await many.type("app07 n640");
	that((await many.run(`document.querySelectorAll("tr.case").length`)) === 1, "the filter finds one");
	console.log(`# filtered after ${Date.now() - began} ms`);
	same(many.complaints, []);
});

await browser.close();
process.exit(failed ? 1 : 0);
