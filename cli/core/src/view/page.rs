//! What a view makes of data: headings, facts, tables and notes, and how they are set as text.

use std::fmt::{self, Write};

/// What a view shows, from top to bottom.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page(Vec<Block>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Block {
    /// A line above others that belong to it.
    Heading(String),
    /// Names and what is to be said of each.
    Facts(Vec<(&'static str, String)>),
    Table(Table),
    /// A line below a heading.
    Text(String),
    /// A line by itself.
    Note(String),
}

/// Rows under a header. A column without anything in it is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Column {
    title: &'static str,
    right: bool,
}

/// A column of words.
pub(super) const fn left(title: &'static str) -> Column {
    Column { title, right: false }
}

/// A column of numbers.
pub(super) const fn right(title: &'static str) -> Column {
    Column { title, right: true }
}

impl Table {
    pub(super) fn new(columns: &[Column]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    pub(super) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.to_vec());
    }

    fn lines(&self) -> Vec<String> {
        let shown: Vec<(usize, Column)> = self
            .columns
            .iter()
            .copied()
            .enumerate()
            .filter(|(at, _)| self.rows.iter().any(|row| row.get(*at).is_some_and(|cell| !cell.is_empty())))
            .collect();
        let widths: Vec<usize> = shown.iter().map(|(at, column)| self.width(*at, column)).collect();
        let header = shown.iter().map(|(_, column)| column.title.to_owned()).collect();
        let rows = self.rows.iter().map(|row| {
            shown
                .iter()
                .map(|(at, _)| row.get(*at).filter(|cell| !cell.is_empty()).cloned())
                .collect::<Vec<_>>()
        });
        let mut lines = vec![set(header, &shown, &widths)];
        for row in rows {
            let last = row.len().saturating_sub(1);
            let cell = |(at, cell): (usize, Option<String>)| match cell {
                Some(cell) => cell,
                // What there is nothing to be said of is marked, but for the remarks at the end.
                None if at == last => String::new(),
                None => "-".to_owned(),
            };
            lines.push(set(row.into_iter().enumerate().map(cell).collect(), &shown, &widths));
        }
        lines
    }

    fn width(&self, at: usize, column: &Column) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count());
        cells.chain([column.title.chars().count()]).max().unwrap_or(0)
    }
}

/// Cells beside each other, two blanks between.
fn set(cells: Vec<String>, columns: &[(usize, Column)], widths: &[usize]) -> String {
    let cells = cells.into_iter().zip(columns).zip(widths).map(|((cell, (_, column)), width)| {
        if column.right { format!("{cell:>width$}") } else { format!("{cell:width$}") }
    });
    cells.collect::<Vec<_>>().join("  ")
}

impl Page {
    pub(super) fn heading(&mut self, text: impl Into<String>) {
        self.0.push(Block::Heading(text.into()));
    }

    /// Those that there is something to be said of.
    pub(super) fn facts<const N: usize>(&mut self, facts: [(&'static str, String); N]) {
        let facts: Vec<_> = facts.into_iter().filter(|(_, text)| !text.is_empty()).collect();
        if !facts.is_empty() {
            self.0.push(Block::Facts(facts));
        }
    }

    pub(super) fn table(&mut self, table: Table) {
        if !table.rows.is_empty() {
            self.0.push(Block::Table(table));
        }
    }

    pub(super) fn text(&mut self, text: impl Into<String>) {
        self.0.push(Block::Text(text.into()));
    }

    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.0.push(Block::Note(text.into()));
    }
}

impl fmt::Display for Page {
    /// What came from others never orders the terminal about.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for (at, block) in self.0.iter().enumerate() {
            let apart = matches!(block, Block::Heading(_) | Block::Note(_));
            if at > 0 && apart {
                text.push('\n');
            }
            match block {
                Block::Heading(line) | Block::Note(line) => writeln!(text, "{}", plain(line))?,
                Block::Text(line) => writeln!(text, "  {}", plain(line))?,
                Block::Facts(facts) => {
                    let width = facts.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
                    for (name, said) in facts {
                        writeln!(text, "  {name:width$}  {}", plain(said))?;
                    }
                }
                Block::Table(table) => {
                    for line in table.lines() {
                        writeln!(text, "  {}", plain(line.trim_end()))?;
                    }
                }
            }
        }
        f.write_str(&text)
    }
}

fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}
