//! Prints the schema of the default modules as JSON: what `cargo xtask codegen` generates from.

use cats_yang_schema::{default_modules, load};
use std::process::ExitCode;

fn main() -> ExitCode {
    match load(&default_modules()) {
        Ok(compiled) => match serde_json::to_string(compiled.schema()) {
            Ok(json) => {
                println!("{json}");
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("the schema cannot be written as JSON: {error}");
                ExitCode::FAILURE
            }
        },
        Err(errors) => {
            errors.iter().for_each(|error| eprintln!("{error}"));
            ExitCode::FAILURE
        }
    }
}
