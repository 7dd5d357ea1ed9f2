//! A growing array in blocks: it never moves what it holds, and never has more than one block to spare.

const BLOCK: usize = 1 << 16;

/// An array that only grows.
pub(super) struct Blocks<T> {
    blocks: Vec<Vec<T>>,
    bytes: usize,
}

impl<T> Default for Blocks<T> {
    fn default() -> Self {
        Self { blocks: Vec::new(), bytes: 0 }
    }
}

impl<T: Copy> Blocks<T> {
    #[inline]
    pub(super) fn push(&mut self, value: T) {
        match self.blocks.last_mut() {
            Some(last) if last.len() < last.capacity().min(BLOCK) => last.push(value),
            _ => self.push_slowly(value),
        }
    }

    #[cold]
    fn push_slowly(&mut self, value: T) {
        // Only the first block grows, so that a small exploration stays small.
        let spare = if self.blocks.is_empty() { 64 } else { BLOCK };
        match self.blocks.last_mut() {
            Some(last) if last.len() < BLOCK => {
                let before = last.capacity();
                last.reserve_exact((2 * before).min(BLOCK) - last.len());
                self.bytes += (last.capacity() - before) * size_of::<T>();
                last.push(value);
            }
            _ => {
                let mut block = Vec::with_capacity(spare);
                self.bytes += block.capacity() * size_of::<T>();
                block.push(value);
                self.blocks.push(block);
            }
        }
    }

    pub(super) fn extend(&mut self, values: impl IntoIterator<Item = T>) {
        values.into_iter().for_each(|value| self.push(value));
    }

    #[inline]
    pub(super) fn get(&self, index: usize) -> T {
        self.blocks[index / BLOCK][index % BLOCK]
    }

    pub(super) fn len(&self) -> usize {
        self.blocks.last().map_or(0, |last| (self.blocks.len() - 1) * BLOCK + last.len())
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator {
        (0..self.len()).map(|index| self.get(index))
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_back_what_was_pushed() {
        let mut blocks = Blocks::default();
        blocks.extend(0..200_000u32);
        assert!((0..200_000).all(|i| blocks.get(i) == i as u32));
        assert_eq!(blocks.len(), 200_000);
        assert!(blocks.iter().eq(0..200_000));
        assert_eq!(blocks.bytes(), 4 * 65_536 * 4);
    }
}
