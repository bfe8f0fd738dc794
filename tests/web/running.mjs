// Runs in progress on the daemon's page, in Chromium. The daemon is played by this script, so that it
// can say anything, and time can be moved.
//   node running.mjs WEB_DIR REPORT_JSON AXE_JS [SHOTS_DIR]    prints "ok - .." lines
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { launch } from "./cdp.mjs";

const [web, report, axe, shots] = process.argv.slice(2);
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
const that = (condition, what) => { if (!condition) throw new Error(what); };

// ---- the daemon that is played

const seconds = (s) => new Date(Date.now() + s * 1000).toISOString();
const run = (id, o) => ({
	run_id: id, suite: null, app: null, case: null, platform: null, kind: null, user: null, job: null, announced: null, execution: null,
	execution_began: null, executions_done: null, executions: null, steps: null, steps_expected: null, processes: null, expected_s: null,
	ended: false, expected_end: null, ...o,
});
const A = "20260930T120000Z-0000000a", B = "20260930T120001Z-0000000b", C = "20260930T120002Z-0000000c";
const heat = run(A, { suite: "demo", app: "heat", case: "n1024", platform: "cpu-epyc-9354.linux6.1", kind: "measured", execution: "clean.2", execution_began: seconds(-10), executions_done: 3, executions: 6, steps: 100, steps_expected: 400, processes: 4, expected_s: 40, expected_end: seconds(185) });
const bare = run(B, { suite: "demo", app: "melt", case: "4k-r4", platform: "nvidia-b200.cuda13.2", kind: "measured", executions: 6, executions_done: 0, execution: "warmup.0" });
const ambient = run(null, { kind: "ambient", app: "lmp", user: "ada", job: "4711", steps: 0 });
let list = [heat, bare, ambient];
const streams = new Set(), asked = [];
let id = 0;
const tell = (name, data) => streams.forEach((s) => s.write(`id: 0-${id++}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`));
const server = createServer((q, a) => {
	const send = (type, body, etag) => a.writeHead(200, { "Content-Type": type, ...(etag ? { ETag: etag } : {}) }).end(body);
	asked.push(q.url);
	if (q.url === "/")
		send("text/html", readFileSync(join(web, "live.html")));
	else if (/^\/assets\/.*\.js$/.test(q.url))
		send("text/javascript", readFileSync(join(web, "app.js")));
	else if (/^\/assets\/.*\.css$/.test(q.url))
		send("text/css", readFileSync(join(web, "app.css")));
	else if (q.url === "/api/v1/report")
		send("application/json", readFileSync(report), '"one"');
	else if (q.url === "/api/v1/running")
		send("application/json", JSON.stringify({ runs: list }));
	else if (q.url === "/api/v1/events") {
		a.writeHead(200, { "Content-Type": "text/event-stream" }).write("event: hello\ndata: {}\n\n");
		streams.add(a);
		a.on("close", () => streams.delete(a));
	} else
		a.writeHead(404, { "Content-Type": "application/problem+json" }).end('{"detail":"not here"}');
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const url = `http://127.0.0.1:${server.address().port}`;

// ---- the page

const browser = await launch();
const page = await browser.new_page();
await page.size(1440, 900);
const line = (n) => page.run(`[...document.querySelectorAll(".running tbody tr:nth-child(${n}) > *")].map((c) => c.textContent)`);
const find = (text) => `[...document.querySelectorAll(".running tbody tr")].find((r) => r.textContent.includes(${JSON.stringify(text)}))`;
const spoken = `[...document.querySelectorAll("[role=status]")].map((s) => s.textContent).join("|")`;
const shot = async (name) => shots && writeFileSync(join(shots, `${name}.png`), await page.shot());

await test("what is under way is there when the page opens", async () => {
	heat.expected_end = seconds(185);
	await page.open(`${url}/`);
	await page.until("document.querySelectorAll('.running tbody tr').length === 3");
	const text = await page.run(`${find("heat")}.textContent`);
	for (const part of ["heat n1024", "epyc-9354", "clean.2 4 of 6", "100 of 400 steps", "in about 3 min"])
		that(text.includes(part), `${part} in "${text}"`);
	same(await page.run(`${find("heat")}.querySelector("[role=progressbar]").getAttribute("aria-valuenow")`), "54");
	same(await page.run(`${find("heat")}.querySelector("a").getAttribute("href")`), "#/demo/heat/n1024/cpu-epyc-9354.linux6.1");
	await shot("light");
});

await test("what is not known is null, and 0 is 0", async () => {
	const melt = await page.run(`[...${find("melt")}.children].map((c) => c.textContent)`);
	same(melt.slice(3), ["null steps", "", "end null"]);
	const lmp = await page.run(`[...${find("lmp")}.children].map((c) => c.textContent)`);
	same(lmp, ["lmp ambient", "null", "job 4711, ada", "0 steps", "", "end null"]);
	same(await page.run(`${find("lmp")}.querySelectorAll("[role=progressbar], a").length`), 0);
	same(await page.run(`${find("melt")}.querySelector("[role=progressbar]").getAttribute("aria-valuenow")`), "0");
});

await test("progress moves its line, and is not spoken", async () => {
	const before = await page.run(spoken);
	that(before.includes("3 runs in progress"), before);
	await page.run(`window.spoken_changes = 0; document.querySelectorAll("[role=status]").forEach((s) => new MutationObserver(() => window.spoken_changes++).observe(s, { subtree: true, childList: true, characterData: true }))`);
	for (let steps = 110; steps <= 300; steps += 10)
		tell("progress", { ...heat, steps });
	await page.until(`${find("heat")}.textContent.includes("300 of 400")`);
	same(await page.run(`${find("heat")}.querySelector("[role=progressbar]").getAttribute("aria-valuenow")`), "62");
	same(await page.run("window.spoken_changes"), 0);
	same(await page.run(spoken), before);
});

await test("a run that begins gets a line, and its end takes it away", async () => {
	tell("progress", run(C, { suite: "demo", app: "triad", case: "8g", platform: "cpu-epyc-9354.linux6.1", kind: "measured" }));
	await page.until(`${find("triad")} !== undefined`);
	that((await page.run(spoken)).includes("4 runs in progress"), "the number is spoken");
	tell("run", { run_id: C, status: "ok", kind: "measured" });
	await page.until(`${find("triad")} === undefined`);
});

await test("between executions, behind the last, and later than expected are said", async () => {
	tell("progress", { ...heat, execution: null, executions_done: 4, steps: null });
	await page.until(`${find("heat")}.textContent.includes("between executions 4 of 6 made")`);
	tell("progress", { ...heat, execution: null, executions_done: 6, ended: true });
	await page.until(`${find("heat")}.textContent.includes("all made 6 of 6 made")`);
	that((await page.run(`${find("heat")}.textContent`)).includes("waits for its last marks"), "what it waits for");
	tell("progress", { ...heat, expected_end: seconds(-240) });
	await page.until(`${find("heat")}.textContent.includes("4 min later than expected")`);
});

await test("an agent that is lost is said, and what has ended meanwhile is gone", async () => {
	tell("progress", heat);
	await page.until(`${find("heat")}.textContent.includes("100 of 400")`);
	list = [heat, bare];
	asked.length = 0;
	await page.run("{ const real = Date.now; Date.now = () => real() + 45_000; }");
	await page.until(`${find("heat")}?.textContent.match(/no news for ((4[5-9]|5[0-9]|60) s|[1-9] min)/)`);
	await page.until(`${find("lmp")} === undefined`);
	same(asked.filter((u) => u === "/api/v1/running").length, 1);
	await shot("silent");
	tell("progress", { ...heat, steps: 200 });
	await page.until(`!${find("heat")}.textContent.includes("no news")`);
});

await test("many are cut, and all can be seen", async () => {
	list = [heat, ...Array.from({ length: 20 }, (_, i) => run(`20260930T1300${String(i).padStart(2, "0")}Z-00000001`, { app: "heat", case: `n${i}`, executions: 3, executions_done: 1, execution: "clean.0", steps: i, steps_expected: 20 }))];
	await page.open(`${url}/`);
	await page.until("document.querySelectorAll('.running tbody tr').length === 6");
	same(await page.run("document.querySelector('.running button').textContent"), "15 more in progress");
	await shot("many");
	await page.run("document.querySelector('.running button').click()");
	await page.until("document.querySelectorAll('.running tbody tr').length === 21");
	that(await page.run("document.querySelector('.grid-box').clientHeight > 180"), "the grid keeps its place");
	await shot("all");
});

await test("on a narrow page nothing is cut off, in the dark too", async () => {
	list = [heat, bare, ambient];
	await page.size(390, 800, true);
	await page.scheme("dark");
	await page.open(`${url}/`);
	await page.until("document.querySelectorAll('.running tbody tr').length === 3");
	await shot("narrow-dark");
	that(await page.run("document.documentElement.scrollWidth <= innerWidth"), "the page is as wide as the screen");
	same(await page.run("[...document.querySelectorAll('.running tbody td, .running tbody th')].filter((c) => c.scrollWidth > c.clientWidth + 1).map((c) => c.textContent)"), []);
	await page.size(1440, 900);
	await page.open(`${url}/`);
	await page.until("document.querySelectorAll('.running tbody tr').length === 3");
	await shot("dark");
});

await test("axe finds nothing serious, light and dark", async () => {
	for (const scheme of ["light", "dark"]) {
		await page.scheme(scheme);
		await page.open(`${url}/`);
		await page.until("document.querySelectorAll('.running tbody tr').length === 3");
		await page.run(readFileSync(axe, "utf8") + ";0");
		same(await page.run(`axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations.filter((v) => v.impact === "serious" || v.impact === "critical").map((v) => v.id + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + " " + n.failureSummary).join(" | ")))`), [], scheme);
	}
});

await test("pages that were left hold no stream", async () => {
	for (let i = 0; i < 8; i++)
		await page.open(`${url}/`);
	await page.until("document.querySelectorAll('.running tbody tr').length === 3");
	for (let i = 0; i < 600 && streams.size > 2; i++) // how soon a connection is closed nobody knows
		await new Promise((done) => setTimeout(done, 100));
	that(streams.size <= 2, `${streams.size} streams`);
});

await test("with nothing under way there is no empty box, and silence", async () => {
	list = [];
	await page.open(`${url}/`);
	await page.until("document.querySelector('table[role=grid]') !== null");
	await page.settle();
	same(await page.run("document.querySelectorAll('.running').length"), 0);
	that(!(await page.run(spoken)).includes("in progress"), "nothing is spoken");
});

await test("nothing was complained of", async () => same(page.complaints, []));

await browser.close();
streams.forEach((s) => s.end());
server.close();
process.exit(failed ? 1 : 0);
