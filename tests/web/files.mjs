// What the page says of a run's files.    node files.mjs PAGE_URL#/SUITE/APP/CASE/PLATFORM [SHOT.png]
import { writeFileSync } from "node:fs";
import { launch } from "./cdp.mjs";

const [url, shot] = process.argv.slice(2);
let failed = 0;

function same(sentence, want, got) {
	const good = JSON.stringify(want) === JSON.stringify(got);
	failed += !good;
	console.log(good ? `ok - ${sentence}` : `not ok - ${sentence}\n# wanted ${JSON.stringify(want)}\n# got ${JSON.stringify(got)}`);
}

const browser = await launch();
const page = await browser.new_page();
await page.size(1280, 1000);
await page.open(url);
// The period comes from the daemon, where there is one, after the record.
await page.until("document.querySelector('#period') !== null && !document.querySelector('#period').textContent.includes('under way')");
await page.settle(); // what is drawn is drawn behind what is written
const text = (selector) => page.run(`document.querySelector(${JSON.stringify(selector)})?.textContent ?? null`);
const card = await text("#files");
for (const [sentence, want] of [
	["what is missing is said first and loudly", "Partial: darshan POSIX had no room for everything"],
	["what could not be counted, too", "17 calls were seen and could not be counted."],
	["bytes, calls and time", "537 MB in 8\u202f192 calls, 410 ms"],
	["a bandwidth says how it is computed", "1.31 GB/s = 537 MB / 410 ms in calls that read"],
	["the whole processes beside it", "whole processes: 591 MB in 9\u202f011 calls, 451 ms"],
	["what is not known is null, with the reason", "Control groupnull not permitted"],
	["0 is 0", "0 B read, 1.31 GB written"],
	["the capture with its size and rules", "81.2 kB, 9\u202f423 calls, 57 rules"],
	["how much that is a call", "8.62 B a call"],
	["a period with its confidence", "confidence 0."],
	["patterns in words", "reads at random, 64.0 KiB to 128 KiB; 85.7 % unaligned"],
	["a hint that is not in force", "hint striping_factor=16 asked for, 4 in force"],
	["a file that many share", "shared"],
	["files that have no line", "4 files more are in the sums only"],
	["calls within others", "posix within mpiio"],
	["a name is text", "<script>alert(1)</script>"],
])
	same(sentence, true, card.includes(want));
same("a time that is not known is null in its cell", 1, await page.run(`[...document.querySelectorAll("#files table")].flatMap((t) => [...t.querySelectorAll("tr")]).filter((r) => r.textContent.startsWith("mpiio322 MB")).filter((r) => r.querySelectorAll(".null").length === 1).length`));
// The picture: bytes where there were some, and the gaps between them left open.
same("the heat map has a row for each rank", true, await page.run(`(() => { const c = document.querySelector(".heat"); return Math.abs(c.clientHeight - (64 + 6 + 4 * 14 + 22)) < 2; })()`));
same("bursts are drawn and gaps are not", "burst,gap,burst", await page.run(`(() => {
	const c = document.querySelector(".heat"), x = (t) => Math.round((58 + t / 120 * (c.clientWidth - 58)) * devicePixelRatio), y = Math.round(60 * devicePixelRatio);
	const ground = [...c.getContext("2d").getImageData(x(10), y, 1, 1).data].join();
	return [16.6, 26, 36.6].map((t) => [...c.getContext("2d").getImageData(x(t), y, 1, 1).data].join() === ground ? "gap" : "burst").join();
})()`));
await page.run(`(() => { const c = document.querySelector(".heat"), b = c.getBoundingClientRect(); c.dispatchEvent(new MouseEvent("mousemove", { clientX: b.left + 58 + 16.6 / 120 * (b.width - 58), clientY: b.top + 30, bubbles: true })); })()`);
same("pointing at a bin tells it", "all processes, 16.5 s to 17.0 s: 0 B read, 35.0 MB written", await text(".heat-told"));
await page.run(`(() => { const s = document.querySelector(".heat-head select"); s.value = "read"; s.dispatchEvent(new Event("change", { bubbles: true })); })()`);
await page.settle();
same("reads alone have none there", "gap", await page.run(`(() => { const c = document.querySelector(".heat"), x = (t) => Math.round((58 + t / 120 * (c.clientWidth - 58)) * devicePixelRatio), y = Math.round(60 * devicePixelRatio), at = (t) => [...c.getContext("2d").getImageData(x(t), y, 1, 1).data].join(); return at(16.6) === at(10) ? "gap" : "burst"; })()`));
same("the console stays silent", [], page.complaints);
if (shot)
	for (const [scheme, width] of [["light", 1280], ["dark", 1280], ["light", 420]]) {
		await page.size(width, 1000);
		await page.scheme(scheme);
		await page.open(url);
		await page.until("document.querySelector('#files') !== null");
		const clip = await page.run("(() => { const b = document.querySelector('#files').getBoundingClientRect(); return { x: b.x + scrollX, y: b.y + scrollY, width: b.width, height: b.height, scale: 1 }; })()");
		await page.settle();
		const png = await page.call("Page.captureScreenshot", { format: "png", captureBeyondViewport: true, clip });
		writeFileSync(shot.replace(".png", `-${scheme}-${width}.png`), Buffer.from(png.data, "base64"));
	}
await browser.close();
process.exit(failed ? 1 : 0);
