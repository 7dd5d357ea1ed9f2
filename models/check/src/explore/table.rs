//! The set of known fingerprints: open addressing in segments that grow one at a time.

use std::num::NonZeroU64;

const SEGMENTS: usize = 256;
const SMALLEST: usize = 16;
const DOUBLES_BELOW: usize = 1 << 12;

/// Stands for the number of a known state in a table that keeps no numbers.
pub(super) const UNNUMBERED: u32 = u32::MAX;

/// Fingerprints, each with the number of its state if the table keeps numbers.
pub(super) struct Table {
    segments: Box<[Segment; SEGMENTS]>,
    numbered: bool,
    bytes: u64,
}

impl Table {
    pub(super) fn new(numbered: bool) -> Self {
        let segments = Box::new(std::array::from_fn(|_| Segment::new(SMALLEST, numbered)));
        let bytes = segments.iter().map(Segment::bytes).sum();
        Self {
            segments,
            numbered,
            bytes,
        }
    }

    /// The number of the state with this fingerprint, if it is known.
    #[inline]
    pub(super) fn get(&self, fingerprint: NonZeroU64) -> Option<u32> {
        let segment = self.segment(fingerprint);
        match segment.find(fingerprint.get()) {
            Ok(slot) if self.numbered => Some(segment.numbers[slot]),
            Ok(_) => Some(UNNUMBERED),
            Err(_) => None,
        }
    }

    /// Enters a fingerprint, unless it is known: then the number of its state is returned.
    #[inline]
    pub(super) fn insert(&mut self, fingerprint: NonZeroU64, number: u32) -> Option<u32> {
        let fp = fingerprint.get();
        let segment = &mut self.segments[usize::from(segment_of(fp))];
        match segment.find(fp) {
            Ok(slot) if self.numbered => return Some(segment.numbers[slot]),
            Ok(_) => return Some(UNNUMBERED),
            Err(slot) => segment.put(slot, fp, number),
        }
        if segment.is_full() {
            self.bytes -= segment.bytes();
            segment.grow(self.numbered);
            self.bytes += segment.bytes();
        }
        None
    }

    /// Reads where a look-up will begin, and nothing else: several of these wait for memory at the same time, whereas a
    /// look-up waits alone.
    #[inline]
    pub(super) fn touch(&self, fingerprint: NonZeroU64) -> u64 {
        let segment = self.segment(fingerprint);
        segment.fingerprints[segment.home(fingerprint.get())]
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline]
    fn segment(&self, fingerprint: NonZeroU64) -> &Segment {
        &self.segments[usize::from(segment_of(fingerprint.get()))]
    }
}

#[inline]
const fn segment_of(fp: u64) -> u8 {
    (fp >> 56) as u8
}

struct Segment {
    // 0 is an empty slot.
    fingerprints: Vec<u64>,
    numbers: Vec<u32>,
    len: usize,
}

impl Segment {
    fn new(slots: usize, numbered: bool) -> Self {
        Self {
            fingerprints: vec![0; slots],
            numbers: vec![0; if numbered { slots } else { 0 }],
            len: 0,
        }
    }

    /// The slot of the fingerprint, or the one where it would be put.
    #[inline]
    fn find(&self, fp: u64) -> Result<usize, usize> {
        let mut slot = self.home(fp);
        loop {
            let there = self.fingerprints[slot];
            if there == fp {
                return Ok(slot);
            }
            if there == 0 {
                return Err(slot);
            }
            slot += 1;
            if slot == self.fingerprints.len() {
                slot = 0;
            }
        }
    }

    // A multiplication in the place of a mask: the number of slots need not be a power of two, and the slots are in the
    // order of the fingerprints, so that a growing segment is copied from front to back.
    #[inline]
    fn home(&self, fp: u64) -> usize {
        let fraction = (fp >> 24) & 0xffff_ffff;
        ((fraction * self.fingerprints.len() as u64) >> 32) as usize
    }

    #[inline]
    fn put(&mut self, slot: usize, fp: u64, number: u32) {
        self.fingerprints[slot] = fp;
        if let Some(there) = self.numbers.get_mut(slot) {
            *there = number;
        }
        self.len += 1;
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.len * 5 >= self.fingerprints.len() * 4
    }

    #[cold]
    fn grow(&mut self, numbered: bool) {
        let slots = self.fingerprints.len();
        // Big segments grow by a quarter: what is empty costs memory, and all of them are full at about the same time.
        let more = if slots < DOUBLES_BELOW {
            slots
        } else {
            slots / 4
        };
        let mut grown = Self::new(slots + more, numbered);
        for (slot, &fp) in self.fingerprints.iter().enumerate() {
            if fp == 0 {
                continue;
            }
            let number = self.numbers.get(slot).copied().unwrap_or(UNNUMBERED);
            let (Ok(free) | Err(free)) = grown.find(fp);
            grown.put(free, fp, number);
        }
        *self = grown;
    }

    fn bytes(&self) -> u64 {
        (self.fingerprints.len() * size_of::<u64>() + self.numbers.len() * size_of::<u32>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::fingerprint;
    use super::*;

    #[test]
    fn keeps_every_fingerprint_and_its_number_while_it_grows() {
        let mut table = Table::new(true);
        for number in 0..300_000u32 {
            let fp = fingerprint(&number);
            assert_eq!(table.get(fp), None);
            assert_eq!(table.insert(fp, number), None);
            assert_eq!(table.insert(fp, number + 1), Some(number));
        }
        for number in 0..300_000u32 {
            assert_eq!(table.get(fingerprint(&number)), Some(number));
        }
    }

    #[test]
    fn is_a_mere_set_without_numbers() {
        let mut table = Table::new(false);
        let fps = (0..100_000u32).map(|n| fingerprint(&n)).collect::<Vec<_>>();
        assert!(fps.iter().all(|&fp| table.insert(fp, 7).is_none()));
        assert!(fps.iter().all(|&fp| table.get(fp) == Some(UNNUMBERED)));
        assert!(table.bytes() < 100_000 * 24);
    }

    #[test]
    fn fingerprints_that_begin_alike_wrap_around_the_end() {
        let mut table = Table::new(true);
        let fps = (0..1000u64).map(|n| NonZeroU64::new(u64::MAX - n).unwrap());
        for (number, fp) in (0..).zip(fps.clone()) {
            assert_eq!(table.insert(fp, number), None);
        }
        for (number, fp) in (0..).zip(fps) {
            assert_eq!(table.get(fp), Some(number));
        }
        assert_eq!(table.get(NonZeroU64::MIN), None);
    }

    #[test]
    fn bytes_are_the_sum_over_the_segments() {
        let mut table = Table::new(true);
        for number in 0..50_000u32 {
            table.insert(fingerprint(&number), number);
        }
        assert_eq!(
            table.bytes(),
            table.segments.iter().map(Segment::bytes).sum::<u64>()
        );
    }
}
