//! Reports as the load sends them: one in a message, full, of one instance after the other. They are written by hand, so
//! that to make one costs little beside what is measured.

use prost::bytes::{BufMut, Bytes, BytesMut};
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};
use std::time::{SystemTime, UNIX_EPOCH};

/// The service that all report of.
const SERVICE: u64 = 1;
/// Slots that an instance has on the average; what it reports is up to a tenth more or less.
const GAS: u64 = 1000;
/// Computing time in microseconds that it has on the average.
const TIME: u64 = 20_000;

/// The reports of the instances of one stream, in turn.
#[derive(Debug)]
pub(crate) struct Reports {
    first: u32,
    count: u32,
    /// Reports that were made.
    made: u64,
    epoch: u64,
    ttl: u64,
    values: Values,
}

/// What is reported.
#[derive(Debug)]
enum Values {
    /// The next values come by chance.
    Chance(u64),
    /// The slots count up.
    Counted,
}

impl Reports {
    /// Of `count` instances from `first` on, whose reports hold for `ttl` seconds.
    pub(crate) fn new(first: u32, count: u32, ttl: u64) -> Self {
        let epoch = since_1970(|since| since.as_nanos());
        let values = Values::Chance(u64::from(first) | 1);
        Self { first, count: count.max(1), made: 0, epoch, ttl, values }
    }

    /// Of one instance, whose slots are one more in each report.
    pub(crate) fn counted(id: u32, ttl: u64) -> Self {
        Self { values: Values::Counted, ..Self::new(id, 1, ttl) }
    }

    /// The slots in the report of that number, which counts from 1, of an instance whose slots are counted.
    pub(crate) fn slots(report: u64) -> u64 {
        GAS + report % GAS
    }

    /// Slots and computing time of the report that was just made.
    fn values(&mut self) -> (u64, u64) {
        let Values::Chance(chance) = &mut self.values else { return (Self::slots(self.made), TIME) };
        // A xorshift: what is reported has to change, not to be a secret.
        *chance ^= *chance << 13;
        *chance ^= *chance >> 7;
        *chance ^= *chance << 17;
        (GAS * 9 / 10 + *chance % (GAS / 5), TIME * 9 / 10 + *chance % (TIME / 5))
    }

    /// The next instance's next report, in a message.
    pub(super) fn next(&mut self) -> Bytes {
        // The remainder is that of a u32.
        let offset = u32::try_from(self.made % u64::from(self.count)).unwrap_or(0);
        let sequence = self.made / u64::from(self.count) + 1;
        self.made += 1;
        let (gas, time) = self.values();
        let id = self.first + offset;
        let mut report = Encoder(BytesMut::with_capacity(96));
        report.number(1, 1);
        report.number(2, 1);
        report.group(3, &[(1, SERVICE)]);
        report.group(4, &[(1, u64::from(id))]);
        report.locator(id);
        report.group(6, &[(1, self.epoch), (2, sequence)]);
        report.number(7, since_1970(|since| since.as_micros()));
        report.number(8, self.ttl);
        report.number(9, gas);
        report.number(10, time);
        report.number(15, 1);
        report.number(16, 12);
        enveloped(&report.0)
    }
}

/// `FromReporter { reports: Reports { reports: [report] } }`
fn enveloped(report: &[u8]) -> Bytes {
    let length = |octets: usize| octets as u64;
    let inner = report.len() + 1 + encoded_len_varint(length(report.len()));
    let mut message = BytesMut::with_capacity(inner + 8);
    encode_key(2, WireType::LengthDelimited, &mut message);
    encode_varint(length(inner), &mut message);
    encode_key(1, WireType::LengthDelimited, &mut message);
    encode_varint(length(report.len()), &mut message);
    message.put_slice(report);
    message.freeze()
}

struct Encoder(BytesMut);

impl Encoder {
    fn number(&mut self, tag: u32, value: u64) {
        encode_key(tag, WireType::Varint, &mut self.0);
        encode_varint(value, &mut self.0);
    }

    /// A message of numbers whose tags are below 16.
    fn group(&mut self, tag: u32, fields: &[(u32, u64)]) {
        let length: usize = fields.iter().map(|(_, value)| 1 + encoded_len_varint(*value)).sum();
        encode_key(tag, WireType::LengthDelimited, &mut self.0);
        encode_varint(length as u64, &mut self.0);
        for (tag, value) in fields {
            self.number(*tag, *value);
        }
    }

    /// An address of its own for each instance, and a port.
    fn locator(&mut self, id: u32) {
        let [_, a, b, c] = id.to_be_bytes();
        // Address of 4 octets and port 443: 6 octets and 3.
        self.0.put_slice(&[0x2a, 9, 0x0a, 4, 10, a, b, c, 0x10, 0xbb, 0x03]);
    }
}

fn since_1970(unit: fn(std::time::Duration) -> u128) -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(unit(since)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cats_engine_types::Report;
    use cats_engine_wire::metrics as pb;
    use prost::Message;
    use std::time::Duration;

    #[test]
    fn the_slots_of_an_instance_count_up() {
        let mut reports = Reports::counted(7, 120);
        let slots: Vec<Option<u64>> = (0..3)
            .map(|_| {
                let message = pb::FromReporter::decode(reports.next()).unwrap().message.unwrap();
                let pb::from_reporter::Message::Reports(mut batch) = message else { panic!() };
                batch.reports.pop().unwrap().gas
            })
            .collect();
        assert_eq!(slots, [1, 2, 3].map(|report| Some(Reports::slots(report))));
    }

    #[test]
    fn the_instances_of_a_stream_report_in_turn_and_each_counts_its_own_reports() {
        let mut reports = Reports::new(300, 2, 120);
        let seen: Vec<Report> = (0..5)
            .map(|_| {
                let message = pb::FromReporter::decode(reports.next()).unwrap().message.unwrap();
                let pb::from_reporter::Message::Reports(mut batch) = message else { panic!() };
                assert_eq!(batch.reports.len(), 1);
                let report = batch.reports.pop().unwrap();
                assert_eq!(report.encode_to_vec().len(), report.encoded_len());
                Report::try_from(report).unwrap()
            })
            .collect();
        let order: Vec<(Option<u32>, u64)> =
            seen.iter().map(|report| (report.csci_id.as_number(), report.freshness.sequence)).collect();
        assert_eq!(order, [(Some(300), 1), (Some(301), 1), (Some(300), 2), (Some(301), 2), (Some(300), 3)]);
        for report in &seen {
            assert_eq!(report.ttl, Some(Duration::from_secs(120)));
            assert!(report.metrics.gas.is_some_and(|gas| (900..1100).contains(&gas)), "{report:?}");
            assert_eq!(report.locator.and_then(|place| place.port.map(u16::from)), Some(443));
        }
    }
}
