//! The only user of libyang: compiles modules into the plain schema and validates whole configurations.
