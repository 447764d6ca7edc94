//! The repository's own files, found by walking the tree. It never looks into `target` or `.git`, and needs no
//! git program.

use crate::Failure;
use std::path::{Path, PathBuf};

/// A text file of the repository: where it is, relative to the root, and what it says.
pub(crate) struct TextFile {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

impl TextFile {
    /// Whether the file's name ends in `.extension`.
    pub(crate) fn has_extension(&self, extension: &str) -> bool {
        self.path.extension().is_some_and(|found| found == extension)
    }
}

/// All UTF-8 files under `root`, sorted by path. Files that are not text are left out.
pub(crate) fn text_files(root: &Path) -> Result<Vec<TextFile>, Failure> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).map_err(Failure::io("read", &folder))?;
        for entry in entries {
            let entry = entry.map_err(Failure::io("read", &folder))?;
            let path = entry.path();
            let kind = entry.file_type().map_err(Failure::io("read", &path))?;
            if kind.is_dir() {
                if !skipped(&entry.file_name().to_string_lossy()) {
                    folders.push(path);
                }
            } else if kind.is_file()
                && let Ok(text) = std::fs::read_to_string(&path)
            {
                let path = path.strip_prefix(root).map(Path::to_path_buf).unwrap_or(path);
                files.push(TextFile { path, text });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn skipped(folder: &str) -> bool {
    matches!(folder, "target" | ".git" | "__pycache__" | "proptest-regressions")
}
