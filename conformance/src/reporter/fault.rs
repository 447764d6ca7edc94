//! What a hostile or broken instance does.

use super::settings::Channel;
use clap::ValueEnum;

/// What is done beside honest reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum)]
pub enum Fault {
    /// A report is sent again
    Replay,
    /// A report is sent after a later one
    Reorder,
    /// A value is out of its range, each in turn
    OutOfRange,
    /// The computing time is not a number; in JSON
    Nan,
    /// Fields that nobody knows, which are to be ignored
    UnknownFields,
    /// A field that must be there is not, each in turn
    MissingKey,
    /// A value has a unit; over gRPC it is in nanoseconds
    WrongUnit,
    /// The clock is an hour ahead
    ClockAhead,
    /// The clock is an hour behind
    ClockBehind,
    /// A report of another instance, with the own proof
    OtherInstance,
    /// Ten times as many reports
    Flood,
    /// More than a mebibyte
    Oversize,
    /// One octet of the signature, or of the token's, is another
    BadSignature,
}

/// What is to become of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// It is taken in.
    Taken,
    /// It is refused.
    Refused,
    /// That depends on the agent's configuration, or on what cannot be told from outside.
    Either,
}

impl Fault {
    /// As on the command line.
    pub(super) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Whether it can be said at all.
    pub(super) fn exists_over(self, channel: Channel) -> bool {
        self != Fault::Nan || channel != Channel::Grpc
    }

    /// What is to become of such a report.
    pub(super) fn due(self, channel: Channel) -> Due {
        match self {
            Fault::UnknownFields => Due::Taken,
            Fault::Flood => Due::Either,
            // Protobuf has no units: a thousand times too much may be true.
            Fault::WrongUnit if channel == Channel::Grpc => Due::Either,
            Fault::Replay
            | Fault::Reorder
            | Fault::OutOfRange
            | Fault::Nan
            | Fault::MissingKey
            | Fault::WrongUnit
            | Fault::ClockAhead
            | Fault::ClockBehind
            | Fault::OtherInstance
            | Fault::Oversize
            | Fault::BadSignature => Due::Refused,
        }
    }

    /// Whether the end of the stream may be the answer to it.
    pub(super) fn may_end_the_stream(self) -> bool {
        match self {
            Fault::MissingKey | Fault::Oversize => true,
            Fault::Replay
            | Fault::Reorder
            | Fault::OutOfRange
            | Fault::Nan
            | Fault::UnknownFields
            | Fault::WrongUnit
            | Fault::ClockAhead
            | Fault::ClockBehind
            | Fault::OtherInstance
            | Fault::Flood
            | Fault::BadSignature => false,
        }
    }
}
