// Bundles the page and cuts it where the program puts in title, hash and data. Deterministic: the
// same sources and the same packages give the same bytes.
//   node build.mjs OUT_DIR
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "dist");
const BUDGET_BYTES = 60 * 1024; // brotli, of script and style

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
const licences = ["preact", "@preact/signals", "@preact/signals-core", "uplot"].map((name) => {
	const dir = join(here, "node_modules", name);
	const { version, license } = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
	return `${name} ${version}, ${license}`;
});
const fill = { STYLE: style, SCRIPT: script, SCRIPT_HASH: hash(script), STYLE_HASH: hash(style) };
const page = readFileSync(join(here, "src/template.html"), "utf8")
	.replace("<!doctype html>", `<!doctype html>\n<!-- Drawn with ${licences.join("; ")}. -->`)
	.replace(/@@(STYLE|SCRIPT|SCRIPT_HASH|STYLE_HASH)@@/g, (_, name) => fill[name]);
const parts = page.split(/@@(?:HASH|TITLE|DATA)@@/);
if (parts.length !== 4)
	throw new Error("the template must have each of its three places once");
mkdirSync(out, { recursive: true });
parts.forEach((part, i) => writeFileSync(join(out, `page.${i}`), part));
console.log(`page: ${script.length + style.length} bytes, ${size} as brotli`);
