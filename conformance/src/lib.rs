//! End-to-end tests and the lab of network namespaces that they and the demo run in.
