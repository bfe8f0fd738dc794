// Was the collector of a platform tested, and how did it go? In words: colour only repeats them.
import { type Platform, platform_info, type Result } from "./data";

const CLASS: { [verdict: string]: string } = { pass: "pass", fail: "fail" };
const ABOUT: { [verdict: string]: string } = {
	"pass": "what came back of known work was exact",
	"fail": "what came back of known work was wrong: do not believe its numbers",
	"pass-clean-only": "the region's time was tested, no collector",
};

function day(utc: string): string {
	return utc.slice(0, 10);
}

export function sentence(r: Result): string {
	const fails = r.fails?.length ? `; failed: ${r.fails.join(", ")}${r.failed > r.fails.length ? ", ..." : ""}` : "";
	const checks = `${r.passed} passed, ${r.failed} failed, ${r.skipped} skipped`;
	return `${r.collector === "none" ? "marks" : r.collector}: ${r.verdict}, ${ABOUT[r.verdict] ?? ""} (${checks}${fails}), ${r.utc}`;
}

function label(r: Result): string {
	return `${r.collector === "none" ? "marks" : r.collector} ${r.verdict === "pass-clean-only" ? "pass (clean only)" : r.verdict}`;
}

// What fails comes first; marks alone are told where nothing else was tested.
function told(p: Platform): Result[] {
	const all = [...p.conformance ?? []].sort((a, b) => Number(b.verdict === "fail") - Number(a.verdict === "fail"));
	const more = all.filter((r) => r.collector !== "none" || r.verdict === "fail");
	return more.length ? more : all;
}

export function Badge({ of }: { of: Platform }) {
	const results = told(of), says = platform_info(of).conformance;
	if (!results.length) {
		const told_by_run = typeof says === "string" && says !== "";
		return (
			<span class={`badge ${told_by_run ? CLASS[says] ?? "" : "none"}`} title={told_by_run ? `conformance ${says}, as its newest run says` : "no result of roimeter conformance is stored for this platform"}>
				conformance: {told_by_run ? says : "not tested"}
			</span>
		);
	}
	return (
		<span class="badges" title={(of.conformance ?? []).map(sentence).join("\n")}>
			{results.map((r) => <span key={r.collector} class={`badge ${CLASS[r.verdict] ?? ""}`}>{label(r)}<small> {day(r.utc)}</small></span>)}
		</span>
	);
}

// Each in full, for the table of platforms.
export function Results({ of }: { of: Platform }) {
	if (!of.conformance?.length)
		return <Badge of={of} />;
	return (
		<ul class="results">
			{of.conformance.map((r) => (
				<li key={r.collector}>
					<span class={`badge ${CLASS[r.verdict] ?? ""}`}>{label(r)}</span> {r.utc.replace("T", " ").replace("Z", " UTC")}<br />
					{r.passed} passed, {r.failed} failed, {r.skipped} skipped
					{r.fails?.length ? <><br />failed: {r.fails.join(", ")}{r.failed > r.fails.length ? ", ..." : ""}</> : null}
					{r.why && !r.fails?.length ? <><br />{r.why}</> : null}
				</li>
			))}
		</ul>
	);
}
