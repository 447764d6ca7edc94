//! CRC-32C (Castagnoli; RFC 3720 appendix B.4), which guards every record against torn and rotten bytes.

const POLYNOMIAL: u32 = 0x82f6_3b78;

/// What a byte does to the checksum when so many bytes follow it: eight are taken at a time.
const TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut following = 1;
    while following < 8 {
        let mut byte = 0;
        while byte < 256 {
            let crc = tables[following - 1][byte];
            tables[following][byte] = tables[0][(crc & 0xff) as usize] ^ (crc >> 8);
            byte += 1;
        }
        following += 1;
    }
    tables
}

/// The checksum of the parts, one after the other.
pub(crate) fn crc32c(parts: &[&[u8]]) -> u32 {
    !parts.iter().fold(!0, |crc, part| follow(crc, part))
}

fn follow(mut crc: u32, part: &[u8]) -> u32 {
    let (eights, rest) = part.as_chunks::<8>();
    for eight in eights {
        let mixed = u64::from_le_bytes(*eight) ^ u64::from(crc);
        let bytes = mixed.to_le_bytes().into_iter().zip(TABLES.iter().rev());
        crc = bytes.fold(0, |crc, (byte, table)| crc ^ table[usize::from(byte)]);
    }
    rest.iter().fold(crc, |crc, byte| TABLES[0][usize::from((crc as u8) ^ byte)] ^ (crc >> 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_of_the_polynomial_comes_out() {
        assert_eq!(crc32c(&[b"123456789"]), 0xe306_9283);
        assert_eq!(crc32c(&[b"1234", b"", b"56789"]), 0xe306_9283);
        assert_eq!(crc32c(&[&[0; 32]]), 0x8a91_36aa);
        assert_eq!(crc32c(&[&[0xff; 32]]), 0x62a8_ab43);
    }

    #[test]
    fn how_the_bytes_are_cut_into_parts_makes_no_difference() {
        let bytes: Vec<u8> = (0..=255).collect();
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        for at in 0..bytes.len() {
            let (front, back) = bytes.split_at(at);
            assert_eq!(crc32c(&[front, back]), crc32c(&single), "cut at {at}");
        }
    }
}
