/* Every code that a caveat can have. Codes are for programs and never change. docs/caveats.md has
 * the same list; tests/system/caveats looks that it has, and that nobody uses another code. */
#include "core/assemble.h"

/* One line a code: tests/system/caveats reads it. clang-format would break them. */
/* clang-format off */
const struct caveat_code caveat_codes[] = {
	/* marks */
	{ "roi_unterminated", "A process ended inside the region; that execution is no sample." },
	{ "roi_overflow", "Entries of the region were lost, for want of room; the time is too small by theirs." },
	{ "roi_unmatched_end", "END was called without BEGIN; such calls are ignored." },
	{ "roi_lost_end", "A log has two BEGINs in a row: the END between them was lost. Such an execution is no sample." },
	{ "roi_folded", "More entries than are kept one by one; the others are kept as sums and a histogram." },
	{ "roi_threads_folded", "The same with several threads: how they overlap is not known, the time is a lower bound." },
	{ "sync_failed", "A mark that waits for the device could not: the region may begin or end while it was at work." },
	{ "roi_entries_differ_between_runs", "Clean executions entered the region a different number of times." },
	{ "processes_differ_between_runs", "Clean executions had a different number of processes in the region." },
	{ "multi_process_roi", "Several processes entered the region; its time is that of the slowest." },
	{ "ranks_outside_region", "Fewer processes entered the region than were asked for." },
	{ "roi_log_damaged", "A part of a region log could not be used." },
	{ "marks_lost", "A process could not write its marks; the sentence has the cause." },
	{ "ranks_missing", "Processes of a launch never told of their marks; the sentence has which." },
	{ "log_not_final", "The last that came of a process's marks is from before its end." },
	{ "marker_library_missing", "A program is marked, but the library that writes the marks was not found." },
	{ "marking_cost", "The marks themselves take more than 1 % of the region." },
	{ "clock_inconsistent", "A clock was set or drifted during an execution, or is not the runner's." },
	/* executions and samples */
	{ "executions_not_used", "Clean executions were made that are no samples; the sentence says why each." },
	{ "single_execution", "One sample: no spread and no interval." },
	{ "ci_not_95", "So few samples that no interval of the median reaches 95 %." },
	{ "unstable", "The samples spread more than is taken for stable." },
	{ "two_levels", "The samples fall into two groups." },
	{ "drift", "The samples rise or fall with the order in which they were taken." },
	{ "steps_differ_between_runs", "The number of steps differs between the samples." },
	{ "interrupted", "The run was ended before it was complete." },
	{ "resumed", "Executions of two sessions are in one run." },
	{ "processes_outlived", "The command ended while processes of it went on; they were ended." },
	{ "processes_immortal", "Processes did not end even by SIGKILL and may have disturbed what came after." },
	{ "output_cut", "The output was too long to be searched as a whole." },
	/* the machine */
	{ "machine_loaded", "Other programs used the machine." },
	{ "oversubscribed", "More running threads than CPUs." },
	{ "cpu_set_differs", "A rank ran on other CPUs in another execution." },
	{ "frequency_changed", "The CPU frequency differs by more than 5 % between the samples." },
	{ "others_running", "Another run of this tool was on the machine." },
	{ "cpu_stolen", "The hypervisor took more than 1 % of the CPU time." },
	/* the application's own numbers */
	{ "fom_not_matched", "The pattern of the figure of merit is not in the output." },
	{ "fom_not_a_number", "What it found is not a number." },
	{ "fom_overflowed", "The program printed stars instead of the number." },
	{ "fom_log_missing", "There was no output to look in." },
	{ "fom_too_costly", "The pattern came to the limit of its search." },
	{ "own_timer_not_matched", "The pattern of the own timer is not in the output." },
	{ "own_timer_not_a_number", "What it found is not a number." },
	{ "own_timer_overflowed", "The program printed stars instead of the number." },
	{ "own_timer_log_missing", "There was no output to look in." },
	{ "own_timer_too_costly", "The pattern came to the limit of its search." },
	{ "own_timer_differs", "The region differs from the application's own timer by more than 2 %." },
	{ "timer_limit", "What the application's timer leaves out or can't separate, from its definition." },
	/* declared, or of the launcher */
	{ "launcher_audit", "The launcher's own report is not clean." },
	{ "verify_none", "Nothing checks the results." },
	{ "verify_skipped", "The check of the results was switched off." },
	{ "verify_inside", "The check of the results runs inside the region." },
	/* collectors */
	{ "not_profiled", "No execution under a collector: device and runtime are not known." },
	{ "profiler_inflation", "The region took more than 1.2 times as long under the collector." },
	{ "profiler_deflation", "The region took less than 1 / 1.2 of its time under the collector." },
	{ "busy_exceeds_clean_roi", "The device was busy more than 1 % longer than the clean region lasts." },
	{ "untimed_operations", "The collector saw operations without a usable time." },
	{ "dropped_operations", "The collector lost operations." },
	{ "conformance_missing", "The platform has no passed conformance test for this collector." },
	/* imports */
	{ "source_caveat", "A limit that the imported source tells itself." },
	{ "source_caveats_lost", "The imported source tells more limits than its file still has." },
	{ "source_also_says", "What the imported source tells that has no field here." },
	{ "source_disagrees", "A figure of the imported source does not follow from its own samples." },
	{ "imported_rounded", "Figures come from a published table with three significant digits." },
	{ "exit_unknown", "Made of region logs alone: how the program ended is not known." },
	{ "imported_incomplete", "Parts of the measurement are not in the imported file." },
	{ "operations_cut", "The imported file has only the largest operations." },
	{ 0 },
};
/* clang-format on */
