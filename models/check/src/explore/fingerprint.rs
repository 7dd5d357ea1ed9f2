//! The fingerprint of a state: 64 bits that are the same on every processor.
//!
//! The step is the widening multiplication of wyhash (Wang Yi) and foldhash (Orson Peters). Those fold the two halves of
//! the product at once, which already loses something at every word; here both halves stay in a state of 128 bits that
//! each word permutes, so that only the last step can make two states of equal length collide by more than chance.

use std::hash::{Hash, Hasher};
use std::num::NonZeroU64;

// Hexadecimal digits of pi, made odd: nothing up the sleeve.
const SEED_A: u64 = 0x243f_6a88_85a3_08d3;
const SEED_B: u64 = 0x1319_8a2e_0370_7344;
const STEP: u64 = 0xa409_3822_299f_31d1;
const FOLD: u64 = 0x082e_fa98_ec4e_6c89;
const LAST: u64 = 0x4528_21e6_38d0_1377;

/// The fingerprint of a value, never zero.
///
/// The same on every processor if the [`Hash`] implementation feeds the hasher numbers (`write_u64` and the like, one
/// multiplication each) or bytes. The standard library hashes a slice or array of wider integers as its bytes in the
/// machine's own order: a state that holds one should write it word by word.
#[inline]
pub fn fingerprint<T: Hash + ?Sized>(value: &T) -> NonZeroU64 {
    let mut hasher = Fingerprinter::default();
    value.hash(&mut hasher);
    NonZeroU64::new(hasher.finish()).unwrap_or(NonZeroU64::MIN)
}

/// A [`Hasher`] without seeds and without regard to the byte order of the machine.
#[derive(Clone, Debug)]
pub struct Fingerprinter {
    a: u64,
    b: u64,
}

impl Default for Fingerprinter {
    #[inline]
    fn default() -> Self {
        Self { a: SEED_A, b: SEED_B }
    }
}

impl Fingerprinter {
    // For a given word this permutes (a, b): the low half of the product gives back its factor, because STEP is odd,
    // and the factor gives back the high half.
    #[inline]
    fn word(&mut self, word: u64) {
        let (low, high) = wide(self.a ^ word, STEP);
        self.a = self.b ^ high;
        self.b = low;
    }
}

#[inline]
const fn wide(x: u64, y: u64) -> (u64, u64) {
    let product = x as u128 * y as u128;
    (product as u64, (product >> 64) as u64)
}

impl Hasher for Fingerprinter {
    #[inline]
    fn finish(&self) -> u64 {
        let (low, high) = wide(self.b ^ FOLD, LAST);
        let mixed = self.a ^ low ^ high;
        let (low, high) = wide(mixed ^ LAST, FOLD);
        let folded = low ^ high;
        let mixed = (folded ^ (folded >> 32)).wrapping_mul(STEP);
        mixed ^ (mixed >> 29)
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, tail) = bytes.as_chunks::<8>();
        for word in words {
            self.word(u64::from_le_bytes(*word));
        }
        if tail.is_empty() {
            return;
        }
        // The top byte says how many bytes there are, so that zeros at the end count.
        let mut last = [0; 8];
        last[..tail.len()].copy_from_slice(tail);
        last[7] = tail.len() as u8;
        self.word(u64::from_le_bytes(last));
    }

    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.word(value.into());
    }

    #[inline]
    fn write_u16(&mut self, value: u16) {
        self.word(value.into());
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.word(value.into());
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.word(value);
    }

    #[inline]
    fn write_u128(&mut self, value: u128) {
        self.word(value as u64);
        self.word((value >> 64) as u64);
    }

    #[inline]
    fn write_usize(&mut self, value: usize) {
        self.word(value as u64);
    }

    #[inline]
    fn write_isize(&mut self, value: isize) {
        self.word(value as i64 as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(feed: impl FnOnce(&mut Fingerprinter)) -> u64 {
        let mut hasher = Fingerprinter::default();
        feed(&mut hasher);
        hasher.finish()
    }

    fn of_words(words: &[u64]) -> u64 {
        of(|h| words.iter().for_each(|&w| h.write_u64(w)))
    }

    /// These values may never change unnoticed: the same state has the same fingerprint on every processor.
    #[test]
    fn values_are_pinned() {
        let values = [
            of(|_| {}),
            of(|h| h.write_u8(1)),
            of(|h| h.write_u16(0x0102)),
            of(|h| h.write_u32(0x0102_0304)),
            of(|h| h.write_u64(0x0102_0304_0506_0708)),
            of(|h| h.write_u128(0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10)),
            of(|h| h.write_usize(7)),
            of(|h| h.write_isize(-7)),
            of(|h| h.write(b"a lock, a lease, a token")),
            of(|h| h.write(b"three")),
            of_words(&[1, 2, 3, 4, 5, 6, 7]),
        ];
        assert_eq!(values.map(|v| format!("{v:016x}")), PINNED);
    }

    const PINNED: [&str; 11] = [
        "8531316004ee73aa",
        "9e4f5457a9af9315",
        "f21117a94242651c",
        "bd421b188bd7b57f",
        "bf86e77b80910ef9",
        "626a0f7aa45acc42",
        "6c592e3db09ab40d",
        "e5ec23cb39b004eb",
        "1df313b1b78a59da",
        "34b66d597009bbd6",
        "8fe58606c2b40385",
    ];

    #[test]
    fn bytes_are_read_in_little_endian_order() {
        assert_eq!(of(|h| h.write(&[8, 7, 6, 5, 4, 3, 2, 1])), of_words(&[0x0102_0304_0506_0708]));
        assert_ne!(of(|h| h.write(&[1])), of(|h| h.write(&[1, 0])));
    }

    #[test]
    fn no_collision_among_structured_inputs() {
        let mut seen = Vec::new();
        for low in 0..1u64 << 10 {
            for high in 0..1u64 << 10 {
                seen.push(of_words(&[low, high]));
                seen.push(of_words(&[low << 54, high << 32, 0]));
                seen.push(of_words(&[1 << (low % 64), 1 << (low / 64), high, high ^ low]));
            }
        }
        let inputs = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), inputs);
        // The table takes its segment from the top bits: they have to be spread too.
        let mut segments = [0usize; 256];
        seen.iter().for_each(|fp| segments[(fp >> 56) as usize] += 1);
        let expected = inputs / 256;
        assert!(segments.iter().all(|&n| n.abs_diff(expected) < expected / 20), "{segments:?}");
    }

    #[test]
    fn every_input_bit_moves_every_output_bit() {
        const LENGTH: usize = 3;
        const SAMPLES: u64 = 4096;
        for bit in 0..LENGTH * 64 {
            let mut flips = [0u32; 64];
            for sample in 0..SAMPLES {
                // Counters, not random words: states look like that.
                let mut words = [sample, sample >> 3, sample & 7];
                let before = of_words(&words);
                words[bit / 64] ^= 1 << (bit % 64);
                let moved = before ^ of_words(&words);
                (0..64).for_each(|i| flips[i] += (moved >> i & 1) as u32);
            }
            for (output, &count) in flips.iter().enumerate() {
                let share = f64::from(count) / SAMPLES as f64;
                assert!((0.4..0.6).contains(&share), "bit {bit} moves bit {output} in {share}");
            }
        }
    }
}
