// Invented records for the tests of the report: every status, 1 to 20 samples, MPI ranks,
// figures of merit, own timers, a device, phases, imported records, a step in the history.
// The same arguments give the same bytes.
//   node fixture.mjs DIR [CASES]   writes DIR/records.jsonl and DIR/declared.tsv
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const PLATFORMS = {
	"cpu-epyc-9354.linux6.1": {
		vendor: "cpu", product: "epyc-9354", runtime: "linux6.1", cpu_model: "AMD EPYC 9354 32-Core Processor",
		sockets: 2, cores: 64, cpus: 128, numa_nodes: 8, memory_bytes: 810e9, l3_bytes: 33554432,
		kernel: "6.1.0-28-amd64", os: "Debian GNU/Linux 12 (bookworm)", host: "node17", hypervisor: "none",
		clocksource: "tsc", tsc_invariant: true, smt: true, turbo: true,
	},
	"cpu-xeon-8480.linux5.14": {
		vendor: "cpu", product: "xeon-8480", runtime: "linux5.14", cpu_model: "Intel(R) Xeon(R) Platinum 8480+",
		sockets: 2, cores: 112, cpus: 224, numa_nodes: 2, memory_bytes: 540e9, l3_bytes: 110100480,
		kernel: "5.14.0-427.el9", os: "Rocky Linux 9.4", host: "c3-104", hypervisor: "none",
		clocksource: "tsc", tsc_invariant: true, smt: true, turbo: true,
	},
	"nvidia-b200.cuda13.2": {
		vendor: "nvidia", product: "b200", runtime: "cuda13.2", cpu_model: "Intel(R) Xeon(R) 6960P", cpus: 144,
		device_count: 1, device_memory_bytes: 192e9, driver: "580.65.06", conformance: "pass", kernel: "6.8.0-1028",
		host: "dgx02",
	},
};
const [EPYC, XEON, B200] = Object.keys(PLATFORMS);

// A small generator of numbers (mulberry32), so that nothing depends on the run.
let seed = 20260929;
function random() {
	seed = (seed + 0x6d2b79f5) | 0;
	let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
	t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
	return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
}
// Clocks tell nanoseconds, and so do these.
const n15 = (x) => Number(x.toFixed(9));
const noise = (x, rel) => n15(x * (1 + rel * (random() + random() + random() - 1.5)));
const sorted = (a) => [...a].sort((x, y) => x - y);
function median(a) {
	const s = sorted(a), h = s.length >> 1;
	return n15(s.length % 2 ? s[h] : (s[h - 1] + s[h]) / 2);
}

function choose(n, k) {
	let c = 1;
	for (let i = 0; i < k; i++)
		c = (c * (n - i)) / (i + 1);
	return c;
}

function statistics(runs) {
	const s = sorted(runs), n = s.length, m = median(runs);
	const out = { wall_s: m, runs_s: runs, min_s: s[0], max_s: s[n - 1] };
	if (n < 2)
		return out;
	const mean = runs.reduce((a, b) => a + b) / n;
	out.stddev_s = n15(Math.sqrt(runs.reduce((a, b) => a + (b - mean) ** 2, 0) / (n - 1)));
	out.cv = n15(out.stddev_s / m);
	out.spread = n15((s[n - 1] - s[0]) / m);
	let k = 0, tail = 0.5 ** n;
	while (k + 1 < n / 2 && 1 - 2 * (tail + choose(n, k + 1) * 0.5 ** n) >= 0.95)
		tail += choose(n, ++k) * 0.5 ** n;
	out.ci95_s = [s[k], s[n - 1 - k]];
	out.ci95_coverage = n15(1 - 2 * tail);
	if (n >= 4) {
		out.iqr = n15((s[Math.floor(0.75 * (n - 1))] - s[Math.floor(0.25 * (n - 1))]) / m);
		let gap = 0, at = 0;
		for (let i = 1; i < n; i++)
			if (s[i] - s[i - 1] > gap)
				[gap, at] = [s[i] - s[i - 1], i];
		const side = Math.max(2, Math.ceil(n / 5));
		out.two_levels = gap > 0.05 * m && at >= side && n - at >= side;
	}
	out.stable_rule = n < 10 ? "range" : "iqr";
	out.stable = n < 10 ? out.spread <= 0.1 : out.iqr <= 0.05;
	if (n >= 5)
		out.drift = runs.every((x, i) => i === 0 || x > runs[i - 1]);
	return out;
}

let serial = 0;
function run_id(day, hour) {
	const stamp = `202609${String(day).padStart(2, "0")}T${String(hour).padStart(2, "0")}4201Z`;
	return `${stamp}-${(++serial).toString(16).padStart(8, "0")}`;
}
const utc_of = (id) => `${id.slice(0, 4)}-${id.slice(4, 6)}-${id.slice(6, 8)}T${id.slice(9, 11)}:${id.slice(11, 13)}:${id.slice(13, 15)}Z`;

function base(suite, app, name, platform, day, hour = 9) {
	const id = run_id(day, hour);
	return {
		schema: "roimeter-record/1", run_id: id, suite, app, case: name, platform, kind: "measured", utc: utc_of(id),
		status: "ok",
		measurement: {
			tool: "roimeter 0.1.0", warmups: 1, order: "interleaved", collector: "none", timeout_s: 600,
			region: "markers", verify: "outside", env_allow: ["PATH", "HOME", "LANG"], clock: "tsc",
			device_sync: false, profile_reason: "no collector was asked for", tree: "cgroup",
		},
		inputs: {
			argv: [`./${app}`, "--size", name.replace(/\D+/g, "") || "1"], env: [`OMP_NUM_THREADS=8`],
			cwd: `examples/${app}`, exe_hash: "9f3c5b0e7a1d2c4486e0aa51b7c3d9e2", input_hash: "41c07ad9b2e8f6d35c0a9be17f2448d1",
		},
		platform_info: PLATFORMS[platform],
		provenance: { suite_file: `${suite}.yaml`, suite_hash: "c2d7a5b89e0f41337a6d5c4b3e2f1a09", git_commit: "3f1d9a7c55e2", git_dirty: false },
	};
}

// A measured record: n samples about `wall` seconds.
function measured(suite, app, name, platform, wall, o = {}) {
	const rec = base(suite, app, name, platform, o.day ?? 28, o.hour ?? 9);
	const n = o.n ?? 5, rel = o.rel ?? 0.004, ranks = o.ranks ?? 1;
	const pre = o.pre ?? 0.4 * wall + 0.05, post = o.post ?? 0.06 * wall + 0.01, excluded = o.excluded ?? 0;
	const runs = [], executions = [], rows = [], own = [], fom = [];
	const total = 1 + (o.made ?? n);
	for (let i = 0; i < total; i++) {
		const warm = i === 0, name_ = warm ? "warmup.0" : `clean.${i - 1}`;
		const bad = o.bad && o.bad[name_];
		const level = o.levels && i % 2 ? o.levels : 1;
		const roi = n15(noise(wall, rel) * level * (warm ? 1.05 : 1) * (o.drift ? 1 + 0.01 * i : 1));
		const e = {
			name: name_, order: i, status: bad ? bad.status : "ok", exit_code: bad?.exit_code ?? (bad?.signal ? undefined : 0),
			utc: rec.utc, process_wall_s: n15(pre + roi + post + excluded),
			load1: n15(0.1 + random()), others_cpu_s: n15(random() * 0.02), user_s: n15(roi * 7.2), system_s: n15(roi * 0.05),
			voluntary_switches: 20 + Math.floor(random() * 40), involuntary_switches: Math.floor(random() * 9),
			minor_faults: 12000 + Math.floor(random() * 500), major_faults: 0, max_rss_bytes: 412e6 + Math.floor(random() * 1e6),
			cpu_khz_min: 2400000, cpu_khz_max: 3750000, threads_total: 8 * ranks, used: !bad && !warm,
		};
		if (warm)
			e.why = "warm-up: discarded";
		if (bad) {
			Object.assign(e, bad);
		} else {
			Object.assign(e, {
				roi_s: roi, pre_roi_s: noise(pre, 0.02), post_roi_s: noise(post, 0.02), excluded_s: excluded,
				entries: o.entries ?? 1, processes: ranks, unfinished: 0, steps: o.steps,
				imbalance_s: ranks > 1 ? n15(0.06 * roi) : 0,
			});
			if (o.own)
				own.push((e.own_timer_s = n15(roi * (1 + o.own * (random() - 0.5)))));
			if (o.fom)
				fom.push((e.fom = n15(o.fom.work / roi)));
			if (!warm)
				runs.push(roi);
			for (let r = 0; r < ranks; r++) {
				const mine = r === 3 % ranks ? roi : n15(roi * (0.94 + 0.05 * random()));
				rows.push({
					execution: name_, rank: ranks > 1 ? r : undefined, host: r < ranks / 2 ? "node17" : "node18", pid: 41200 + 64 * i + r,
					roi_s: mine, gross_s: n15(mine + excluded), excluded_s: excluded, entries: o.entries ?? 1,
					unterminated: false, lost: 0, first_begin_s: e.pre_roi_s, last_end_s: n15(e.pre_roi_s + mine + excluded),
					steps: o.steps, cpus: ranks > 1 ? `${8 * r}-${8 * r + 7}` : "0-127", threads: 8,
				});
			}
		}
		executions.push(e);
	}
	Object.assign(rec.measurement, { cleans_asked: n, cleans_made: total - 1, cleans_used: runs.length });
	rec.roi = {
		...statistics(runs), warmup_runs_s: executions[0].roi_s ? [executions[0].roi_s] : undefined, entries: o.entries ?? 1,
		excluded_s: excluded, excludes: excluded ? 12 : 0, processes: ranks, unfinished: 0,
		imbalance_s: ranks > 1 ? n15(0.06 * wall) : 0, source: "markers",
	};
	if (o.steps)
		Object.assign(rec.roi, {
			steps: o.steps, step_s: n15(rec.roi.wall_s / o.steps), step_min_s: n15(0.97 * rec.roi.wall_s / o.steps),
			step_max_s: n15(2.6 * rec.roi.wall_s / o.steps), step_p95_s: n15(1.08 * rec.roi.wall_s / o.steps),
		});
	if (o.folded)
		Object.assign(rec.roi, { folded: o.folded, entry_min_s: 9.1e-8, entry_max_s: 0.0021 });
	const good = executions.filter((e) => e.used);
	const mid = (k) => median(good.map((e) => e[k]));
	rec.context = {
		process_wall_s: mid("process_wall_s"), pre_roi_s: mid("pre_roi_s"), post_roi_s: mid("post_roi_s"), between_s: 0,
		load1: mid("load1"), others_cpu_s: mid("others_cpu_s"), others_running: 0, user_s: mid("user_s"), system_s: mid("system_s"),
		voluntary_switches: mid("voluntary_switches"), involuntary_switches: mid("involuntary_switches"),
		minor_faults: mid("minor_faults"), major_faults: 0, max_rss_bytes: mid("max_rss_bytes"), cpu_khz_min: 2400000,
		cpu_khz_max: 3750000, governor: "performance", steal_frac: 0,
	};
	rec.executions = executions;
	rec.ranks = rows;
	rec.launcher = ranks > 1 ? { name: "mpirun", argv: ["mpirun", "-n", String(ranks), "--bind-to", "core"] } : { name: "direct" };
	rec.placement = { cpus: ranks > 1 ? rows.slice(0, ranks).map((r) => r.cpus) : ["0-127"], cpus_n: 128, threads_max: 8, threads_total: 8 * ranks, oversubscribed: false, consistent: ranks === 1 };
	if (ranks > 1)
		rec.inputs.ranks = ranks;
	rec.fom = o.fom ? { name: o.fom.name, value: median(fom.slice(1)), unit: o.fom.unit, better: "higher", runs: fom.slice(1), status: "ok", pattern: "FOM = ([0-9.e+]+)" } : { status: "none" };
	rec.own_timer = o.own ? { value_s: median(own.slice(1)), runs_s: own.slice(1), roi_diff_frac: n15(rec.roi.wall_s / median(own.slice(1)) - 1), status: "ok", pattern: "Solve time: ([0-9.]+) s" } : { status: "none" };
	rec.observer = { marks: 2 * (o.entries ?? 1), mark_cost_s: n15(4.1e-8 * (o.entries ?? 1)), runner_cpu_s: 0.0021, log_bytes: 4096 };
	rec.caveats = o.caveats ?? [];
	rec.nulls = [{ field: "device", why: "not_measured" }, { field: "runtime_api", why: "not_measured" }, { field: "io", why: "not_measured" }, { field: "gap", why: "not_measured" }];
	if (o.phases)
		rec.phases = o.phases.map(([p, share, count]) => ({ name: p, count, total_s: n15(share * rec.roi.wall_s), min_s: n15(share * rec.roi.wall_s / count * 0.9), max_s: n15(share * rec.roi.wall_s / count * 1.4), share }));
	if (o.device)
		add_device(rec, o.device);
	if (o.timer) {
		Object.assign(rec.roi, { source: "timer", timer: o.timer, setup_s: n15(0.12 * wall) });
		rec.measurement.region = `timer:${o.timer}`;
		rec.measurement.launcher_region = "the average over the ranks, after a barrier";
		delete rec.context.pre_roi_s;
		delete rec.context.post_roi_s;
		rec.context.outside_region_s = n15(rec.context.process_wall_s - rec.roi.wall_s);
		rec.nulls.push({ field: "context.pre_roi_s", why: "not_measured" }, { field: "ranks", why: "not_supported" });
		for (const e of executions) {
			delete e.pre_roi_s;
			delete e.post_roi_s;
		}
		delete rec.ranks;
	}
	if (o.with)
		o.with(rec);
	return rec;
}

function add_device(rec, d) {
	const wall = rec.roi.wall_s;
	Object.assign(rec.measurement, { collector: "cupti", profiled: 1, profile_reason: undefined, device_sync: true });
	Object.assign(rec.roi, { profiled_wall_s: n15(wall * 1.07), profiler_inflation: 1.07 });
	rec.device = {
		busy_s: n15(d.busy * wall), busy_frac_of_roi: d.busy, busy_frac_of_profiled_roi: n15(d.busy / 1.07), host_gap_s: n15((1 - d.busy) * wall),
		host_gap_frac_of_roi: n15(1 - d.busy), op_time_sum_s: n15(1.02 * d.busy * wall), overlap_s: n15(0.02 * d.busy * wall), processes: 1,
		processes_with_device_work: 1, untimed_ops: 0, dropped_ops: 0,
		compute_s: n15(0.93 * d.busy * wall), compute_ops: 18240, copy_h2d_s: n15(0.05 * d.busy * wall), copy_h2d_ops: 310, copy_h2d_bytes: 2.4e9,
		copy_d2h_s: n15(0.04 * d.busy * wall), copy_d2h_ops: 301, copy_d2h_bytes: 1.9e9, copy_d2d_s: 0, copy_d2d_ops: 0, copy_d2d_bytes: 0,
		copy_other_s: 0, copy_other_ops: 0, copy_other_bytes: 0, fill_s: n15(0.0004 * wall), fill_ops: 12, fill_bytes: 3.1e7,
		per_device: [{ device: "GPU 0", busy_s: n15(d.busy * wall), processes: 1 }],
	};
	rec.nulls = [{ field: "device.collective_s", why: "not_supported" }, { field: "device.other_s", why: "not_supported" }, { field: "io", why: "not_measured" }];
	rec.runtime_api = { name: "cuda", calls: 40211, time_s: n15(0.4 * wall), sync_calls: 612, sync_s: n15(0.3 * wall), whole_calls: 41090, whole_time_s: n15(0.61 * wall) };
	rec.gap = { io_s: 0, mpi_s: 0, sync_s: n15((1 - d.busy) * wall * 0.3), cpu_s: n15((1 - d.busy) * wall * 0.6), off_cpu_s: n15((1 - d.busy) * wall * 0.1) };
	rec.context.devices = [state("0", "ok", 25), state("1", "gone", 3), state("2", "no_answer", 0)];
	for (const e of rec.executions)
		e.devices = [state("0", e.used ? "ok" : "too_short", e.used ? 5 : 0)];
	rec.ops_scope = "roi";
	const names = ["void amg::spmv_csr_vector<double, int, 32>(int, int const*, int const*, double const*, double*)", "jacobi_relax_kernel", "<script>document.title='hacked'</script>", "dot_reduce | `stage` 1", "[CUDA memcpy HtoD]", "[CUDA memcpy DtoH]"];
	for (let i = 0; i < 24; i++)
		names.push(`generated_kernel_${String.fromCharCode(97 + (i % 26))}<${64 << i % 4}>`);
	let left = 1;
	rec.ops = names.map((name, i) => {
		const share = n15(left * (i < 4 ? 0.38 : 0.2));
		left -= share;
		const count = 600 + 37 * i;
		return { name, category: name.includes("HtoD") ? "copy_h2d" : name.includes("DtoH") ? "copy_d2h" : "compute", count, total_s: n15(share * d.busy * wall), avg_s: n15(share * d.busy * wall / count), min_s: n15(0.8 * share * d.busy * wall / count), max_s: n15(3 * share * d.busy * wall / count), share };
	});
}

// How a device ran, by its driver: the second one has no counter of energy and hides who else is on it.
function state(device, status, samples) {
	const out = { device, name: "NVIDIA B200", place: `0000:${10 + Number(device)}:00.0`, status, within: "region", samples };
	if (!samples)
		return out;
	Object.assign(out, {
		span_s: 1.25, clock_min_hz: 1.2e9, clock_mean_hz: 1.625e9, clock_max_hz: 1.98e9, memory_clock_min_hz: 3.996e9, memory_clock_mean_hz: 3.996e9,
		memory_clock_max_hz: 3.996e9, power_min_w: 180, power_mean_w: 612.5, power_max_w: 1000, temperature_min_c: 41, temperature_mean_c: 52,
		temperature_max_c: 63, busy_mean_frac: 0.75, throttled_frac: device === "0" ? 0.4 : 0, throttle_reasons: device === "0" ? ["power_cap", "thermal_hardware"] : [],
	});
	return device === "0" ? Object.assign(out, { energy_j: 765.6, others: 0 }) : out;
}

function failed(suite, app, name, platform, status, text, o = {}) {
	const rec = measured(suite, app, name, platform, 1, { ...o, n: 1 });
	rec.status = status;
	rec.status_text = text;
	delete rec.roi;
	delete rec.context;
	rec.fom = { status: "none" };
	rec.own_timer = { status: "none" };
	Object.assign(rec.measurement, { cleans_asked: 3, cleans_made: 1, cleans_used: 0 });
	rec.executions[1] = { name: "clean.0", order: 1, status: o.execution ?? "failed", why: text, used: false, exit_code: o.exit_code, signal: o.signal, utc: rec.utc, process_wall_s: 2.31, output_tail: o.tail ?? "step 118\nstep 119\nerror: residual is nan\n" };
	rec.ranks = rec.ranks?.filter((r) => r.execution === "warmup.0");
	return rec;
}

function imported(suite, app, name, wall, o = {}) {
	const rec = base(suite, app, name, B200, 12, 4);
	return {
		...rec, kind: "imported",
		measurement: { tool: "roimeter 0.1.0", cleans_used: o.n, region: "markers", verify: "outside" },
		inputs: undefined,
		platform_info: { vendor: "nvidia", product: "b200", runtime: "cuda13.2", conformance: "pass" },
		provenance: { imported_from: "hpcperf published.tsv", import_hash: "77a0b1c2d3e4f5061728394a5b6c7d8e", verification: "PASS" },
		roi: { wall_s: wall, spread: o.spread, source: "markers" },
		context: o.share ? { process_wall_s: n15(wall / o.share) } : undefined,
		device: o.busy ? { busy_frac_of_roi: o.busy } : undefined,
		caveats: [{ code: "imported_rounded", text: "The source gives three significant digits; single executions are not in it." }],
		nulls: [{ field: "roi.runs_s", why: "not_measured" }],
	};
}

function other_input(rec, input_hash) {
	rec.inputs = { ...rec.inputs, input_hash };
	return rec;
}

function demo() {
	const S = "demo", out = [];
	const sizes = { n128: 0.021, n256: 0.094, n512: 0.41, n1024: 1.72, n4096: 28.4 };
	for (const [c, w] of Object.entries(sizes)) {
		out.push(measured(S, "heat", c, EPYC, w, { own: 0.0008, steps: 400, excluded: c === "n1024" ? 0.21 : 0, fom: { name: "cell updates", unit: "Gcell/s", work: 0.6 }, phases: c === "n1024" ? [["stencil", 0.81, 400], ["halo", 0.12, 800], ["norm", 0.05, 40]] : undefined }));
		if (c !== "n4096")
			out.push(measured(S, "heat", c, XEON, w * 0.83, { own: 0.0008, steps: 400, n: 3, fom: { name: "cell updates", unit: "Gcell/s", work: 0.6 } }));
		if (c === "n512" || c === "n1024")
			out.push(measured(S, "heat", c, B200, w * 0.061, { n: 5, steps: 400, device: { busy: c === "n512" ? 0.62 : 0.91 }, own: 0.0008 }));
	}
	for (let day = 2; day <= 26; day += 2)
		out.push(other_input(measured(S, "heat", "n1024", EPYC, day < 16 ? 1.71 : 1.93, { day, n: day === 8 ? 3 : 5, own: 0.0008, steps: 400 }), day < 6 ? "7be2aa01c4f5d6e8930b1c2d3e4f5a60" : day === 6 ? undefined : "41c07ad9b2e8f6d35c0a9be17f2448d1"));
	out.push(failed(S, "heat", "n1024", EPYC, "interrupted", "The run was interrupted during clean.0 (Ctrl-C).", { day: 14, execution: "interrupted", signal: 2 }));

	out.push(measured(S, "melt", "4k-r4", EPYC, 3.31, { ranks: 4, steps: 2000, excluded: 0.34, entries: 1, own: 0.0008, caveats: [{ code: "oversubscribed", text: "4 processes with 8 threads each ran on 16 CPUs: threads shared CPUs." }] }));
	out.push(measured(S, "melt", "4k-r16", EPYC, 1.04, { ranks: 16, steps: 2000, excluded: 0.11, own: 0.0008, rel: 0.03 }));
	out.push(measured(S, "melt", "4k-r16", XEON, 0.97, { ranks: 16, steps: 2000, n: 20, levels: 1.09, caveats: [{ code: "two_levels", text: "The samples fall into two groups, 0.97 s and 1.06 s: the machine has two states, and the median may lie in either." }] }));
	out.push(measured(S, "melt", "32k-r64", EPYC, 0.0852, { ranks: 64, steps: 500, n: 3, rel: 0.00001 }));
	out.push(failed(S, "melt", "32k-r64", XEON, "clean_timeout", "clean.0 was ended after 600 s, the limit of this case.", { execution: "timeout", signal: 9, tail: "step 4410 of 5000\n" }));

	out.push(measured(S, "cg", "poisson-96", EPYC, 0.00073, { n: 1, own: 0.02, entries: 1, pre: 0.31, caveats: [{ code: "one_sample", text: "One clean execution: the spread between executions is not known." }, { code: "short_region", text: "The region is 0.2 % of its process." }] }));
	out.push(measured(S, "cg", "poisson-192", EPYC, 0.0112, { n: 5, entries: 1000000, folded: 998976, pre: 0.31, caveats: [{ code: "folded", text: "998,976 of 1,000,000 entries were kept as counters and a histogram only." }] }));
	out.push(failed(S, "cg", "poisson-192", EPYC, "clean_failed", "clean.1 ended with exit code 134 (abort).", { day: 29, exit_code: 134 }));
	out.push(failed(S, "cg", "poisson-384", EPYC, "roi_missing", "clean.0 ended with 0 and never entered a region. Is the program built with the markers?", { execution: "roi_missing", exit_code: 0, tail: "converged after 311 iterations\n" }));
	out.push(measured(S, "cg", "poisson-96", B200, 0.00021, { n: 5, device: { busy: 0.34 }, pre: 0.6 }));
	out.push(failed(S, "cg", "poisson-192", B200, "roi_missing_in_profile", "The collector saw no range of the region, although the clean executions had one.", { execution: "roi_missing", exit_code: 0 }));
	out.push(failed(S, "cg", "poisson-384", B200, "profiled_failed", "The execution under cupti ended by signal 11.", { signal: 11 }));

	out.push(measured(S, "triad", "1g", EPYC, 0.198, { n: 10, fom: { name: "bandwidth", unit: "GB/s", work: 71 }, drift: true, caveats: [{ code: "drift", text: "The samples rise with their order, by 10 % from first to last: the machine was not in a steady state." }] }));
	out.push(measured(S, "triad", "1g", XEON, 0.231, { n: 5, made: 6, fom: { name: "bandwidth", unit: "GB/s", work: 71 }, bad: { "clean.2": { status: "failed", exit_code: 1, why: "exit code 1", output_tail: "validation failed at 77\n" } }, caveats: [{ code: "samples_lost", text: "6 made, 5 used: clean.2 ended with exit code 1." }] }));

	out.push(measured(S, "lammps", "melt-32k", EPYC, 4.86, { n: 3, timer: "lammps", fom: { name: "performance", unit: "Matom-step/s", work: 64 }, phases: [["Pair", 0.74, 1], ["Neigh", 0.14, 1], ["Comm", 0.04, 1], ["Output", 0.001, 1], ["Modify", 0.05, 1], ["Other", 0.01, 1]], caveats: [{ code: "timer_sections", text: "LAMMPS's sections are averages over its ranks and do not wait for a device." }] }));
	out.push(failed(S, "lammps", "melt-256k", EPYC, "timer_missing", "No line “Loop time of” in the output of clean.0: the run did not reach its end.", { execution: "timer_missing", exit_code: 0 }));

	const P = "hpcperf";
	[["amg", "p64"], ["amg", "p128"], ["miniem", "p100k"], ["miniem", "p200k"], ["xsbench", "large"], ["xsbench", "xl"]].forEach(([a, c], i) => {
		out.push(imported(P, a, c, Number((0.0123 * 3.1 ** i).toPrecision(3)), { n: i % 2 ? 5 : 3, spread: 0.002 * (i + 1), share: i % 3 ? 0.31 : undefined, busy: 0.4 + 0.09 * i }));
	});
	out.push(measured(P, "xsbench", "large", EPYC, 2.9, { n: 5, fom: { name: "lookups", unit: "lookup/s", work: 17e6 } }));
	const declared = [
		...Object.keys(sizes).map((c) => [S, "heat", c, `${c.slice(1)} × ${c.slice(1)} cells, 400 steps`]),
		...["4k-r4", "4k-r16", "32k-r64"].map((c) => [S, "melt", c, ""]),
		...["poisson-96", "poisson-192", "poisson-384", "poisson-512"].map((c) => [S, "cg", c, ""]),
		[S, "triad", "1g", "3 arrays of 1 GB"], [S, "triad", "8g", "3 arrays of 8 GB"],
		[S, "lammps", "melt-32k", "Lennard-Jones, 32,000 atoms"], [S, "lammps", "melt-256k", "Lennard-Jones, 256,000 atoms"],
		[P, "amg", "p64", ""], [P, "amg", "p128", ""], [P, "amg", "p256", ""],
	];
	return [out, declared];
}

function many(cases) {
	const out = [], declared = [];
	for (let i = 0; i < cases; i++) {
		const app = `app${String(Math.floor(i / 20)).padStart(2, "0")}`, name = `n${64 * (1 + (i % 20))}`;
		declared.push(["large", app, name, ""]);
		[EPYC, XEON, B200].forEach((p, k) => {
			if ((i * 7 + k * 3) % 11 === 0)
				return;
			out.push(measured("large", app, name, p, 10 ** (-4 + 5 * random()), { n: 5, own: 0.001, device: k === 2 ? { busy: 0.2 + 0.7 * random() } : undefined }));
		});
	}
	return [out, declared];
}

const [dir, count] = process.argv.slice(2);
if (!dir) {
	console.error("node fixture.mjs DIR [CASES]");
	process.exit(2);
}
const [records, declared] = count ? many(Number(count)) : demo();
mkdirSync(dir, { recursive: true });
writeFileSync(join(dir, "records.jsonl"), records.map((r) => JSON.stringify(r) + "\n").join(""));
writeFileSync(join(dir, "declared.tsv"), declared.map((d) => d.join("\t") + "\n").join(""));
