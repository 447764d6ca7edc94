//! A rule in its normal form.

use super::metric::{Named, Number, Target, Unit, health_name};
use crate::sma::SciState;
use crate::sma::calendar::Windows;
use crate::sma::transform::{Percent, write_thousandths};
use cats_engine_types::{CsId, CsciId, Health};
use std::fmt;

/// A rule. Its text, as `Display` has it, parses to the rule again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// When it fires.
    pub condition: Condition,
    /// What it does then, in order.
    pub actions: Vec<Action>,
}

/// A condition. In normal form [`Condition::All`] and [`Condition::Any`] have two members or more, none of their own
/// kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// All of these.
    All(Vec<Condition>),
    /// One of these at least.
    Any(Vec<Condition>),
    /// Not this.
    Not(Box<Condition>),
    /// This test.
    Test(Test),
}

/// One question to the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Test {
    /// How a metric compares.
    Number {
        /// The metric.
        metric: Number,
        /// How.
        is: Comparison,
        /// To what: times in microseconds.
        value: u64,
    },
    /// Whether the SCI's health is this one.
    Health {
        /// Or is not.
        equal: bool,
        /// This one.
        value: Health,
    },
    /// Whether the state of the SCI as a source is this one.
    State {
        /// Or is not.
        equal: bool,
        /// This one.
        value: SciState,
    },
    /// Whether it is about this service.
    Service {
        /// Or is not.
        equal: bool,
        /// This one.
        value: CsId,
    },
    /// Whether it is about this contact instance.
    Instance {
        /// Or is not.
        equal: bool,
        /// This one.
        value: CsciId,
    },
    /// Whether one of these windows is open.
    Time(TimeWindow),
    /// Whether there are doubts: since validation, or since a rule before this one.
    Flagged,
}

/// A window of the calendar, or all of maintenance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeWindow {
    /// Its name as the calendar has it.
    pub name: String,
    /// It, or they, in the calendar.
    pub windows: Windows,
}

/// How two numbers compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `>=`
    GreaterOrEqual,
    /// `>`
    Greater,
}

impl Comparison {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Less, Self::LessOrEqual, Self::Equal, Self::NotEqual, Self::GreaterOrEqual, Self::Greater];

    /// As it is written.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::GreaterOrEqual => ">=",
            Self::Greater => ">",
        }
    }

    pub(super) fn holds(self, left: u64, right: u64) -> bool {
        match self {
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::GreaterOrEqual => left >= right,
            Self::Greater => left > right,
        }
    }
}

/// What a rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Gives a metric a value, for good.
    Set(Target, u64),
    /// Gives the SCI a health, for good.
    SetHealth(Health),
    /// Takes from a metric.
    Reduce(Target, Amount),
    /// Lets a metric be no larger.
    Cap(Target, u64),
    /// Lets a metric be no smaller.
    Floor(Target, u64),
    /// Lets only critical updates out.
    SuppressUpdates,
    /// Marks the record as doubtful.
    Flag,
}

/// How much is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// So much: times in microseconds.
    Value(u64),
    /// Such a share.
    Share(Percent),
}

/// A value with the unit of its metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value {
    /// Of which metric.
    pub metric: Number,
    /// Times in microseconds.
    pub value: u64,
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.metric.unit() {
            Unit::Count => self.value.fmt(f),
            Unit::Time => {
                write_thousandths(self.value, f)?;
                f.write_str("ms")
            }
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IF {} THEN ", self.condition)?;
        for (place, action) in self.actions.iter().enumerate() {
            let separator = if place == 0 { "" } else { ", " };
            write!(f, "{separator}{action}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(members) => join(members, " AND ", f),
            Self::Any(members) => join(members, " OR ", f),
            Self::Not(inner) => {
                f.write_str("NOT ")?;
                write_member(inner, f)
            }
            Self::Test(test) => fmt::Display::fmt(test, f),
        }
    }
}

fn join(members: &[Condition], word: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (place, member) in members.iter().enumerate() {
        f.write_str(if place == 0 { "" } else { word })?;
        write_member(member, f)?;
    }
    Ok(())
}

/// Both `AND` in `OR` and `OR` in `AND` get parentheses, so that nobody has to know which binds closer.
fn write_member(member: &Condition, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match member {
        Condition::All(_) | Condition::Any(_) => write!(f, "({member})"),
        Condition::Not(_) | Condition::Test(_) => fmt::Display::fmt(member, f),
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = |equal: &bool| if *equal { "=" } else { "!=" };
        match self {
            Self::Number { metric, is, value } => {
                let value = Value { metric: *metric, value: *value };
                write!(f, "{} {} {value}", metric.name(), is.symbol())
            }
            Self::Health { equal, value } => {
                write!(f, "{} {} {}", Named::Health.name(), sign(equal), health_name(*value))
            }
            Self::State { equal, value } => {
                write!(f, "{} {} {}", Named::State.name(), sign(equal), value.name())
            }
            Self::Service { equal, value } => {
                write!(f, "{} {} {value}", Named::Service.name(), sign(equal))
            }
            Self::Instance { equal, value } => {
                write!(f, "{} {} {value}", Named::Instance.name(), sign(equal))
            }
            Self::Time(window) => write!(f, "{} IN {}", Named::Time.name(), window.name),
            Self::Flagged => f.write_str(Named::Flagged.name()),
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with = |target: &Target, value: &u64| {
            (target.number().name(), Value { metric: target.number(), value: *value })
        };
        match self {
            Self::Set(target, value) => {
                let (name, value) = with(target, value);
                write!(f, "SET {name} = {value}")
            }
            Self::SetHealth(health) => {
                write!(f, "SET {} = {}", Named::Health.name(), health_name(*health))
            }
            Self::Reduce(target, Amount::Value(value)) => {
                let (name, value) = with(target, value);
                write!(f, "REDUCE {name} BY {value}")
            }
            Self::Reduce(target, Amount::Share(share)) => {
                write!(f, "REDUCE {} BY {share}%", target.number().name())
            }
            Self::Cap(target, value) => {
                let (name, value) = with(target, value);
                write!(f, "CAP {name} AT {value}")
            }
            Self::Floor(target, value) => {
                let (name, value) = with(target, value);
                write!(f, "FLOOR {name} AT {value}")
            }
            Self::SuppressUpdates => f.write_str("SUPPRESS_UPDATES"),
            Self::Flag => f.write_str("FLAG"),
        }
    }
}
