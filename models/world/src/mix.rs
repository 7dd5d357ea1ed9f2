//! A quick hash.

use core::hash::{Hash, Hasher};

/// A quick hash, the same on every machine. Nothing but speed depends on how good it is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mix(pub(crate) u64);

impl Mix {
    pub(crate) fn of(value: &impl Hash) -> u64 {
        let mut mix = Self::default();
        value.hash(&mut mix);
        mix.finish()
    }
}

// The golden ratio, as in Fibonacci hashing.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        let mixed = (self.0 ^ self.0 >> 32).wrapping_mul(FACTOR);
        mixed ^ mixed >> 29
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(value.into());
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value.wrapping_add(1)).wrapping_mul(FACTOR);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.write_u64(value as i64 as u64);
    }
}
