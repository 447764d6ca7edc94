//! Classifier, pending table, binding table and reconcile plan of the forwarders, with the model backend.
