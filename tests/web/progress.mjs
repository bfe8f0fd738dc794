// A run that is measured meanwhile, on the daemon's page in Chromium: its line comes, tells steps and
// an end, and goes when the run is in the grid.
//   node progress.mjs URL APP HOLD    prints "ok - .." lines; takes the file HOLD away when it has
//   seen the run go on; ends when the run is stored
import { rmSync } from "node:fs";
import { launch } from "./cdp.mjs";

const [url, app, hold] = process.argv.slice(2);
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

const that = (condition, what) => { if (!condition) throw new Error(what); };
const browser = await launch();
const page = await browser.new_page();
await page.size(1440, 900);
const line = `[...document.querySelectorAll(".running tbody tr")].find((r) => r.textContent.includes(${JSON.stringify(app)}))`;
const cite = "document.querySelector('.cite code')?.textContent ?? ''";

await test("a run that is under way has a line on the page", async () => {
	await page.open(`${url}/`);
	await page.until(`${line} !== undefined`);
});
await test("it tells steps of those that are expected, and when it should end", async () => {
	await page.until(`/\\d+ of \\d+ steps/.test(${line}?.textContent) && /in about|later than expected/.test(${line}?.textContent)`);
	const done = `Number(${line}?.querySelector("[role=progressbar]")?.getAttribute("aria-valuenow") ?? NaN)`;
	const before = await page.run(done);
	that(Number.isFinite(before), "its line has a bar");
	await page.until(`${done} > ${before}`);
});
await test("when it is stored the line goes, and the grid is another", async () => {
	const before = await page.run(cite);
	rmSync(hold, { force: true });
	await page.until(`${line} === undefined && (${cite}) !== ${JSON.stringify(before)}`, 60000);
});
await browser.close();
process.exit(failed ? 1 : 0);
