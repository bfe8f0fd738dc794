// The daemon's page in Chromium: the grid, a view by its address, and a run that is stored meanwhile.
//   node live.mjs URL ROIMETER DB NEW_RECORD    prints "ok - .." lines
import { execFileSync } from "node:child_process";
import { launch } from "./cdp.mjs";

const [url, roimeter, db, record] = process.argv.slice(2);
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

const data = await (await fetch(`${url}/api/v1/report`)).json();
const browser = await launch();
const page = await browser.new_page();
await page.size(1440, 900);
const measured = "document.querySelector('.counts')?.textContent ?? ''";

await test("the page shows the grid that the daemon has", async () => {
	await page.open(`${url}/`);
	await page.until("document.querySelector('table, [role=grid]') !== null");
	const cases = data.suites.flatMap((s) => s.apps).flatMap((a) => a.cases).length;
	const text = await page.run(measured);
	if (!text.includes(`${cases} inputs`))
		throw new Error(`wanted ${cases} inputs, got "${text}"`);
});

await test("a view's address opens that view", async () => {
	const app = data.suites[0].apps[0], item = app.cases.find((c) => c.cells.some(Boolean));
	const at = item.cells.findIndex(Boolean);
	await page.open(`${url}/#/${[data.suites[0].name, app.name, item.name, data.platforms[at].id].map(encodeURIComponent).join("/")}`);
	await page.until(`document.querySelector('h2 .case')?.textContent === ${JSON.stringify(item.name)}`);
});

await test("a run that is stored appears without a reload", async () => {
	await page.open(`${url}/`);
	await page.until("performance.getEntriesByName('roimeter-ready').length === 1");
	const cite = "document.querySelector('.cite code')?.textContent ?? ''";
	const before = await page.until(cite);
	await page.run("window.not_reloaded = true");
	execFileSync(roimeter, ["import", "--db", db, "roimeter", record]);
	await page.until(`(${cite}) !== ${JSON.stringify(before)} && window.not_reloaded`);
});

await test("nothing was complained of, and nothing came from elsewhere", async () => {
	const elsewhere = page.requests.filter((r) => !r.startsWith(url) && !r.startsWith("data:") && r !== "about:blank");
	if (page.complaints.length || elsewhere.length)
		throw new Error(JSON.stringify([page.complaints, elsewhere]));
});

await browser.close();
process.exit(failed ? 1 : 0);
