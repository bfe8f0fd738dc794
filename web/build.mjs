// Bundles the page and cuts it where the program puts in title, hash and data. Deterministic: the
// same sources and the same packages give the same bytes.
//   node build.mjs OUT_DIR
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "dist");
const BUDGET_BYTES = 64 * 1024; // brotli, of script and style

async function bundle(entry) {
	const result = await esbuild.build({
		absWorkingDir: here, entryPoints: [entry], bundle: true, minify: true, write: false, format: "iife", target: ["es2020"],
		jsx: "automatic", jsxImportSource: "preact", tsconfigRaw: {}, legalComments: "none", charset: "utf8", logLevel: "warning",
	});
	// An end tag in a string would end the element that the text stands in.
	return result.outputFiles[0].text.trim().replace(/<\/(script|style)/gi, "<\\/$1");
}

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const script = await bundle("src/app.tsx"), style = await bundle("src/style.css");
const size = brotliCompressSync(script).length + brotliCompressSync(style).length;
if (size > BUDGET_BYTES) {
	console.error(`the bundle is ${size} bytes as brotli, more than ${BUDGET_BYTES}`);
	process.exit(1);
}
// The licences of what is bundled ask that their notices go along. All are MIT: the notices one by
// one, the text once.
const notices = [];
let terms = "";
for (const name of ["preact", "@preact/signals", "@preact/signals-core", "uplot"]) {
	const dir = join(here, "node_modules", name);
	const { version } = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
	const text = readFileSync(join(dir, "LICENSE"), "utf8").replace(/\s+/g, " ").trim();
	const [, owner, rest] = /(Copyright .*?) (Permission is hereby granted.*)$/.exec(text);
	terms ||= rest;
	if (rest !== terms)
		throw new Error(`the licence of ${name} is not the one of the others`);
	notices.push(`${name} ${version}: ${owner}`);
}
const licence = `<!-- This page contains\n${notices.join("\n")}\nunder the MIT licence:\n${terms}\n-->`;
const fill = { STYLE: style, SCRIPT: script, SCRIPT_HASH: hash(script), STYLE_HASH: hash(style) };
const page = readFileSync(join(here, "src/template.html"), "utf8")
	.replace("<!doctype html>", `<!doctype html>\n${licence}`)
	.replace(/@@(STYLE|SCRIPT|SCRIPT_HASH|STYLE_HASH)@@/g, (_, name) => fill[name]);
const parts = page.split(/@@(?:HASH|TITLE|DATA)@@/);
if (parts.length !== 4)
	throw new Error("the template must have each of its three places once");
mkdirSync(out, { recursive: true });

// The same page for the daemon, in files of their own: a name changes with what is in the file.
const name = (text, ending) => `app.${createHash("sha256").update(text).digest("hex").slice(0, 16)}.${ending}`;
const names = { SCRIPT: name(script, "js"), STYLE: name(style, "css") };
const live = readFileSync(join(here, "src/live.html"), "utf8")
	.replace("<!doctype html>", `<!doctype html>\n${licence}`)
	.replace(/@@(STYLE|SCRIPT)@@/g, (_, which) => names[which]);
for (const [file, text] of [["live.html", live], ["app.js", script], ["app.css", style]]) {
	writeFileSync(join(out, file), text);
	writeFileSync(join(out, `${file}.gz`), gzipSync(text, { level: 9 }));
	writeFileSync(join(out, `${file}.br`), brotliCompressSync(text));
}
writeFileSync(join(out, "page_names.h"), `#define PAGE_SCRIPT "${names.SCRIPT}"\n#define PAGE_STYLE "${names.STYLE}"\n`);
parts.forEach((part, i) => writeFileSync(join(out, `page.${i}`), part));
console.log(`page: ${script.length + style.length} bytes, ${size} as brotli`);
