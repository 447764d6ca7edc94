//! Datastores, candidates, locks and the commit state machine.
