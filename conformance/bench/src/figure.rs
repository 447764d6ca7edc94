//! Figures and the file that keeps them.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;
use std::path::Path;

/// Which direction is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Better {
    Higher,
    Lower,
}

/// One measured figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Figure {
    /// `group/what`.
    pub(crate) key: String,
    /// The median of the runs.
    pub(crate) value: f64,
    /// `ratio`, `1/s`, `us`…
    pub(crate) unit: String,
    /// Which direction is good.
    pub(crate) better: Better,
    /// The value of each run.
    pub(crate) runs: Vec<f64>,
    /// What a ratio is to, with its version.
    pub(crate) against: Option<String>,
    /// How it was measured.
    pub(crate) note: String,
}

impl Figure {
    /// A figure from its runs; none from no run.
    pub(crate) fn of(key: &str, unit: &str, better: Better, runs: Vec<f64>) -> Option<Self> {
        let value = median(&runs)?;
        let (key, unit) = (key.to_owned(), unit.to_owned());
        Some(Self { key, value, unit, better, runs, against: None, note: String::new() })
    }

    /// The same figure with what it is compared to.
    pub(crate) fn against(mut self, peer: &str) -> Self {
        self.against = Some(peer.to_owned());
        self
    }

    /// The same figure with how it was measured.
    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spread = |pick: fn(f64, f64) -> f64| self.runs.iter().copied().reduce(pick).unwrap_or(self.value);
        write!(f, "{:44} {:>12} {:6}", self.key, number(self.value), self.unit)?;
        write!(f, " [{} .. {}]", number(spread(f64::min)), number(spread(f64::max)))?;
        match &self.against {
            Some(peer) => write!(f, " against {peer}"),
            None => Ok(()),
        }
    }
}

fn number(value: f64) -> String {
    if value.abs() >= 1000.0 { format!("{value:.0}") } else { format!("{value:.3}") }
}

/// The middle value; the mean of the two middle ones of an even number.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(*upper);
    }
    sorted.get(sorted.len() / 2 - 1).map(|lower| f64::midpoint(*lower, *upper))
}

/// All figures, as the file has them.
pub(crate) struct Report(Vec<Figure>);

impl Report {
    /// The figures of earlier runs; none where there is no file.
    pub(crate) fn open(file: &Path) -> Result<Self, String> {
        match fs::read(file) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Self)
                .map_err(|error| format!("{} is no report: {error}; delete it", file.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self(Vec::new())),
            Err(error) => Err(format!("cannot read {}: {error}", file.display())),
        }
    }

    /// Puts a group's figures in the place of its earlier ones. Those of a part take the place of themselves.
    pub(crate) fn replace(&mut self, group: &str, figures: Vec<Figure>) {
        let again = |known: &Figure| figures.iter().any(|figure| figure.key == known.key);
        self.0.retain(|figure| figure.key.split('/').next() != Some(group) && !again(figure));
        self.0.extend(figures);
        self.0.sort_by(|a, b| a.key.cmp(&b.key));
    }

    /// Writes the file.
    pub(crate) fn save(&self, file: &Path) -> Result<(), String> {
        let text = serde_json::to_string_pretty(&self.0).map_err(|error| error.to_string())?;
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)
                .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        }
        fs::write(file, text + "\n").map_err(|error| format!("cannot write {}: {error}", file.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_run() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn a_group_replaces_only_its_own_figures() {
        let figure = |key: &str| Figure::of(key, "ratio", Better::Higher, vec![1.0]).unwrap();
        let mut report = Report(vec![figure("a/x"), figure("ab/x"), figure("a/y")]);
        report.replace("a", vec![figure("a/z")]);
        let keys: Vec<&str> = report.0.iter().map(|figure| figure.key.as_str()).collect();
        assert_eq!(keys, ["a/z", "ab/x"]);
    }
}
