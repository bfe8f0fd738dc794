// What the page says of the conformance tests of each platform, in its grid and in its table of platforms.
//   node badge.mjs PAGE_URL PLATFORM=WORDS...    prints "ok - .." lines
import { launch } from "./cdp.mjs";

const [url, ...wanted] = process.argv.slice(2);
let failed = 0;

function same(sentence, want, got) {
	const good = JSON.stringify(want) === JSON.stringify(got);
	failed += !good;
	console.log(good ? `ok - ${sentence}` : `not ok - ${sentence}\n# wanted ${JSON.stringify(want)}\n# got ${JSON.stringify(got)}`);
}

const browser = await launch();
const page = await browser.new_page();
await page.size(1440, 900);
await page.open(url);
await page.until("document.querySelector('[role=grid] thead th a') !== null");
const heads = await page.run(`Object.fromEntries([...document.querySelectorAll("[role=grid] thead th a")].map((a) =>
	[a.title.split("\\n")[0], [...a.querySelectorAll(".badge")].map((b) => (b.classList.contains("fail") ? "!" : "") + b.textContent).join("; ")]))`);
for (const one of wanted) {
	const at = one.indexOf("=");
	same(`the column of ${one.slice(0, at)} says ${one.slice(at + 1)}`, one.slice(at + 1), heads[one.slice(0, at)]);
}
await page.open(`${url}#/@platforms`);
await page.until("document.querySelector('.platforms-table') !== null");
const failures = wanted.filter((w) => w.includes("=!")).length;
same("the table of platforms says which checks failed", failures, await page.run(`[...document.querySelectorAll(".platforms-table .results li")].filter((l) => /failed: compute_ops/.test(l.textContent)).length`));
same("the console stays silent", [], page.complaints);
await browser.close();
process.exit(failed ? 1 : 0);
