// How each accelerator ran while the executions did, as its driver told it: context, not a result.
import type { ComponentChildren } from "preact";
import type { Rec, Row } from "./data";
import * as f from "./format";
import { Null } from "./history";

const STATUS: { [status: string]: string } = {
	too_short: "the region was over before a look at it",
	not_ready: "its driver had not answered yet",
	no_answer: "its driver gave no answer",
	gone: "it was gone from its driver",
};
const WHERE: { [within: string]: string } = { region: "in the region", execution: "in the whole execution" };
const UNTOLD = "its driver does not tell";

interface State { of: string; row: Row }

function number(row: Row, key: string): f.Num {
	return row[key] as f.Num;
}

// The mean, and from where to where it went, if it did.
function range(name: string, unit: string, show: (x: number) => string) {
	return (row: Row): ComponentChildren => {
		const [low, mean, high] = ["min", "mean", "max"].map((which) => number(row, `${name}_${which}_${unit}`));
		if (mean == null)
			return null;
		return <span title={`mean ${mean} ${unit === "hz" ? "Hz" : unit.toUpperCase()}`}>{show(mean)}{low == null || high == null || low === high ? null : <small class="dim"> {show(low)} – {show(high)}</small>}</span>;
	};
}

function held(row: Row): ComponentChildren {
	const share = number(row, "throttled_frac");
	if (share == null)
		return null;
	const why = ((row.throttle_reasons ?? []) as string[]).map((r) => r.replace(/_/g, " ")).join(", ");
	return share === 0 ? "never" : <span class="bad">{f.percent(share)} of the looks{why ? `: ${why}` : ""}</span>;
}

function looks(row: Row): ComponentChildren {
	const n = number(row, "samples"), span = number(row, "span_s");
	return n == null ? null : <span title={WHERE[String(row.within)]}>{f.count(n)}{span == null ? "" : ` in ${f.seconds(span)}`}</span>;
}

// always: shown as null where no driver tells it. The others are left out then.
const COLUMNS: { name: string; title?: string; of: (row: Row) => ComponentChildren; always?: boolean; text?: boolean }[] = [
	{ name: "Clock", title: "of its cores", of: range("clock", "hz", (x) => f.si(x, "Hz")), always: true },
	{ name: "Memory clock", of: range("memory_clock", "hz", (x) => f.si(x, "Hz")) },
	{ name: "Power", of: range("power", "w", (x) => `${f.significant(x)} W`), always: true },
	{ name: "Temperature", of: range("temperature", "c", (x) => `${f.significant(x)} °C`), always: true },
	{ name: "Held down", title: "looks at which something held its clocks down, and what", of: held, always: true, text: true },
	{ name: "Energy", title: "by its own counter, between the first look and the last", of: (row) => (number(row, "energy_j") == null ? null : f.si(number(row, "energy_j"), "J")) },
	{ name: "Busy", title: "share of the time with any work of any process on it, by its driver", of: (row) => (number(row, "busy_mean_frac") == null ? null : f.percent(number(row, "busy_mean_frac"))) },
	{ name: "Others on it", title: "processes that are not of the execution, most at once", of: (row) => (number(row, "others") == null ? null : <span class={number(row, "others") ? "bad" : undefined}>{f.count(number(row, "others"))}</span>), always: true },
	{ name: "Looks", title: "how often its driver was asked", of: looks, always: true },
];

function Table({ states, label, first }: { states: State[]; label: string; first?: string }) {
	const seen_at_all = states.some(({ row }) => number(row, "samples"));
	const shown = COLUMNS.filter((c) => seen_at_all && (c.always || states.some(({ row }) => c.of(row) !== null)));
	return (
		<div class="scroll" tabIndex={0} role="region" aria-label={label}>
			<table class="data">
				<thead><tr>{first ? <th scope="col">{first}</th> : null}<th scope="col">Device</th>{shown.map((c) => <th scope="col" class={c.text ? undefined : "n"} title={c.title} key={c.name}>{c.name}</th>)}{seen_at_all ? null : <th scope="col">How it ran</th>}</tr></thead>
				<tbody>{states.map(({ of, row }, i) => {
					const told = STATUS[String(row.status)], seen = (number(row, "samples") ?? 0) > 0;
					const name = <><span title={row.place == null ? undefined : String(row.place)}>{String(row.device ?? "?")}</span>{first ? null : <span class="dim"> {row.name == null ? "" : String(row.name)}</span>}{seen && told ? <span class="tag bad" title={`${told}; what is here is from before`}>{String(row.status).replace(/_/g, " ")}</span> : null}</>;
					return (
						<tr key={i}>{first ? <><th scope="row">{of}</th><td>{name}</td></> : <th scope="row">{name}</th>}
							{seen ? shown.map((c) => <td class={c.text ? "why" : "n"} key={c.name}>{c.of(row) ?? <Null why={UNTOLD} />}</td>)
								: <td colSpan={shown.length || 1} class="dim why"><Null why={told} /> not observed: {told ?? "not known why"}</td>}</tr>
					);
				})}</tbody>
			</table>
		</div>
	);
}

export function StatesCard({ rec }: { rec: Rec }) {
	const all = rec.context.devices as Row[] | undefined;
	const single: State[] = rec.executions.flatMap((e) => ((e.devices ?? []) as Row[]).map((row) => ({ of: e.name, row })));
	if (!all?.length && !single.length)
		return null;
	const where = [...new Set((all ?? []).map((row) => WHERE[String(row.within)]))];
	return (
		<section class="card wide" id="states">
			<h3>How the devices ran <span class="dim">{all?.length ? `looks ${where.length === 1 && where[0] ? `${where[0]}, ` : ""}of all executions used` : "in each execution"}</span></h3>
			{all?.length ? <Table states={all.map((row) => ({ of: "", row }))} label="Table of how the devices ran" /> : null}
			{single.length ? (
				<details open={!all?.length}>
					<summary>In each execution</summary>
					<Table states={single} label="Table of how the devices ran in each execution" first="Execution" />
				</details>
			) : null}
		</section>
	);
}
