// Numbers as people read them. The Markdown twin (report/format.c) prints the same text for the
// same number, so both round the same way: three digits first, then the unit.

export type Num = number | null | undefined;

// Keeps exact ties (1.125) from being rounded up here and to even in C's printf.
const NUDGE = 1 + 2 ** -50;

function three(x: number): { digits: string; exponent: number } {
	const [mantissa, exponent] = (x * NUDGE).toExponential(2).split("e") as [string, string];
	return { digits: mantissa.replace(".", ""), exponent: Number(exponent) };
}

function place(digits: string, point: number): string {
	if (point >= 2)
		return digits + "0".repeat(point - 2);
	return `${digits.slice(0, point + 1)}.${digits.slice(point + 1)}`;
}

const UNITS: [number, string][] = [[0, "s"], [-3, "ms"], [-6, "µs"], [-9, "ns"]];

export function seconds_parts(s: number): [string, string] {
	if (s === 0)
		return ["0", "s"];
	const { digits, exponent } = three(Math.abs(s));
	const [base, unit] = UNITS.find(([e]) => exponent >= e) ?? [-9, "ns"];
	const sign = s < 0 ? "−" : "";
	if (exponent < base)
		return [sign + Number(`${digits}e${exponent - base - 2}`).toString(), unit];
	return [sign + place(digits, exponent - base), unit];
}

export function seconds(s: Num): string {
	return s == null ? "null" : seconds_parts(s).join(" ");
}

// Both ends in one unit, with as many digits as tell them apart: "1.716–1.722 s".
export function seconds_range(low: number, high: number): string {
	const a = seconds_parts(low), b = seconds_parts(high);
	if (a[1] !== b[1])
		return `${a.join(" ")} – ${b.join(" ")}`;
	const [base, unit] = UNITS.find(([, u]) => u === b[1])!;
	const x = low / 10 ** base, y = high / 10 ** base;
	if (x === y)
		return `${b[0]} ${unit}`;
	const whole = Math.max(1, Math.floor(Math.log10(Math.abs(y) || 1)) + 1);
	// Two digits of the difference, three of the number, and never more than seven.
	const digits = Math.min(Math.max(3 - whole, Math.ceil(-Math.log10(Math.abs(y - x))) + 1, 0), 7 - Math.min(7, whole));
	return `${x.toFixed(digits)}–${y.toFixed(digits)} ${unit}`;
}

export function exact(s: Num): string {
	return s == null ? "null" : `${s} s`;
}

const SI: [number, string][] = [[12, "T"], [9, "G"], [6, "M"], [3, "k"], [0, ""], [-3, "m"], [-6, "µ"], [-9, "n"]];

export function si(x: Num, unit = ""): string {
	if (x == null)
		return "null";
	if (x === 0)
		return unit ? `0 ${unit}` : "0";
	const { digits, exponent } = three(Math.abs(x));
	const [base, prefix] = SI.find(([e]) => exponent >= e) ?? [-9, "n"];
	const number = exponent < base ? Number(`${digits}e${exponent - base - 2}`).toString() : place(digits, exponent - base);
	return `${x < 0 ? "−" : ""}${number}${prefix || unit ? " " : ""}${prefix}${unit}`;
}

// Memory as powers of two, as it is sold.
export function bytes(x: Num): string {
	if (x == null)
		return "null";
	for (const [power, unit] of [[30, "GiB"], [20, "MiB"], [10, "KiB"]] as const)
		if (x >= 2 ** power)
			return `${significant(x / 2 ** power)} ${unit}`;
	return `${x} B`;
}

export function significant(x: Num): string {
	if (x == null)
		return "null";
	if (x === 0)
		return "0";
	const { digits, exponent } = three(Math.abs(x));
	const sign = x < 0 ? "−" : "";
	if (exponent > 8 || exponent < -4)
		return `${sign}${digits[0]}.${digits.slice(1)}e${exponent}`;
	if (exponent >= 0)
		return sign + place(digits, exponent);
	return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
}

// Whole numbers in full with thin groups, others with three digits.
export function count(x: Num): string {
	if (x == null)
		return "null";
	if (!Number.isInteger(x) || Math.abs(x) >= 1e15)
		return significant(x);
	return String(x).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

export function percent(x: Num, digits = 1): string {
	if (x == null)
		return "null";
	const p = x * 100 * NUDGE;
	if (p !== 0 && Math.abs(p) < 0.05)
		return `${p < 0 ? "−" : ""}<0.1 %`;
	return `${p.toFixed(Math.abs(p) >= 99.95 ? 0 : digits).replace("-", "−")} %`;
}

export function change(ratio: number): string {
	const p = (ratio - 1) * 100;
	if (Math.abs(p) < 0.05)
		return "±0.0 %";
	if (ratio >= 2)
		return `×${significant(ratio)}`;
	return `${p > 0 ? "+" : "−"}${Math.abs(p).toFixed(1)} %`;
}

// A ratio to another platform's median: below 1 is faster.
export function ratio_text(r: number): string {
	if (r >= 0.0995 && r < 99.5)
		return `${r >= 9.995 ? r.toFixed(1) : r.toFixed(2)}×`;
	return `${r >= 1 ? significant(r) : r < 0.001 ? r.toExponential(1) : Number(r.toPrecision(2))}×`;
}

export function when(utc: string | undefined): string {
	return utc ? utc.replace("T", " ").replace(/:\d\d(\.\d+)?Z$/, " UTC").replace(/Z$/, " UTC") : "null";
}

export function plural(n: number, one: string, many = `${one}s`): string {
	return `${count(n)} ${n === 1 ? one : many}`;
}
