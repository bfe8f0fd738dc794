/* The record, roimeter-record/1: one measurement of one case on one platform. Each field is
 * written down here and nowhere else; see schema/field.h for the rules.
 *
 * Numbers carry at most 15 significant digits (num15), so that text and memory agree bit by
 * bit. Times are seconds unless the name says otherwise. */
#ifndef SCHEMA_RECORD_H
#define SCHEMA_RECORD_H

#include "lib/arena.h"
#include "schema/field.h"
#include "schema/record_io.h"

#define RECORD_SCHEMA "roimeter-record/1"

#define MEASUREMENT_FIELDS(F, B, L)                                                              \
	F(txt, tool, "", "program and version that measured or imported this")                   \
	F(num, warmups, "1", "executions made before, and discarded")                            \
	F(num, cleans_asked, "1", "clean executions that were asked for")                        \
	F(num, cleans_made, "1", "clean executions that were started")                           \
	F(num, cleans_used, "1", "clean executions whose region counts as a sample")             \
	F(num, profiled, "1", "executions made under a collector")                               \
	F(txt, order, "", "sequential, or interleaved over the chosen cases")                    \
	F(txt, collector, "", "name of the collector, none if there was none")                   \
	F(num, timeout_s, "s", "limit for one execution")                                        \
	F(txt, region, "", "markers, timer:NAME or range:ANNOTATION")                            \
	F(txt, verify, "", "outside, inside, skipped or none: where the program checks results") \
	F(txt, excludes, "", "what the markers leave out, as the suite tells it")                \
	F(txts, env_allow, "", "names passed on from the caller's environment")                  \
	F(txts, env_refused, "", "names that the credential rule kept out")                      \
	F(ter, resumed, "", "some executions were taken from an interrupted run")                \
	F(txt, clock, "", "clock of the marks: tsc, monotonic or mixed")                         \
	F(txt, launcher_region, "", "how a timer's ranks are combined")                          \
	F(ter, device_sync, "", "the region's ends wait for the device")                         \
	F(txt, profile_reason, "", "why there was no profiled execution")                        \
	F(txt, tree, "", "what holds the processes together: cgroup, or subreaper")              \
	F(ter, profile_auto, "",                                                                 \
	  "the collectors were chosen by auto, not named: what fails under them is a caveat")

#define INPUTS_FIELDS(F, B, L)                                                               \
	F(txts, argv, "", "command and its arguments")                                       \
	F(txts, env, "", "NAME=value that the case itself declares; nothing of the caller's") \
	F(num, ranks, "1", "processes asked for")                                            \
	F(txt, cwd, "", "folder the command starts in")                                      \
	F(txt, exe_hash, "", "XXH3-128 of the executable at the time of measurement")        \
	F(txt, input_hash, "", "XXH3-128 over command, declared environment and input files") \
	F(txts, files, "", "declared input files with their hashes")                         \
	F(num, devices, "1", "accelerators asked for")                                       \
	F(txts, params, "", "NAME=value, as another system describes the input")

#define ROI_FIELDS(F, B, L)                                                                   \
	F(num, wall_s, "s", "median over runs_s")                                             \
	F(nums, runs_s, "s", "each used clean execution: net time of its slowest process")    \
	F(nums, warmup_runs_s, "s", "the same of the discarded ones")                         \
	F(num, min_s, "s", "smallest of runs_s")                                              \
	F(num, max_s, "s", "largest of runs_s")                                               \
	F(num, stddev_s, "s", "sample standard deviation; null for one")                      \
	F(num, cv, "1", "stddev_s / wall_s; null for one")                                    \
	F(nums, ci95_s, "s", "order-statistic interval of the median: low, high")             \
	F(num, ci95_coverage, "1", "probability that ci95_s covers the median; may be below 0.95") \
	F(num, spread, "1", "(max - min) / median; null for one")                             \
	F(num, iqr, "1", "interquartile range / median, inclusive quartiles; null below 4")   \
	F(ter, stable, "", "range <= 10 %, from 10 samples on IQR <= 5 %; null for one")      \
	F(txt, stable_rule, "", "range or iqr")                                               \
	F(ter, two_levels, "", "the samples fall into two groups of two or more; null for one") \
	F(ter, drift, "", "the samples rise or fall with their order; null below 5")          \
	F(num, entries, "1", "entries that a process began, the largest")                     \
	F(num, excluded_s, "s", "time inside the region that the marks leave out, the largest") \
	F(num, excludes, "1", "number of exclude pairs, the largest")                         \
	F(num, processes, "1", "processes that entered the region")                           \
	F(num, unfinished, "1", "processes that left an entry open, or finished none")           \
	F(num, imbalance_s, "s", "slowest - fastest over the processes that finished")        \
	F(num, steps, "1", "steps marked, or reported by the timer")                          \
	F(num, step_s, "s", "mean duration of a step")                                        \
	F(num, step_min_s, "s", "shortest step")                                              \
	F(num, step_max_s, "s", "longest step")                                               \
	F(num, step_p95_s, "s", "95 % of the steps are not longer; upper end of its histogram bin") \
	F(num, profiled_wall_s, "s", "the region under the collector")                        \
	F(num, profiler_inflation, "1", "profiled_wall_s / wall_s")                           \
	F(txt, source, "", "markers, timer or range")                                         \
	F(txt, timer, "", "name of the timer definition")                                     \
	F(num, setup_s, "s", "set-up time, as the application tells it")                      \
	F(num, entry_min_s, "s", "shortest entry, net")                                       \
	F(num, entry_max_s, "s", "longest entry, net")                                        \
	F(num, folded, "1", "entries kept as counters and a histogram only")

#define PHASE_FIELDS(F, B, L)                                                     \
	F(txt, name, "", "as marked, or a part that the timer reports")           \
	F(num, count, "1", "times entered, all processes together")               \
	F(num, total_s, "s", "time inside, of the process that spent the most")   \
	F(num, min_s, "s", "shortest")                                            \
	F(num, max_s, "s", "longest")                                             \
	F(num, share, "1", "total_s / region of that process")

#define CATEGORY_FIELDS(F, c)                                              \
	F(num, c##_s, "s", "summed device time of " #c " in the region")   \
	F(num, c##_ops, "1", "operations of " #c " that touch the region") \
	F(num, c##_bytes, "B", "bytes of " #c ", pro rata where cut")

#define PER_DEVICE_FIELDS(F, B, L)                                                      \
	F(txt, device, "", "the device's name on its node")                             \
	F(num, busy_s, "s", "union over all its processes; null where that is not known") \
	F(num, processes, "1", "processes that used it")                                \
	F(txt, host, "", "node")                                                        \
	F(txt, id, "", "the same in all processes of the node: UUID, PCI place")        \
	F(num, process_busy_s, "s", "union within each process, summed over processes") \
	F(num, busy_frac, "1", "busy_s / time in which any process of its node was in the region") \
	F(num, idle_s, "s", "that time less busy_s")

/* One more union for each category: by itself, so that one list is not moved. */
#define CATEGORY_BUSY_FIELDS(F, c) \
	F(num, c##_busy_s, "s", "union of " #c " within each process and device, summed")

#define DEVICE_FIELDS(F, B, L)                                                        \
	F(num, busy_s, "s", "union within each process, summed over processes")       \
	F(num, busy_frac_of_roi, "1", "busy_s / processes / clean region")            \
	F(num, busy_frac_of_profiled_roi, "1", "busy_s / processes / profiled region") \
	F(num, host_gap_s, "s", "clean region - busy_s / processes")                  \
	F(num, host_gap_frac_of_roi, "1", "host_gap_s / clean region")                \
	F(num, op_time_sum_s, "s", "sum of clipped lengths")                          \
	F(num, overlap_s, "s", "op_time_sum_s - busy_s")                              \
	F(num, job_busy_s, "s", "any device of the job busy")                         \
	F(num, busy_frac_mean, "1", "mean over devices of busy_s / profiled region")  \
	F(num, processes, "1", "processes with a region under the collector")         \
	F(num, processes_with_device_work, "1", "of these, those with an operation")  \
	F(num, untimed_ops, "1", "operations without a usable time")                  \
	F(num, dropped_ops, "1", "operations that the collector lost")                \
	CATEGORY_FIELDS(F, compute)                                                   \
	CATEGORY_FIELDS(F, copy_h2d)                                                  \
	CATEGORY_FIELDS(F, copy_d2h)                                                  \
	CATEGORY_FIELDS(F, copy_d2d)                                                  \
	CATEGORY_FIELDS(F, copy_other)                                                \
	CATEGORY_FIELDS(F, fill)                                                      \
	CATEGORY_FIELDS(F, collective)                                                \
	CATEGORY_FIELDS(F, other)                                                     \
	L(per_device, per_device, "each device by itself")                            \
	F(num, process_device_busy_s, "s", "union within each process and device, summed") \
	F(num, device_overlap_s, "s", "op_time_sum_s - process_device_busy_s")        \
	CATEGORY_BUSY_FIELDS(F, compute)                                              \
	CATEGORY_BUSY_FIELDS(F, copy_h2d)                                             \
	CATEGORY_BUSY_FIELDS(F, copy_d2h)                                             \
	CATEGORY_BUSY_FIELDS(F, copy_d2d)                                             \
	CATEGORY_BUSY_FIELDS(F, copy_other)                                           \
	CATEGORY_BUSY_FIELDS(F, fill)                                                 \
	CATEGORY_BUSY_FIELDS(F, collective)                                           \
	CATEGORY_BUSY_FIELDS(F, other)                                                \
	F(num, late_ops, "1", "operations that came too late for the unions; in all sums") \
	F(num, graphs, "1", "graph launches recorded as a whole, their operations unseen") \
	F(num, pending_ops, "1", "operations under way when the process ended; in no sum") \
	F(num, union_error_s, "s", "job_busy_s and per_device may be too large by this, each") \
	F(ter, incomplete, "", "something is known to be missing; the caveats say what") \
	F(txt, execution, "", "that all this was seen in")

#define RUNTIME_API_FIELDS(F, B, L)                                             \
	F(txt, name, "", "cuda, hip, opencl")                                   \
	F(num, calls, "1", "calls wholly inside the region")                    \
	F(num, time_s, "s", "their time")                                       \
	F(num, sync_calls, "1", "those that wait for the device")               \
	F(num, sync_s, "s", "their time")                                       \
	F(num, whole_calls, "1", "calls in the whole process")                  \
	F(num, whole_time_s, "s", "their time")                                 \
	F(num, whole_sync_calls, "1", "of these, those that wait for the device") \
	F(num, whole_sync_s, "s", "their time")

#define OP_FIELDS(F, B, L)                                      \
	F(txt, name, "", "kernel or kind of copy")              \
	F(txt, category, "", "compute, copy_h2d, ...")          \
	F(num, count, "1", "operations that touch the region")  \
	F(num, total_s, "s", "summed clipped length")           \
	F(num, avg_s, "s", "mean clipped length")               \
	F(num, min_s, "s", "shortest")                          \
	F(num, max_s, "s", "longest")                           \
	F(num, share, "1", "of the total of all operations")    \
	F(nums, bins, "1", "histogram of the lengths: bin, count, bin, count, ...")

#define GAP_FIELDS(F, B, L)                                                  \
	F(num, io_s, "s", "device idle, host in I/O")                        \
	F(num, mpi_s, "s", "device idle, host in MPI")                       \
	F(num, sync_s, "s", "device idle, host in a synchronising call")     \
	F(num, cpu_s, "s", "device idle, host on the CPU")                   \
	F(num, off_cpu_s, "s", "device idle, host off the CPU")              \
	F(num, device_idle_s, "s", "the gap: region less busy_s, summed over processes") \
	F(num, api_s, "s", "device idle, host in another call of the runtime")

#define WHOLE_PROCESS_FIELDS(F, B, L)                        \
	F(num, busy_s, "s", "device busy in the process")    \
	F(num, op_time_sum_s, "s", "sum of operation times") \
	CATEGORY_FIELDS(F, compute)                          \
	CATEGORY_FIELDS(F, copy_h2d)                         \
	CATEGORY_FIELDS(F, copy_d2h)                         \
	CATEGORY_FIELDS(F, copy_d2d)                         \
	CATEGORY_FIELDS(F, copy_other)                       \
	CATEGORY_FIELDS(F, fill)                             \
	CATEGORY_FIELDS(F, collective)                       \
	CATEGORY_FIELDS(F, other)                            \
	F(num, process_device_busy_s, "s", "union within each process and device, summed") \
	F(num, device_overlap_s, "s", "op_time_sum_s - process_device_busy_s") \
	CATEGORY_BUSY_FIELDS(F, compute)                     \
	CATEGORY_BUSY_FIELDS(F, copy_h2d)                    \
	CATEGORY_BUSY_FIELDS(F, copy_d2h)                    \
	CATEGORY_BUSY_FIELDS(F, copy_d2d)                    \
	CATEGORY_BUSY_FIELDS(F, copy_other)                  \
	CATEGORY_BUSY_FIELDS(F, fill)                        \
	CATEGORY_BUSY_FIELDS(F, collective)                  \
	CATEGORY_BUSY_FIELDS(F, other)                       \
	F(num, untimed_ops, "1", "operations without a usable time") \
	L(per_device, per_device, "each device by itself")

/* Medians over the used clean executions, unless said. */
#define CONTEXT_FIELDS(F, B, L)                                                             \
	F(num, process_wall_s, "s", "from the start of the command to its end")             \
	F(num, pre_roi_s, "s", "from the start to the first entry")                         \
	F(num, post_roi_s, "s", "from the last entry's end to the end")                     \
	F(num, outside_region_s, "s", "process_wall_s - region, for timers")                \
	F(num, between_s, "s", "from first entry to last end, less entries")                \
	F(num, load1, "1", "runnable tasks of the machine over the last minute, at start")  \
	F(num, others_cpu_s, "s", "CPU time that other processes took meanwhile, largest")  \
	F(num, others_running, "1", "other runs of this tool on the machine, largest")      \
	F(num, user_s, "s", "CPU time in user code, whole tree")                            \
	F(num, system_s, "s", "CPU time in the kernel, whole tree")                         \
	F(num, voluntary_switches, "1", "context switches: waited")                         \
	F(num, involuntary_switches, "1", "context switches: was pushed off")               \
	F(num, minor_faults, "1", "page faults without I/O")                                \
	F(num, major_faults, "1", "page faults with I/O")                                   \
	F(num, max_rss_bytes, "B", "peak memory of the largest process")                    \
	F(num, cpu_khz_min, "kHz", "slowest CPU frequency seen")                            \
	F(num, cpu_khz_max, "kHz", "fastest CPU frequency seen")                            \
	F(txt, governor, "", "frequency governor")                                          \
	F(num, temperature_c, "C", "highest package temperature seen")                      \
	F(num, steal_frac, "1", "share of CPU time that the hypervisor took, largest")      \
	B(whole_process, whole_process, "the device outside of any region too") \
	F(num, cpu_khz_mean, "kHz", "mean CPU frequency seen")                              \
	F(num, cpu_throttles, "1", "times that heat slowed the CPU down, largest")          \
	F(num, cpu_energy_j, "J", "of the CPU packages, by their own counters")             \
	L(device_state, devices, "how each accelerator ran meanwhile, all of them together")

#define FOM_FIELDS(F, B, L)                                                          \
	F(txt, name, "", "the application's own metric")                             \
	F(num, value, "", "median over the clean executions, in unit")               \
	F(txt, unit, "", "as declared; SI prefixes of the output are folded into it") \
	F(txt, better, "", "higher or lower")                                        \
	F(nums, runs, "", "each clean execution's")                                  \
	F(txt, status, "", "ok, none, not_matched, not_a_number, overflowed, log_missing") \
	F(txt, pattern, "", "regular expression")

#define OWN_TIMER_FIELDS(F, B, L)                                                 \
	F(num, value_s, "s", "median over the clean executions")                  \
	F(nums, runs_s, "s", "each clean execution's")                            \
	F(num, roi_diff_frac, "1", "(region - own timer) / own timer")            \
	F(txt, status, "", "ok, none, not_matched, not_a_number, overflowed, log_missing") \
	F(txt, pattern, "", "regular expression")

#define LAUNCHER_FIELDS(F, B, L)                               \
	F(txt, name, "", "direct, mpirun, srun, flux")         \
	F(txts, argv, "", "what was put before the command")   \
	F(txt, audit, "", "the launcher's own report")         \
	F(ter, audit_ok, "", "it reports no mismatch")

#define PLACEMENT_FIELDS(F, B, L)                                           \
	F(txts, cpus, "", "distinct CPU sets of the processes")             \
	F(num, cpus_n, "1", "CPUs the processes may use together")          \
	F(num, threads_max, "1", "most threads of one process")             \
	F(num, threads_total, "1", "threads of all processes together")     \
	F(ter, oversubscribed, "", "more running threads than CPUs")        \
	F(ter, consistent, "", "all processes have the same CPU set")       \
	F(txts, mems, "", "distinct memory node sets")

/* What can be told of an accelerator of any vendor. */
#define ACCELERATOR_FIELDS(F, B, L)                                            \
	F(txt, name, "", "as its driver names it")                             \
	F(txt, vendor, "", "nvidia, amd, intel")                               \
	F(txt, place, "", "on the PCI bus: 0000:17:00.0")                      \
	F(txt, architecture, "", "sm_90, gfx942")                              \
	F(num, units, "1", "multiprocessors, compute units, Xe cores")         \
	F(num, memory_bytes, "B", "of its own")                                \
	F(num, clock_limit_hz, "Hz", "highest clock of its cores")             \
	F(num, memory_clock_limit_hz, "Hz", "highest clock of its memory")     \
	F(num, power_limit_w, "W", "that it may take")                         \
	F(num, numa_node, "", "of the memory that is near it")                 \
	F(ter, ecc, "", "its memory corrects errors")                          \
	F(ter, persistence, "", "its driver stays loaded without a user")      \
	F(txt, partition, "", "how it is divided: mig, none, or AMD's SPX, CPX, ...") \
	F(txt, source, "", "who told: nvml, driver, sysfs, opencl")

#define PLATFORM_INFO_FIELDS(F, B, L)                                        \
	F(txt, vendor, "", "nvidia, amd, intel, cpu")                        \
	F(txt, product, "", "of the accelerator, or of the CPU")             \
	F(txt, runtime, "", "cuda13.2, linux6.1")                            \
	F(txt, cpu_model, "", "as the kernel names it")                      \
	F(num, sockets, "1", "CPU packages")                                 \
	F(num, cores, "1", "physical cores")                                 \
	F(num, cpus, "1", "logical CPUs online")                             \
	F(num, numa_nodes, "1", "memory nodes")                              \
	F(num, memory_bytes, "B", "of the machine")                          \
	F(num, l3_bytes, "B", "last-level cache, one instance")              \
	F(txt, kernel, "", "release")                                        \
	F(txt, os, "", "distribution")                                       \
	F(txt, host, "", "short host name")                                  \
	F(txt, hypervisor, "", "none, kvm, ...")                             \
	F(txt, clocksource, "", "of the kernel")                             \
	F(ter, tsc_invariant, "", "the time-stamp counter never stops or changes") \
	F(ter, smt, "", "hardware threads share cores")                      \
	F(ter, turbo, "", "frequency boost allowed")                         \
	F(num, device_count, "1", "accelerators visible")                    \
	F(num, device_memory_bytes, "B", "of one accelerator")               \
	F(txt, driver, "", "accelerator driver version")                     \
	F(txt, conformance, "", "pass, fail, pass-clean-only")               \
	F(num, l1d_bytes, "B", "first-level data cache, one instance")       \
	F(num, l2_bytes, "B", "second-level cache, one instance")            \
	F(num, l2_cpus, "1", "logical CPUs that share one instance of it")   \
	F(num, l3_cpus, "1", "logical CPUs that share one last-level cache") \
	F(nums, numa_memory_bytes, "B", "of each memory node")               \
	F(num, cpu_khz_limit, "kHz", "highest frequency of the first CPU")   \
	F(txt, cpu_driver, "", "what sets the CPU frequency")                \
	F(txt, cpu_governor, "", "frequency governor of the first CPU")      \
	L(accelerator, devices, "each accelerator")

#define PROVENANCE_FIELDS(F, B, L)                                              \
	F(txt, suite_file, "", "file name of the suite, without its folder")    \
	F(txt, suite_hash, "", "XXH3-128 of the suite file")                    \
	F(txt, git_commit, "", "of the folder the suite is in")                 \
	F(ter, git_dirty, "", "that folder had changes")                        \
	F(txt, imported_from, "", "format and file name, for imported records") \
	F(txt, import_hash, "", "XXH3-128 of that file")                        \
	F(txt, source_commit, "", "of the application, as the source tells it") \
	F(txt, verification, "", "the source's own verdict on the run")         \
	F(txt, correctness, "", "the source's own verdict on the results")      \
	F(txt, job, "", "in the batch system: slurm:1234, pbs:12.host, flux:f2x")

#define OBSERVER_FIELDS(F, B, L)                                              \
	F(num, marks, "1", "marks written inside the regions")                \
	F(num, mark_cost_s, "s", "their cost, from a calibration at attach")  \
	F(num, runner_cpu_s, "s", "CPU time of the runner while executions ran") \
	F(num, log_bytes, "B", "size of the region logs")                     \
	F(num, collector_cpu_s, "s", "CPU time of the collectors, in the profiled execution") \
	F(num, agent_cpu_s, "s", "CPU time of the agent")                     \
	F(num, wakeups, "1", "times that runner or agent woke up")            \
	F(num, collector_roi_cpu_s, "s", "of collector_cpu_s, what was inside the region") \
	F(num, sampler_cpu_s, "s", "of runner_cpu_s, what looking at accelerators took")

/* An accelerator while an execution ran, from samples taken meanwhile. */
#define DEVICE_STATE_FIELDS(F, B, L)                                                  \
	F(txt, device, "", "its number on the node, as platform_info.devices has them") \
	F(txt, name, "", "as its driver names it")                                    \
	F(txt, place, "", "on the PCI bus")                                           \
	F(txt, status, "", "ok, too_short, not_ready, no_answer, gone")               \
	F(txt, within, "", "region or execution: of what the samples are")            \
	F(num, samples, "1", "looks at it")                                           \
	F(num, span_s, "s", "from the first of them to the last")                     \
	F(num, clock_min_hz, "Hz", "clock of its cores, smallest")                    \
	F(num, clock_mean_hz, "Hz", "mean")                                           \
	F(num, clock_max_hz, "Hz", "largest")                                         \
	F(num, memory_clock_min_hz, "Hz", "clock of its memory, smallest")            \
	F(num, memory_clock_mean_hz, "Hz", "mean")                                    \
	F(num, memory_clock_max_hz, "Hz", "largest")                                  \
	F(num, power_min_w, "W", "power, smallest")                                   \
	F(num, power_mean_w, "W", "mean")                                             \
	F(num, power_max_w, "W", "largest")                                           \
	F(num, temperature_min_c, "C", "of its core, lowest")                         \
	F(num, temperature_mean_c, "C", "mean")                                       \
	F(num, temperature_max_c, "C", "highest")                                     \
	F(num, busy_mean_frac, "1", "share of time with any work on it, by its driver: all processes") \
	F(num, energy_j, "J", "by its own counter, over span_s")                      \
	F(num, throttled_frac, "1", "share of the samples in which something held its clocks down") \
	F(txts, throttle_reasons, "", "what did: power_cap, thermal_software, ...")   \
	F(num, others, "1", "processes on it that are not of the execution, most at once")

#define EXECUTION_FIELDS(F, B, L)                                                     \
	F(txt, name, "", "warmup.0, clean.2, profiled.cupti")                         \
	F(num, order, "1", "place in the order in which all chosen cases ran")        \
	F(txt, status, "", "ok, failed, timeout, roi_missing, timer_missing, interrupted") \
	F(txt, why, "", "a sentence, where it is not ok or not used")                 \
	F(ter, used, "", "its region is one of runs_s")                               \
	F(num, exit_code, "", "of the command; null if it ended by a signal")         \
	F(num, signal, "", "that ended the command")                                  \
	F(txt, utc, "", "start")                                                      \
	F(num, process_wall_s, "s", "start to end")                                   \
	F(num, roi_s, "s", "net region of the slowest process")                       \
	F(num, pre_roi_s, "s", "start to first entry")                                \
	F(num, post_roi_s, "s", "last end to end; null if it ended inside the region") \
	F(num, excluded_s, "s", "left out, the largest")                              \
	F(num, entries, "1", "begun, the largest")                                    \
	F(num, processes, "1", "that entered")                                        \
	F(num, unfinished, "1", "that left an entry open, or finished none")          \
	F(num, imbalance_s, "s", "over those that finished")                          \
	F(num, steps, "1", "steps")                                                   \
	F(num, fom, "", "figure of merit")                                            \
	F(num, own_timer_s, "s", "own timer")                                         \
	F(num, load1, "1", "load at start")                                           \
	F(num, others_cpu_s, "s", "CPU time of other processes meanwhile")            \
	F(num, user_s, "s", "CPU time, user")                                         \
	F(num, system_s, "s", "CPU time, kernel")                                     \
	F(num, voluntary_switches, "1", "context switches")                           \
	F(num, involuntary_switches, "1", "context switches")                         \
	F(num, minor_faults, "1", "page faults")                                      \
	F(num, major_faults, "1", "page faults")                                      \
	F(num, max_rss_bytes, "B", "peak memory of the largest process")              \
	F(num, cpu_khz_min, "kHz", "slowest CPU seen")                                \
	F(num, cpu_khz_max, "kHz", "fastest CPU seen")                                \
	F(num, threads_total, "1", "most threads seen in the tree at once")           \
	F(txt, output_tail, "", "last lines of the output, kept when it is not ok")   \
	F(num, cpu_khz_mean, "kHz", "mean CPU frequency seen")                        \
	F(num, cpu_throttles, "1", "times that heat slowed the CPU down")             \
	F(num, cpu_energy_j, "J", "of the CPU packages, by their own counters")       \
	L(device_state, devices, "how each accelerator ran meanwhile")                \
	F(num, device_read_bytes, "B", "fetched from block devices for its processes, by the kernel")  \
	F(num, device_write_bytes, "B", "caused to be written to block devices, by the kernel") \
	F(num, cgroup_read_bytes, "B", "read from block devices by its control group") \
	F(num, cgroup_write_bytes, "B", "written to block devices by its control group") \
	B(io_kept, capture, "its calls about files, kept whole")

#define RANK_FIELDS(F, B, L)                                               \
	F(txt, execution, "", "clean.0")                                   \
	F(num, rank, "", "null if the process told none")                  \
	F(txt, host, "", "node")                                           \
	F(num, pid, "", "on its node")                                     \
	F(num, roi_s, "s", "net")                                          \
	F(num, gross_s, "s", "with what was excluded")                     \
	F(num, excluded_s, "s", "left out")                                \
	F(num, entries, "1", "finished entries")                           \
	F(ter, unterminated, "", "an entry never ended")                   \
	F(num, lost, "1", "entries that could not be kept")                \
	F(num, first_begin_s, "s", "after the start of the command")       \
	F(num, last_end_s, "s", "after the start of the command")          \
	F(num, steps, "1", "steps")                                        \
	F(txt, cpus, "", "CPU set")                                        \
	F(num, threads, "1", "most seen")

#define CAVEAT_FIELDS(F, B, L)                  \
	F(txt, code, "", "stable, for programs") \
	F(txt, text, "", "a sentence, for people")

#define NULL_FIELDS(F, B, L)                                                       \
	F(txt, field, "", "device, roi.steps, ...; a block stands for all in it")  \
	F(txt, why, "", "not_supported, no_permission, not_measured, lost, "       \
			"not_comparable, too_few")

#define RECORD_FIELDS(F, B, L)                                                           \
	F(txt, schema, "", "roimeter-record/1")                                          \
	F(txt, run_id, "", "20260929T045201Z- and eight hexadecimal digits")             \
	F(txt, suite, "", "name of the suite")                                           \
	F(txt, app, "", "name of the application")                                       \
	F(txt, case_, "", "name of the case: one input of the application")              \
	F(txt, platform, "", "vendor-product.runtime")                                   \
	F(txt, kind, "", "measured, imported, ambient or simulated")                     \
	F(txt, utc, "", "when the first execution started")                              \
	F(txt, status, "", "ok, clean_failed, clean_timeout, roi_missing, timer_missing, " \
			   "profiled_failed, roi_missing_in_profile, interrupted")       \
	F(txt, status_text, "", "a sentence, where it is not ok")                        \
	B(measurement, measurement, "how it was measured")                               \
	B(inputs, inputs, "what was run")                                                \
	B(roi, roi, "the region of interest, from the clean executions")                 \
	L(phase, phases, "named parts of the region")                                    \
	B(device, device, "what the device did inside the region")                       \
	B(runtime_api, runtime_api, "calls to the device's runtime")                     \
	L(op, ops, "device operations, largest total first")                             \
	F(txt, ops_scope, "", "roi or whole_process")                                    \
	B(io, io, "files inside the region")                                             \
	B(gap, gap, "what the host did while the device was idle")                       \
	B(context, context, "around the region")                                         \
	B(fom, fom, "figure of merit")                                                   \
	B(own_timer, own_timer, "the application's own timer: checks where the marks are") \
	B(launcher, launcher, "what started the processes")                              \
	B(placement, placement, "where they ran")                                        \
	B(platform_info, platform_info, "the machine")                                   \
	B(provenance, provenance, "where this comes from")                               \
	B(observer, observer, "what measuring cost")                                     \
	L(execution, executions, "each execution, in the order it ran")                  \
	L(rank, ranks, "each process of each execution")                                 \
	L(caveat, caveats, "every limit of these numbers")                               \
	L(null_reason, nulls, "why a field is null")

#define RECORD_BLOCKS(X)                    \
	X(measurement, MEASUREMENT_FIELDS)  \
	X(inputs, INPUTS_FIELDS)            \
	X(roi, ROI_FIELDS)                  \
	X(phase, PHASE_FIELDS)              \
	X(per_device, PER_DEVICE_FIELDS)    \
	X(device, DEVICE_FIELDS)            \
	X(runtime_api, RUNTIME_API_FIELDS)  \
	X(op, OP_FIELDS)                    \
	X(io_sums, IO_SUMS_FIELDS)          \
	X(io_pattern, IO_PATTERN_FIELDS)    \
	X(io_by_interface, IO_INTERFACE_FIELDS) \
	X(io_file, IO_FILE_FIELDS)          \
	X(io_series, IO_SERIES_FIELDS)      \
	X(io_mpi, IO_MPI_FIELDS)            \
	X(io_kept, IO_KEPT_FIELDS)          \
	X(io, IO_FIELDS)                    \
	X(gap, GAP_FIELDS)                  \
	X(whole_process, WHOLE_PROCESS_FIELDS) \
	X(device_state, DEVICE_STATE_FIELDS) \
	X(context, CONTEXT_FIELDS)          \
	X(fom, FOM_FIELDS)                  \
	X(own_timer, OWN_TIMER_FIELDS)      \
	X(launcher, LAUNCHER_FIELDS)        \
	X(placement, PLACEMENT_FIELDS)      \
	X(accelerator, ACCELERATOR_FIELDS)  \
	X(platform_info, PLATFORM_INFO_FIELDS) \
	X(provenance, PROVENANCE_FIELDS)    \
	X(observer, OBSERVER_FIELDS)        \
	X(execution, EXECUTION_FIELDS)      \
	X(rank, RANK_FIELDS)                \
	X(caveat, CAVEAT_FIELDS)            \
	X(null_reason, NULL_FIELDS)         \
	X(record_body, RECORD_FIELDS)

RECORD_BLOCKS(DEFINE_STRUCT)

/* A record owns what it points to. */
struct record {
	struct arena arena;
	struct record_body body;
	/* of the lists that record_caveat and record_null made: others have no room for more */
	struct record_room {
		const void *items;
		size_t room;
	} caveats, nulls;
};

/* What describes each struct: measurement_block, roi_block, ... */
#define DECLARE_BLOCK(kind, FIELDS) extern const struct block kind##_block;
RECORD_BLOCKS(DECLARE_BLOCK)
#define record_block record_body_block

/* Everything null, schema set. */
void record_init(struct record *rec);
void record_done(struct record *rec);

/* Set every field of a block to null: NAN, NULL, UNKNOWN, no list. */
void block_clear(const struct block *block, void *at);

/* A copy in the record's arena for a text field: bytes that are not UTF-8 become U+FFFD, NULs
 * too. NULL when out of memory, or text is NULL. */
char *record_text(struct record *rec, const char *text, size_t bytes);

/* Append, in the record's arena; text is copied. -ENOMEM when out of memory. */
int record_caveat(struct record *rec, const char *code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int record_null(struct record *rec, const char *field, const char *why);

/* All that the block points to, lists and what is in them too, copied into the arena. -ENOMEM. */
int block_copy(struct arena *arena, const struct block *block, void *at);

#endif
