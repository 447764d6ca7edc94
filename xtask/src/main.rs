//! Tasks of the repository: tidy, codegen, trace, yang-fetch.

fn main() {}
