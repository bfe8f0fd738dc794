// A browser under test, driven through Chromium's debugging pipe: no package, no port, no network.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

export function find_chromium() {
	for (const dir of (process.env.PATH ?? "").split(delimiter))
		for (const name of ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"])
			if (dir && existsSync(join(dir, name)))
				return join(dir, name);
	return null;
}

export async function launch() {
	const profile = mkdtempSync(join(tmpdir(), "roimeter-chromium."));
	const child = spawn(find_chromium(), ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		"--hide-scrollbars", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", `--user-data-dir=${profile}`, "--remote-debugging-pipe", "about:blank"],
		{ stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
	const waiting = new Map(), listeners = [];
	let serial = 0, text = "";
	child.stdio[3].on("error", () => {});
	child.stdio[4].setEncoding("utf8");
	child.stdio[4].on("data", (chunk) => {
		text += chunk;
		for (let at; (at = text.indexOf("\0")) >= 0; text = text.slice(at + 1)) {
			const message = JSON.parse(text.slice(0, at));
			const call = waiting.get(message.id);
			waiting.delete(message.id);
			if (call)
				message.error ? call.no(new Error(`${call.method}: ${message.error.message}`)) : call.yes(message.result);
			else
				for (const l of listeners)
					l(message);
		}
	});
	child.on("exit", () => {
		for (const call of waiting.values())
			call.no(new Error("chromium ended"));
	});
	const send = (method, params = {}, sessionId) => new Promise((yes, no) => {
		waiting.set(++serial, { yes, no, method });
		child.stdio[3].write(JSON.stringify({ id: serial, method, params, sessionId }) + "\0");
	});
	const close = async () => {
		const gone = new Promise((done) => child.once("exit", done));
		send("Browser.close").catch(() => {});
		await Promise.race([gone, new Promise((done) => setTimeout(done, 20000).unref())]);
		child.kill("SIGKILL");
		try {
			rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
		} catch (e) { // its children may write there for a while yet, and are no matter of the test
			console.log(`# ${profile} is left: ${e.message}`);
		}
	};
	return { send, close, on: (l) => listeners.push(l), new_page: () => new_page(send, listeners) };
}

async function new_page(send, listeners) {
	const { targetId } = await send("Target.createTarget", { url: "about:blank" });
	const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
	const call = (method, params) => send(method, params, sessionId);
	const page = { requests: [], complaints: [], call };
	listeners.push((m) => {
		if (m.sessionId !== sessionId)
			return;
		if (m.method === "Network.requestWillBeSent")
			page.requests.push(m.params.request.url);
		else if (m.method === "Runtime.exceptionThrown")
			page.complaints.push(m.params.exceptionDetails.exception?.description ?? m.params.exceptionDetails.text);
		else if (m.method === "Runtime.consoleAPICalled" && ["error", "warning", "assert"].includes(m.params.type))
			page.complaints.push(m.params.args.map((a) => a.value ?? a.description).join(" "));
		else if (m.method === "Log.entryAdded" && m.params.entry.level === "error")
			page.complaints.push(m.params.entry.text);
	});
	for (const domain of ["Page", "Runtime", "Network", "Log"])
		await call(`${domain}.enable`);

	page.size = (width, height, mobile = false) => call("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile });
	page.scheme = (value) => call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value }] });
	page.run = async (expression) => {
		const { result, exceptionDetails } = await call("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
		if (exceptionDetails)
			throw new Error(`${expression}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
		return result.value;
	};
	// While one document takes another's place there is none to ask.
	const is_between = (e) => /context|navigated|collected/i.test(e.message);
	page.until = async (expression, limit_ms = 60000) => {
		for (const end = Date.now() + limit_ms; ; await new Promise((done) => setTimeout(done, 30))) {
			const value = await page.run(expression).catch((e) => {
				if (!is_between(e))
					throw e;
			});
			if (value)
				return value;
			if (Date.now() >= end)
				throw new Error(`never true within ${limit_ms} ms: ${expression}`);
		}
	};
	page.open = async (url) => {
		// The same file with another hash would only be a move inside the page.
		await call("Page.navigate", { url: "about:blank" });
		await page.until("location.href === 'about:blank'");
		await call("Page.navigate", { url });
		await page.until("document.readyState === 'complete' && document.querySelector('#app')?.childElementCount > 0");
		await page.settle();
	};
	page.settle = () => page.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 20))))");
	const CODES = { Enter: 13, Escape: 27, PageUp: 33, PageDown: 34, End: 35, Home: 36, ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40, Tab: 9 };
	page.press = async (key, modifiers = 0) => {
		const text = key === "Enter" ? "\r" : key.length === 1 ? key : undefined;
		const common = { key, modifiers, windowsVirtualKeyCode: CODES[key] ?? key.toUpperCase().charCodeAt(0), code: CODES[key] ? key : undefined };
		await call("Input.dispatchKeyEvent", { type: text ? "keyDown" : "rawKeyDown", text, ...common });
		await call("Input.dispatchKeyEvent", { type: "keyUp", ...common });
		await page.settle();
	};
	page.type = async (text) => {
		await call("Input.insertText", { text });
		await page.settle();
	};
	page.shot = async (full = false) => Buffer.from((await call("Page.captureScreenshot", { format: "png", captureBeyondViewport: full })).data, "base64");
	page.close = () => send("Target.closeTarget", { targetId });
	return page;
}
