//! The set of known fingerprints: open addressing in segments that grow one at a time.

use std::num::NonZeroU64;

const SEGMENTS: usize = 256;
/// Fingerprints in a line of the cache.
const LANES: usize = 8;
const SMALLEST: usize = 2;
const DOUBLES_BELOW: usize = 1 << 8;

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
        Self { segments, numbered, bytes }
    }

    /// The number of the state with this fingerprint, if it is known.
    #[inline]
    pub(super) fn get(&self, fingerprint: NonZeroU64) -> Option<u32> {
        let segment = self.segment(fingerprint);
        match segment.find(fingerprint.get()) {
            Ok(line) => Some(segment.number(line, fingerprint.get())),
            Err(_) => None,
        }
    }

    /// Enters a fingerprint, unless it is known: then the number of its state is returned.
    #[inline]
    pub(super) fn insert(&mut self, fingerprint: NonZeroU64, number: u32) -> Option<u32> {
        let fp = fingerprint.get();
        let segment = &mut self.segments[usize::from(segment_of(fp))];
        match segment.find(fp) {
            Ok(line) => return Some(segment.number(line, fp)),
            Err(line) => segment.put(line, fp, number),
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
        let home = segment.home(fingerprint.get());
        let number = segment.numbers.get(home).map_or(0, |numbers| numbers[0]);
        segment.lines[home].0[0] ^ u64::from(number)
    }

    pub(super) fn is_numbered(&self) -> bool {
        self.numbered
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

/// What one read of memory brings. Filled from the front.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([u64; LANES]);

impl Line {
    // All lanes, without a branch for each: where a fingerprint lies is nothing that a processor could predict.
    #[inline]
    fn has(&self, fp: u64) -> bool {
        self.0.iter().fold(false, |found, &there| found | (there == fp))
    }

    #[inline]
    const fn is_full(&self) -> bool {
        self.0[LANES - 1] != 0
    }
}

struct Segment {
    // 0 is an empty slot.
    lines: Vec<Line>,
    numbers: Vec<[u32; LANES]>,
    len: usize,
}

impl Segment {
    fn new(lines: usize, numbered: bool) -> Self {
        Self {
            lines: vec![Line([0; LANES]); lines],
            numbers: vec![[0; LANES]; if numbered { lines } else { 0 }],
            len: 0,
        }
    }

    /// The line that has the fingerprint, or the one where it would be put.
    #[inline]
    fn find(&self, fp: u64) -> Result<usize, usize> {
        let mut at = self.home(fp);
        loop {
            let line = &self.lines[at];
            if line.has(fp) {
                return Ok(at);
            }
            if !line.is_full() {
                return Err(at);
            }
            at += 1;
            if at == self.lines.len() {
                at = 0;
            }
        }
    }

    /// The line where a fingerprint is put that is not there.
    #[inline]
    fn room_for(&self, fp: u64) -> usize {
        let home = self.home(fp);
        let mut lines = (home..self.lines.len()).chain(0..home);
        lines.find(|at| !self.lines[*at].is_full()).unwrap_or(home)
    }

    /// The number of a fingerprint that is in the given line.
    #[inline]
    fn number(&self, at: usize, fp: u64) -> u32 {
        let Some(numbers) = self.numbers.get(at) else {
            return UNNUMBERED;
        };
        let pairs = self.lines[at].0.iter().zip(numbers);
        pairs.fold(0, |all, (&there, &number)| all | if there == fp { number } else { 0 })
    }

    // A multiplication in the place of a mask: the number of lines need not be a power of two, and the lines are in the
    // order of the fingerprints, so that a growing segment is copied from front to back.
    #[inline]
    fn home(&self, fp: u64) -> usize {
        let fraction = (fp >> 24) & 0xffff_ffff;
        ((fraction * self.lines.len() as u64) >> 32) as usize
    }

    #[inline]
    fn put(&mut self, at: usize, fp: u64, number: u32) {
        let line = &mut self.lines[at].0;
        let lane = line.iter().filter(|&&there| there != 0).count();
        line[lane] = fp;
        if let Some(numbers) = self.numbers.get_mut(at) {
            numbers[lane] = number;
        }
        self.len += 1;
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.len * 5 >= self.lines.len() * LANES * 4
    }

    #[cold]
    fn grow(&mut self, numbered: bool) {
        let lines = self.lines.len();
        // Big segments grow by a quarter: what is empty costs memory, and all of them are full at about the same time.
        let more = if lines < DOUBLES_BELOW { lines } else { lines / 4 };
        let mut grown = Self::new(lines + more, numbered);
        for (at, line) in self.lines.iter().enumerate() {
            for (lane, &fp) in line.0.iter().enumerate().filter(|&(_, &fp)| fp != 0) {
                let number = self.numbers.get(at).map_or(UNNUMBERED, |numbers| numbers[lane]);
                grown.put(grown.room_for(fp), fp, number);
            }
        }
        *self = grown;
    }

    fn bytes(&self) -> u64 {
        (size_of_val(&self.lines[..]) + size_of_val(&self.numbers[..])) as u64
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
        assert_eq!(table.bytes(), table.segments.iter().map(Segment::bytes).sum::<u64>());
    }
}
