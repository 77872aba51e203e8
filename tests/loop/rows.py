"""Which tests hold which rows of the requirements, as far as the loop's core goes."""

from __future__ import annotations

DETECTOR = "test_detectors.py::test_each_trips_at_its_threshold_and_not_before[{}]"
CASE = "test_cases.py::test_case[{}]"
CASES, PARTS, STORE, LAWS = "test_cases.py::", "test_parts.py::", "test_store.py::", "test_laws.py::"

ROWS: dict[str, tuple[str, ...]] = {
    "S0-0.1": (PARTS + "test_fixed_texts",),
    "S0-1.1": (LAWS + "test_the_breaker_has_no_other_edges_and_no_call_passes_it",),
    "S0-1.2": (LAWS + "test_the_breaker_has_no_other_edges_and_no_call_passes_it",),
    "S0-1.3": (CASES + "test_v32_an_open_breaker_refuses_until_its_cooldown_is_over",),
    "S0-1.4": (CASES + "test_x55_a_probe_that_was_lost_opens_again_for_twice_as_long",),
    "S0-2.1": (DETECTOR.format("no_progress"), CASE.format("V01"), CASE.format("X01")),
    "S0-2.2": (DETECTOR.format("same_error"), CASE.format("V23")),
    "S0-2.3": (DETECTOR.format("output_decline"), CASE.format("X22 trips"), CASE.format("X22")),
    "S0-2.4": (DETECTOR.format("permission_denied"), CASE.format("X39"), CASE.format("X39 edits")),
    "S0-2.5": (DETECTOR.format("test_fix_loop"), CASE.format("X27"), CASE.format("X26")),
    "S0-2.6": (DETECTOR.format("circular"), CASE.format("X30"), CASE.format("X31")),
    "S0-2.7": (PARTS + "test_each_part_of_the_score",),
    "S0-2.8": (PARTS + "test_each_part_of_the_score",),
    "S0-2.9": (PARTS + "test_each_part_of_the_score",),
    "S0-2.10": (PARTS + "test_each_part_of_the_score",),
    "S0-2.11": (PARTS + "test_the_second_same_error_costs_two",),
    "S0-2.12": (PARTS + "test_each_part_of_the_score",),
    "S0-2.13": (PARTS + "test_each_part_of_the_score",),
    "S0-2.14": (DETECTOR.format("negative_score"), CASE.format("X21")),
    "S0-2.15": (CASE.format("X64"),),
    "S0-3.1": (CASES + "test_v32_an_open_breaker_refuses_until_its_cooldown_is_over",),
    "S0-3.2": (CASES + "test_v32_an_open_breaker_refuses_until_its_cooldown_is_over",),
    "S0-3.3": (CASES + "test_x65_with_wait_one_process_sleeps_probes_and_goes_on",),
    "S0-3.4": (PARTS + "test_four_failed_probes_ask_the_user_and_three_good_iterations_start_over",),
    "S0-3.5": (PARTS + "test_every_kind_of_advice_has_four_strategies",),
    "S0-3.6": (CASES + "test_x58_a_trip_while_it_is_watched_escalates",),
    "S0-4.1": (CASES + "test_v34_warning_and_wait_at_the_calls_of_an_hour",),
    "S0-4.2": (PARTS + "test_the_window_rolls_and_never_admits_more",),
    "S0-4.4": (PARTS + "test_no_retries_once_calls_are_scarce",),
    "S0-4.5": (CASES + "test_v34_warning_and_wait_at_the_calls_of_an_hour",),
    "S0-4.6": (PARTS + "test_the_window_rolls_and_never_admits_more", PARTS + "test_reservations_in_the_future_count"),
    "S0-4.7": (CASE.format("X06"), CASE.format("V13")),
    "S0-5.8": (CASE.format("V31"), CASE.format("X74")),
    **{f"S0-6.{number}": (PARTS + "test_each_alert_comes_at_its_threshold_and_once_an_episode",) for number in (1, 2, 4, 5, 8)},
    "S0-6.3": (CASES + "test_alerts_come_once_an_episode", PARTS + "test_each_alert_comes_at_its_threshold_and_once_an_episode"),
    "S0-6.6": (CASE.format("X24"),),
    "S0-6.7": (CASES + "test_v34_warning_and_wait_at_the_calls_of_an_hour",),
    "S0-6.9": (PARTS + "test_the_entry_of_an_iteration_has_its_exact_form", PARTS + "test_what_was_not_measured_says_so"),
    "S0-7.1": (CASES + "test_nobody_resets_without_a_name",),
    "S0-7.2": (PARTS + "test_thresholds_may_be_stricter_never_looser",),
    "S0-7.3": (CASE.format("V26"),),
    "S0-7.4": (PARTS + "test_fingerprints_of_errors",),
    "S0-7.5": (PARTS + "test_a_transport_error_is_repeated_three_times_within_the_iteration",),
    "S0-7.6": (CASE.format("X46"), CASES + "test_a_complete_plan_whose_verification_fails_is_worked_on"),
    "S0-7.8": (PARTS + "test_unsafe_loosens_and_says_so_but_never_the_cooldown",),
    "S1-1.8": (CASES + "test_x90_status_after_a_trip",),
    "S1-1.9": (CASES + "test_v34_warning_and_wait_at_the_calls_of_an_hour",),
    "S1-1.11": (CASE.format("V06"),),
    "S1-1.12": (CASE.format("V41"),),
    "S1-1.13": (CASES + "test_x90_status_after_a_trip",),
    "S1-3.2": (CASE.format("X01"),),
    "S1-3.3": (CASE.format("V23"), PARTS + "test_fixed_texts"),
    "S1-3.4": (CASE.format("X01"),),
    "S1-3.5": (PARTS + "test_thresholds_may_be_stricter_never_looser",),
    "S1-3.6": (CASE.format("X43"), CASE.format("V30")),
    "S1-3.7": (STORE + "test_the_state_survives_a_restart", STORE + "test_ralph_finds_its_files_where_its_directory_is"),
    "S1-3.8": (STORE + "test_ralph_finds_its_files_where_its_directory_is",),
    "S1-4.1": (STORE + "test_ralph_finds_its_files_where_its_directory_is",),
    "S1-4.2": (CASES + "test_v34_warning_and_wait_at_the_calls_of_an_hour", PARTS + "test_fixed_texts"),
    "S1-6.1": (CASES + "test_x62_a_reset_allows_one_probe_and_to_closed_starts_over",),
    "S1-6.3": (CASES + "test_v32_an_open_breaker_refuses_until_its_cooldown_is_over",),
    "S3-7": (DETECTOR.format("no_progress"), DETECTOR.format("same_error"), DETECTOR.format("output_decline")),
    "S3-9": (STORE + "test_the_log_has_the_words_that_are_looked_for",),
    "S4-R2": (PARTS + "test_a_transport_error_is_repeated_three_times_within_the_iteration",),
    "S4-R4": (STORE + "test_a_damaged_checkpoint_gives_way_to_the_newest_good_one",),
    "S4-R6": (
        STORE + "test_a_damaged_checkpoint_gives_way_to_the_newest_good_one",
        STORE + "test_a_damaged_line_never_closes_the_breaker",
    ),
    "S4-R7": (
        PARTS + "test_every_state_has_a_deadline_and_what_follows",
        PARTS + "test_a_passed_deadline_forces_what_the_table_says",
    ),
    "S4-R11": (CASE.format("V06"), CASE.format("X05")),
}

# What the runner adds, through the command line.
RUN = "test_cli.py::test_a_run[{}]"
CLI, PROCESSES, CONTROL, KILL = "test_cli.py::", "test_processes.py::", "test_control.py::", "test_kill.py::"
CLAUDE = "test_claude.py::"
KILLED = KILL + "test_killed_before_any_call_to_the_disk_nothing_is_lost"
THROUGH_THE_COMMAND_LINE: dict[str, tuple[str, ...]] = {
    "S0-1.3": (CLI + "test_v32_an_open_breaker_refuses_until_its_cooldown_is_over_and_probes_once",),
    "S0-1.4": (CLI + "test_v32_an_open_breaker_refuses_until_its_cooldown_is_over_and_probes_once",),
    "S0-2.1": (RUN.format("V01"), RUN.format("V03"), RUN.format("X15")),
    "S0-2.2": (RUN.format("V23"),),
    "S0-2.3": (RUN.format("V25"),),
    "S0-2.4": (RUN.format("X39"),),
    "S0-2.5": (RUN.format("X27"),),
    "S0-2.6": (RUN.format("X30"), RUN.format("V27")),
    "S0-4.2": (CLI + "test_v34_call_101_is_never_made_within_an_hour",),
    "S0-4.5": (CLI + "test_v34_call_101_is_never_made_within_an_hour",),
    "S0-4.7": (PROCESSES + "test_x78_a_call_that_never_ends_is_ended_at_its_time_out",),
    "S0-4.9": (PROCESSES + "test_output_of_any_kind_is_taken",),
    "S0-5.2": (RUN.format("V31"), RUN.format("X41")),
    "S0-5.4": (RUN.format("X76"), RUN.format("X76 link")),
    "S0-5.6": (RUN.format("X41"),),
    "S0-5.8": (RUN.format("V31"), RUN.format("X74")),
    "S0-7.1": (
        CONTROL + "test_x62_a_reset_needs_a_reason_and_a_person",
        CONTROL + "test_x88_an_agent_lifts_and_ends_nothing",
        CONTROL + "test_a_forged_request_during_a_call_resets_nothing",
    ),
    "S0-7.2": (CLI + "test_x61_a_short_cooldown_is_raised_and_an_automatic_reset_refused",),
    "S0-7.6": (RUN.format("X46"), RUN.format("X49")),
    "S1-A.1": (CLI + "test_an_edit_of_the_policy_is_a_violation_while_a_loop_runs",),
    "S1-A.2": (CLI + "test_external_changes_are_told_and_count_for_nothing",),
    "S1-1.1": (CLI + "test_what_is_missing_is_named",),
    "S1-1.2": (CLI + "test_what_is_missing_is_named",),
    "S1-1.3": (CLI + "test_what_is_missing_is_named",),
    "S1-1.5": (CLI + "test_the_files_beside_ralphs_prompt_are_written",),
    "S1-1.7": (RUN.format("V22"),),
    "S1-1.8": (CLI + "test_x90_status_after_a_trip",),
    "S1-1.10": (CLI + "test_v07_v08_a_usage_limit_is_waited_for", CLI + "test_x67_a_limit_that_never_ends_ends_the_run"),
    "S1-1.15": (CLI + "test_v07_v08_a_usage_limit_is_waited_for", RUN.format("V10"), RUN.format("V11")),
    "S1-2.1": (CLI + "test_v18_v19_a_claim_is_recorded_and_refused_while_tasks_are_open",),
    "S1-2.4": (RUN.format("X38"),),
    "S1-3.5": (CLI + "test_x71_ralphrc_is_data",),
    "S1-4.4": (CLI + "test_x70_a_wrong_option_starts_nothing", CLAUDE + "test_a_token_limit_of_the_hour_is_waited_for"),
    "S1-6.1": (CONTROL + "test_a_reset_to_closed_starts_over",),
    "S1-6.2": (CONTROL + "test_status_and_log_say_what_has_happened",),
    "S1-7.1": (CLI + "test_v29_a_gap_in_a_compound_command_counts_and_is_told",),
    "S1-9.1": (KILLED, CLI + "test_x84_a_key_is_written_nowhere"),
    "S2-8": (CLI + "test_x90_status_after_a_trip",),
    "S2-9": (CLI + "test_x58_a_trip_while_it_is_watched_needs_a_person",),
    "S2-13": (PROCESSES + "test_v43_a_second_runner_is_refused_and_the_first_is_not_touched",),
    "S4-R1": (KILLED, CLI + "test_x80_a_deleted_state_is_noticed_and_stops_the_loop"),
    "S4-R3": (PROCESSES + "test_x73_a_signal_ends_a_wait_within_a_second",),
    "S4-R5": (KILLED, KILL + "test_a_disk_that_takes_nothing_more_ends_the_run_and_loses_nothing"),
    "S4-R6": (KILL + "test_v39_a_damaged_checkpoint_gives_way_to_an_older_one",),
}
# What agents say, and how they are started.
READING, STREAMS, CLIENTS = "test_reading.py::", "test_reading_streams.py::", "test_clients.py::"
READ: dict[str, tuple[str, ...]] = {
    "S0-4.8": (READING + "test_each_shape_of_a_reply_is_read",),
    "S0-4.9": (READING + "test_a_promised_form_that_cannot_be_read_is_raw_and_its_text_is_kept",),
    "S1-1.3": (CLIENTS + "test_a_client_that_would_not_call_guard_is_not_started",),
    "S1-1.10": (CLIENTS + "test_a_person_at_the_terminal_is_asked_whether_to_wait_for_the_limit",),
    "S1-1.15": (READING + "test_usage_limits", STREAMS + "test_a_usage_limit_is_told_by_the_client"),
    "S1-2.1": (READING + "test_explicit_values_and_claims",),
    "S1-2.7": (READING + "test_each_shape_of_a_reply_is_read",),
    "S1-2.8": (READING + "test_done_signals", READING + "test_strong_signals_hints_and_testing"),
    "S1-2.11": (READING + "test_explicit_values_and_claims",),
    "S1-2.12": (READING + "test_streams_are_read_fast", READING + "test_megabytes_on_one_line_are_read_in_time"),
    "S1-4.3": (
        CLIENTS + "test_a_person_at_the_terminal_is_asked_whether_to_wait_for_the_limit",
        CLIENTS + "test_only_a_no_ends_the_run_and_no_answer_in_time_waits",
    ),
    "S1-4.4": (STREAMS + "test_tokens_and_cost_are_the_clients_own", CLIENTS + "test_tokens_that_are_counted_on_are_subtracted"),
    "S1-7.1": (
        READING + "test_a_shell_command_is_a_gap_if_any_simple_command_is_not_allowed",
        CLIENTS + "test_without_a_list_no_client_may_do_everything",
    ),
    "S1-A.3": (
        CLIENTS + "test_a_prompt_that_is_too_long_gets_its_own_advice",
        CLIENTS + "test_what_is_allowed_is_said_in_the_words_of_each_client",
    ),
    "S2-6": (READING + "test_strong_signals_hints_and_testing",),
    "S3-2": (READING + "test_done_signals",),
    "S3-4": (READING + "test_strong_signals_hints_and_testing", CLIENTS + "test_documentation_alone_is_a_strong_signal"),
    "S3-8": (
        CLIENTS + "test_a_person_at_the_terminal_is_asked_whether_to_wait_for_the_limit",
        CLIENTS + "test_only_a_no_ends_the_run_and_no_answer_in_time_waits",
        READING + "test_reset_times",
    ),
    "C1": (READING + "test_a_shell_command_is_a_gap_if_any_simple_command_is_not_allowed", CASE.format("X39")),
    "C16": (READING + "test_done_signals", READING + "test_keys_are_matched_whole"),
    "C40": (
        READING + "test_what_guard_refused_itself_is_no_gap_and_other_tools_always_are",
        STREAMS + "test_what_the_client_denied_is_a_gap_and_what_guard_refused_is_none",
    ),
}
# What people and agents say to a loop from outside, and from inside.
LINE, FILES, GATE = "test_control_line.py::", "test_control_files.py::", "test_control_gate.py::"
RULES = "test_control_rules.py::"
RULE = RULES + "test_holds_modes_and_gate[{}]"
STEERED: dict[str, tuple[str, ...]] = {
    "S1-A.2": (RULE.format("after_a_time"),),
    "S2-1": (DETECTOR.format("execution_failure"), CASE.format("V01"), CASE.format("V06")),
    "S2-2": (RULE.format("modes_shown"), RULE.format("deadlines")),
    "S2-3": (
        CASES + "test_x90_status_after_a_trip",
        RULE.format("modes_shown"),
        LINE + "test_x89_x85_a_pause_before_the_first_run_outlives_the_gate",
    ),
    "S2-4": (DETECTOR.format("execution_failure"), DETECTOR.format("repeated_refusal"), DETECTOR.format("repeated_renewal")),
    "S2-5": (DETECTOR.format("repeated_message"), DETECTOR.format("repeated_renewal")),
    "S2-7": (CASE.format("X20"), CASE.format("X36")),
    "S2-9": (RULES + "test_nothing_that_is_no_person_lifts_what_a_person_has_to", RULE.format("resuming")),
    "S2-10": (RULE.format("the_gate_first"), FILES + "test_a_thousand_requests_are_taken_in_order"),
    "S2-11": (RULES + "test_who_may_what_in_which_state", LINE + "test_x85_a_hold_that_is_lifted_opens_no_gate"),
    "S2-11a": (CASES + "test_x88_directives_do_what_an_agent_may", RULE.format("directed")),
    "S2-12": (
        GATE + "test_it_drains_while_an_iteration_is_at_work_and_is_paused_then",
        LINE + "test_x85_a_hold_that_is_lifted_opens_no_gate",
        LINE + "test_x89_x85_a_pause_before_the_first_run_outlives_the_gate",
    ),
    "S2-13": (RULE.format("directed"),),
    "S2-15": (
        *(DETECTOR.format(cause) for cause in ("repeated_message", "repeated_renewal", "execution_failure")),
        LINE + "test_x85_a_hold_that_is_lifted_opens_no_gate",
        LINE + "test_x89_x85_a_pause_before_the_first_run_outlives_the_gate",
    ),
    "S2-16": (LINE + "test_x86_a_trip_stays_with_its_loop", LINE + "test_x88_an_agent_holds_its_own_loop_and_nothing_else"),
    "S2-17": (LINE + "test_x89_x85_a_pause_before_the_first_run_outlives_the_gate", RULE.format("manual_waits")),
    "S4-R8": (RULE.format("deadlines"),),
}
# Ralph's files, its settings, how a loop is set up, and what is written nowhere.
RALPH, RALPHRC, INIT = "test_ralph.py::", "test_ralphrc.py::", "test_loop_init.py::"
USE, SECRETS = "test_use_cases.py::", "test_secrets.py::"
BESIDE: dict[str, tuple[str, ...]] = {
    "S1-A.1": (
        CONTROL + "test_x88_an_agent_lifts_and_ends_nothing",
        USE + "test_goal_4_no_call_beyond_the_limit_is_ever_made",
        CLI + "test_what_is_missing_is_named",
    ),
    "S1-1.1": (INIT + "test_prompt_plan_and_configuration_are_written_where_a_loop_finds_them",),
    "S1-1.2": (INIT + "test_the_plan_has_no_task_until_somebody_writes_one",),
    "S1-1.4": (CLI + "test_x14_a_tree_without_git_is_looked_after_and_measured",),
    "S1-1.5": (
        USE + "test_goal_1_iterations_change_files_and_complete_tasks",
        RALPH + "test_every_path_that_ralph_reads_is_there",
    ),
    "S1-1.6": (USE + "test_the_steps_of_an_iteration_come_in_order",),
    "S1-1.7": (
        USE + "test_before_a_call_the_breaker_is_asked_first_then_the_plan_then_the_limit",
        USE + "test_a_complete_plan_needs_no_free_call",
    ),
    "S1-2.9": (RALPH + "test_signals_are_the_last_five_of_the_run",),
    "S1-3.2": (RALPH + "test_the_breaker_is_shown_as_ralph_calls_it",),
    "S1-3.5": (RALPHRC + "test_every_name_works_in_the_file_and_in_the_environment",),
    "S1-3.8": (RALPH + "test_the_breaker_is_shown_as_ralph_calls_it", RALPH + "test_histories_keep_fifty"),
    "S1-4.1": (RALPH + "test_every_path_that_ralph_reads_is_there", STORE + "test_the_log_has_the_words_that_are_looked_for"),
    "S1-4.4": (
        RALPHRC + "test_the_command_line_goes_before_the_environment_before_guard_toml_before_ralphrc",
        RALPHRC + "test_every_name_works_in_the_file_and_in_the_environment",
    ),
    "S1-5.6": (RALPH + "test_progress_is_executing_while_a_call_runs_and_its_seconds_go_on",),
    "S1-6.2": (
        RALPH + "test_every_path_that_ralph_reads_is_there",
        RALPH + "test_the_breaker_is_shown_as_ralph_calls_it",
        RALPH + "test_what_goes_missing_or_is_changed_is_written_again",
    ),
    "S1-7.2": (RALPH + "test_metrics_are_what_ralph_stats_sums",),
    "S1-8.1": (
        USE + "test_goal_3_a_run_that_stagnates_is_halted",
        USE + "test_goal_3_nothing_burns_tokens_for_ever_and_an_open_breaker_costs_none",
        USE + "test_goal_4_no_call_beyond_the_limit_is_ever_made",
        CONTROL + "test_a_reset_to_closed_starts_over",
    ),
    "S1-9.1": (
        SECRETS + "test_x84_no_form_of_a_key_is_below_the_state_or_beside_the_prompt",
        SECRETS + "test_no_cut_of_a_stream_lets_one_through",
        SECRETS + "test_known_ones_go_in_every_form",
    ),
    "S1-10": (
        USE + "test_goal_1_iterations_change_files_and_complete_tasks",
        USE + "test_goal_1_iterations_that_change_nothing_score_below_zero_and_say_so",
        USE + "test_goal_2_a_run_ends_with_a_summary_when_all_is_done",
        USE + "test_goal_2_no_run_goes_on_when_the_work_is_done_and_none_ends_while_it_is_not",
        USE + "test_goal_3_a_run_that_stagnates_is_halted",
        USE + "test_goal_3_nothing_burns_tokens_for_ever_and_an_open_breaker_costs_none",
        USE + "test_goal_4_a_run_waits_for_the_hour_and_goes_on",
        USE + "test_goal_4_no_call_beyond_the_limit_is_ever_made",
        USE + "test_goal_5_a_look_from_outside_shows_where_it_is",
        USE + "test_goal_5_a_stop_is_never_silent",
    ),
    "S3-9": (RALPH + "test_what_goes_missing_or_is_changed_is_written_again",),
    "S3-11": (
        RALPH + "test_sessions_begin_are_reset_and_end",
        RALPH + "test_histories_keep_fifty",
        USE + "test_goal_2_a_run_ends_with_a_summary_when_all_is_done",
    ),
    "C2": (RALPH + "test_every_path_that_ralph_reads_is_there", PARTS + "test_the_window_rolls_and_never_admits_more"),
    "C4": (RALPH + "test_the_breaker_is_shown_as_ralph_calls_it", CASE.format("X01")),
}
# Plans, verification, completion, and the end of a run.
COMPLETION, ENDING = "test_completion.py::", "test_ending.py::"
PLAN, PROMPT, COMMITS, OUTPUT, VERIFYING = (
    f"test_{name}.py::" for name in ("plan", "prompt", "commits", "test_output", "verifying")
)
ACCEPTED = COMPLETION + "test_completion_is_accepted_with_evidence_and_only_then"
VOTE = COMPLETION + "test_without_a_plan_the_vote_decides_as_it_is_defined"
REASONS = COMPLETION + "test_the_reasons_of_a_complete_plan"
WRITTEN = COMPLETION + "test_each_decision_is_written_down_with_all_that_it_looked_at"
COMPLETED: dict[str, tuple[str, ...]] = {
    "S0-2.7": (
        "test_test_output.py::test_what_real_programs_print",
        ENDING + "test_missing_tasks_are_named_in_the_next_prompt_and_what_is_verified_is_counted",
    ),
    "S0-2.8": (PLAN + "test_a_task_is_completed_when_it_is_ticked_after_it_was_open",),
    "S0-2.10": (VERIFYING + "test_an_error_is_resolved_when_it_is_gone",),
    "S0-3.5": (PROMPT + "test_a_probe_and_the_iterations_that_are_watched_get_a_strategy",),
    "S0-4.4": (PROMPT + "test_scarce_calls_are_told_from_eighty_percent_on",),
    "S0-7.3": (RUN.format("X27"), RUN.format("V26")),
    "S0-7.5": (PROMPT + "test_later_attempts_ask_for_another_approach_and_name_what_was_tried",),
    "S0-7.6": (ACCEPTED, ENDING + "test_a_verify_command_that_takes_too_long_fails_and_its_processes_die"),
    "S1-A.3": (PROMPT + "test_a_prompt_that_was_too_long_is_followed_by_a_short_one",),
    "S1-A.4": (
        ENDING + "test_a_run_ends_by_naming_its_commits_also_where_it_goes_on",
        COMMITS + "test_a_history_that_was_rewritten_says_so",
        COMMITS + "test_of_a_thousand_commits_the_newest_are_named",
    ),
    "S1-1.12": (RUN.format("X45"), ACCEPTED),
    "S1-2.1": (WRITTEN,),
    "S1-2.2": (VOTE,),
    "S1-2.3": (CASE.format("V26"), CASE.format("V01")),
    "S1-2.5": (CASE.format("X48"), VOTE),
    "S1-2.6": (VOTE, WRITTEN),
    "S1-2.10": (REASONS, CASE.format("X42"), VOTE),
    "S1-2.11": (ACCEPTED, CASE.format("explicit false blocks the vote")),
    "S3-1": (ENDING + "test_a_plan_that_others_complete_ends_the_run_before_the_next_call", RUN.format("X47"), RUN.format("V22")),
    "S3-2": (VOTE, CASE.format("X48")),
    "S3-3": (VOTE, CASE.format("V26"), PARTS + "test_each_alert_comes_at_its_threshold_and_once_an_episode"),
    "S3-4": (VOTE,),
    "S3-5": (VOTE, WRITTEN),
    "S3-6": (VOTE,),
    "S3-11": (WRITTEN, COMPLETION + "test_v22_the_decision_before_the_first_call_is_written_down_too"),
}
# What looks after a run from outside.
SUPERVISOR, WATCH, SUPERVISE = ("../supervise/" + name for name in ("test_supervisor.py::", "test_watch.py::", "test_cli.py::"))
HUNG = SUPERVISOR + "test_v44_a_runner_that_hangs_is_killed_with_all_that_it_has_started_and_replaced"
APART = SUPERVISE + "test_what_becomes_of_one_loop_does_not_touch_another"
SUPERVISED: dict[str, tuple[str, ...]] = {
    "S4-R1": (SUPERVISE + "test_x83_a_runner_that_is_killed_goes_on_where_it_was", HUNG, APART),
    "S4-R2": (
        SUPERVISE + "test_x83_a_runner_that_is_killed_goes_on_where_it_was",
        SUPERVISE + "test_v44_a_stopped_runner_with_a_silent_call_is_replaced",
        SUPERVISOR + "test_a_runner_that_dies_at_once_every_time_is_given_up",
    ),
    "S4-R3": (
        WATCH + "test_a_runner_is_late_five_seconds_after_its_deadline_and_not_before",
        WATCH + "test_states_with_a_heartbeat_every_second_are_late_without_one",
        HUNG,
    ),
    "S4-R7": (
        WATCH + "test_a_heartbeat_with_the_same_deadline_gives_no_more_time",
        SUPERVISOR + "test_a_run_that_does_not_end_when_it_is_told_to_is_killed",
    ),
    "S4-R13": (
        "../supervise/test_parts.py::test_a_disk_that_takes_nothing_stops_nothing_and_gets_it_later",
        SUPERVISE + "test_a_run_whose_supervisor_was_killed_ends_its_iteration_and_the_next_supervisor_goes_on",
    ),
    "S4-R14": (APART,),
    "S4-R15": (HUNG, SUPERVISE + "test_v44_a_stopped_runner_with_a_silent_call_is_replaced"),
}
# The budget of a day, levels, and calls that loops share.
BUDGET, LEDGER, ECONOMY, LINE = (f"../fleet/test_{name}.py::" for name in ("budget", "ledger", "economy", "line"))
SPENT = LINE + "test_a_day_that_is_spent_slows_the_loop_then_stops_it_until_midnight"
DEGRADED = BUDGET + "test_an_ordinary_loop_degrades_at_80_and_waits_at_100_percent"
SHARED: dict[str, tuple[str, ...]] = {
    "S4-R9": (
        SPENT,
        DEGRADED,
        BUDGET + "test_a_day_ends_at_local_midnight_also_where_clocks_change",
        ECONOMY + "test_the_day_degrades_at_80_percent_waits_at_100_and_begins_anew",
    ),
    "S4-R10": (
        BUDGET + "test_a_spent_budget_leaves_the_cheapest_and_the_reserve",
        ECONOMY + "test_a_critical_loop_has_a_fifth_for_itself",
    ),
    "S4-R13": (SPENT, ECONOMY + "test_while_the_ledger_is_away_a_loop_keeps_to_its_share_and_says_so_once"),
    "S4-R14": (
        LEDGER + "test_two_runners_that_are_killed_at_random_never_pass_the_limit",
        LEDGER + "test_a_damaged_file_is_put_aside_and_made_anew",
    ),
    "C21": (SPENT, BUDGET + "test_more_spending_never_gives_more"),
    "C44": (DEGRADED, BUDGET + "test_the_reserve_is_for_critical_loops_only_once_the_rest_is_spent"),
    "S4-L": (
        ECONOMY + "test_level_2_is_held_for_a_person_after_a_change_also_in_the_economy",
        ECONOMY + "test_level_1_waits_ten_minutes_between_calls_and_says_why",
        SPENT,
    ),
}
# Reports, and whether the work is good over weeks.
REPORT, QUALITY, HISTORY = (f"../report/test_{name}.py::" for name in ("report", "quality", "history"))
EVAL, DRIFT, LINKED, TRIAL, AUDITS, SCHEDULE = (
    f"../evaluate/test_{name}.py::" for name in ("command", "drift", "linked", "trial", "audit_and_feedback", "schedule")
)
WATCHED = QUALITY + "test_every_alert_of_the_iterations_is_a_row_with_its_threshold"
NUMBERS, AVAILABLE = REPORT + "test_numbers_of_a_run", REPORT + "test_availability_counts_from_the_last_heartbeat"
AGAINST = QUALITY + "test_feedback_counts_against_the_completion_that_it_names"
EVALUATED: dict[str, tuple[str, ...]] = {
    **{f"S0-6.{number}": (WATCHED,) for number in range(1, 9)},
    "S0-7.7": (PROMPT + "test_patterns_of_the_same_task_are_told", HISTORY + "test_what_stopped_a_loop_is_told_to_the_next_run"),
    "S0-7.7a": (
        HISTORY + "test_what_stopped_a_loop_is_told_to_the_next_run",
        PROMPT + "test_later_attempts_ask_for_another_approach_and_name_what_was_tried",
    ),
    "S1-7.2": (NUMBERS, REPORT + "test_through_the_command_line"),
    "S1-8.1": (NUMBERS, AGAINST, REPORT + "test_calls_behind_an_open_breaker_are_waste"),
    "S3-10": (NUMBERS, REPORT + "test_trips_harm_and_what_people_lift", REPORT + "test_through_the_command_line"),
    "S3-12": (EVAL + "test_a_replay_says_which_is_worse", LINKED + "test_a_configuration_that_was_not_tried_out_is_told"),
    "S4-E1": (EVAL + "test_feedback_and_drift", EVAL + "test_a_baseline_and_its_trend"),
    "S4-E2": (NUMBERS, QUALITY + "test_a_verifier_misses_what_is_taken_back_later", AGAINST),
    "S4-E3": (NUMBERS, QUALITY + "test_attempts_tokens_and_what_people_lift"),
    "S4-E4": (NUMBERS, REPORT + "test_trips_harm_and_what_people_lift"),
    "S4-E5": (
        QUALITY + "test_escalations_are_right_unless_a_person_says_otherwise",
        QUALITY + "test_attempts_tokens_and_what_people_lift",
    ),
    "S4-E6": (EVAL + "test_a_baseline_and_its_trend", TRIAL + "test_what_passes", TRIAL + "test_a_file_of_cases"),
    "S4-E7": (EVAL + "test_a_replay_says_which_is_worse",),
    "S4-E7a": (LINKED + "test_a_configuration_that_was_not_tried_out_is_told", LINKED + "test_through_the_command_line"),
    "S4-E8": (AUDITS + "test_a_sample_is_random_and_the_same_for_a_seed", EVAL + "test_an_audit_from_the_sheet_to_the_mean"),
    "S4-E8a": (AUDITS + "test_a_filled_sheet", EVAL + "test_an_audit_from_the_sheet_to_the_mean"),
    "S4-E9": (
        AUDITS + "test_commits_that_were_taken_back_within_a_day",
        AUDITS + "test_an_error_that_comes_back_after_its_task_was_done",
    ),
    "S4-E9a": (AUDITS + "test_the_dimensions_that_feedback_counts_against",),
    "S4-E10": (DRIFT + "test_what_is_planted_is_found_and_nothing_else", DRIFT + "test_one_measure_alone_is_noise"),
    "S4-E10a": (DRIFT + "test_floors", HISTORY + "test_items_to_compare"),
    "S4-E11": (
        LINKED + "test_each_row_acts_beyond_its_threshold",
        LINKED + "test_a_bad_baseline_pauses_once",
        LINKED + "test_poor_audits_lower_the_level_and_no_budget_lifts_it",
        LINKED + "test_through_the_command_line",
    ),
    "S4-E12": (
        SCHEDULE + "test_systemd_has_a_timer_that_starts_a_unit",
        SCHEDULE + "test_it_looks_for_feedback_judges_drift_and_writes_a_report",
    ),
    "S4-L": (LINKED + "test_a_curb_never_raises_a_level",),
    "S4-R12": (AVAILABLE, QUALITY + "test_journals_of_any_kind_are_read_as_far_as_they_go"),
    "S4-R12a": (NUMBERS,),
}
for _row, _tests in (
    *EVALUATED.items(),
    *SHARED.items(),
    *THROUGH_THE_COMMAND_LINE.items(),
    *READ.items(),
    *STEERED.items(),
    *BESIDE.items(),
    *COMPLETED.items(),
    *SUPERVISED.items(),
):
    ROWS[_row] = (*ROWS.get(_row, ()), *_tests)
