//! New flows: how many a second one core binds, how long their first packets are held, and what the selection costs.

mod bed;
pub(crate) mod bound;
mod hold;
mod select;

use crate::Settings;
use crate::figure::Figure;
use bed::Bed;

pub(crate) fn measure(settings: &Settings) -> Result<Vec<Figure>, String> {
    let mut figures = select::measure(settings)?;
    // One deployment at a time: each has the machine to itself.
    let one = Bed::one_node()?;
    figures.extend(hold::measure(&one, settings)?);
    figures.extend(bound::measure(&one, settings)?);
    drop(one);
    let four = Bed::four_nodes()?;
    figures.extend(hold::measure(&four, settings)?);
    figures.extend(bound::measure(&four, settings)?);
    Ok(figures)
}
