//! An unmodified ncclient against `cats-mgmtd` over SSH: each test starts a daemon with an empty datastore in a
//! namespace of its own and runs one check of `conformance/clients/ncclient_checks.py`. Needs root.

use cats_conformance::Result;
use cats_conformance::server::Server;

fn check(name: &str) -> Result<()> {
    Server::start(&format!("ncclient-{name}"))?.ncclient(name)
}

#[test]
fn the_hello_offers_both_bases_the_candidate_and_the_yang_library() -> Result<()> {
    check("hello")
}

#[test]
fn subtree_filters_select_what_they_name() -> Result<()> {
    check("get_config_filters")
}

#[test]
fn get_serves_configuration_and_the_yang_library() -> Result<()> {
    check("get_state")
}

/// The cases D02, D04, D05 and D08, of an unmodified client.
#[test]
fn the_datastores_of_nmda_are_read_and_edited_and_tell_origins() -> Result<()> {
    check("nmda")
}

#[test]
fn every_edit_operation_does_what_it_says() -> Result<()> {
    check("edit_operations")
}

#[test]
fn every_default_operation_does_what_it_says() -> Result<()> {
    check("default_operations")
}

#[test]
fn a_refused_edit_names_the_element_and_leaves_nothing_behind() -> Result<()> {
    check("edit_errors")
}

#[test]
fn a_case_replaces_its_sibling_and_user_order_is_kept() -> Result<()> {
    check("choice_and_order")
}

#[test]
fn running_changes_at_commit_and_the_candidate_returns_at_discard() -> Result<()> {
    check("commit_and_discard")
}

#[test]
fn a_failed_commit_leaves_running_and_candidate_as_they_were() -> Result<()> {
    check("failed_commit")
}

#[test]
fn validate_finds_what_commit_would_refuse() -> Result<()> {
    check("validate")
}

#[test]
fn a_lock_keeps_others_out_and_names_its_holder() -> Result<()> {
    check("locks")
}

#[test]
fn a_killed_session_loses_its_lock_and_its_changes() -> Result<()> {
    check("kill_session")
}

#[test]
fn a_closed_session_loses_its_lock() -> Result<()> {
    check("close_session")
}

#[test]
fn copy_config_replaces_the_candidate() -> Result<()> {
    check("copy_config")
}

/// The cases C03, C05 and C07, of an unmodified client.
#[test]
fn a_confirmed_commit_is_confirmed_cancelled_left_and_taken_up_by_its_name() -> Result<()> {
    check("confirmed_commit")
}

#[test]
fn a_configuration_is_saved_to_a_file_and_loaded_from_it() -> Result<()> {
    check("url_files")
}

#[test]
fn get_schema_serves_our_modules_and_the_standard_ones() -> Result<()> {
    check("get_schema")
}

#[test]
fn unknown_operations_are_refused_and_the_session_goes_on() -> Result<()> {
    check("unknown_operations")
}

#[test]
fn text_comes_back_as_it_was_written() -> Result<()> {
    check("write_values")
}

/// The cases N02, N04 and N08, of an unmodified client.
#[test]
fn a_commit_is_told_to_who_has_subscribed_and_may_go_on_asking() -> Result<()> {
    check("notifications")
}

#[test]
fn a_filter_by_xpath_lets_through_the_events_that_it_selects() -> Result<()> {
    check("notification_filters")
}

/// The cases N06 and P47, of an unmodified client.
#[test]
fn what_is_kept_is_replayed_once_in_the_order_of_time() -> Result<()> {
    check("notification_replay")
}

/// Proves CP-36.
#[test]
fn two_services_that_overlap_are_a_commit_error_that_names_both() -> Result<()> {
    check("overlapping_services")
}

/// The case Y07, of an unmodified client.
#[test]
fn a_subscription_on_change_is_told_of_all_then_of_changes_and_ends_when_it_is_killed() -> Result<()> {
    check("push_on_change")
}

#[test]
fn periodic_updates_come_between_the_replies_of_their_session() -> Result<()> {
    check("push_periodic")
}

#[test]
fn a_subscription_that_cannot_be_is_refused_by_its_identity_with_a_hint() -> Result<()> {
    check("push_errors")
}
