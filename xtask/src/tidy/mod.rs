//! `cargo xtask tidy`: the laws of the floor plan, checked. It must not know what a crate computes: it sees the
//! graph of packages, the source as text and the modules' statements.

mod cases;
mod floor;
mod licences;
mod rust_source;
mod sources;
mod text;
mod yang;

use crate::{Failure, repository_root, tree};

/// Checks everything and prints one line a finding: `where: what; remedy`.
pub(crate) fn run() -> Result<(), Failure> {
    let root = repository_root();
    let metadata = floor::metadata(&root)?;
    let packages = floor::load(&root, &metadata)?;
    let files = tree::text_files(&root)?;
    let mut findings = floor::check(&packages);
    findings.extend(licences::check(&floor::licences(&metadata), &files));
    findings.extend(sources::check(&packages, &files));
    findings.extend(text::check(&files));
    findings.extend(text::check_places(&root, &files));
    findings.extend(cases::check(&files));
    findings.extend(yang::check(&files));
    if findings.is_empty() {
        return Ok(());
    }
    for finding in &findings {
        println!("{finding}");
    }
    Err(Failure(format!("tidy has {} finding(s)", findings.len())))
}

#[cfg(test)]
mod tests {
    /// The findings are printed; the error counts them.
    #[test]
    fn the_repository_keeps_the_laws() {
        if let Err(failure) = super::run() {
            panic!("{}", failure.0);
        }
    }
}
