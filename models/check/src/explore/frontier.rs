//! The states that wait to be expanded.

/// The states of one level, in blocks that are given back as soon as they are expanded.
pub(super) struct Frontier<S> {
    blocks: Vec<Vec<S>>,
    spare: Option<Vec<S>>,
}

impl<S> Default for Frontier<S> {
    fn default() -> Self {
        Self { blocks: Vec::new(), spare: None }
    }
}

impl<S> Frontier<S> {
    pub(super) fn push(&mut self, state: S, block: usize) {
        match self.blocks.last_mut() {
            Some(last) if last.len() < block => last.push(state),
            _ => {
                let mut fresh = self.spare.take().unwrap_or_default();
                fresh.push(state);
                self.blocks.push(fresh);
            }
        }
    }

    pub(super) fn take(&mut self) -> Vec<Vec<S>> {
        std::mem::take(&mut self.blocks)
    }

    pub(super) fn recycle(&mut self, mut block: Vec<S>) {
        block.clear();
        self.spare = Some(block);
    }

    pub(super) fn bytes(&self) -> u64 {
        let states = self.blocks.iter().chain(&self.spare).map(Vec::capacity).sum::<usize>();
        (states * size_of::<S>()) as u64
    }
}
