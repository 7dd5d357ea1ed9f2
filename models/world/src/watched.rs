//! Parts of a world that remember whether anybody looked at them.
//!
//! A step depends on little of the world in which it is taken. What it has looked at says on how much, so that the same
//! step need not be worked out again where the rest of the world differs (see [`Steps`](crate::Steps)).

use core::fmt;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicBool, Ordering};

/// A value that remembers whether it was read or changed since it was last told to forget.
///
/// Every access goes through it, so nothing can be read unnoticed.
#[derive(Default)]
pub struct Watched<T> {
    value: T,
    /// Atomic only so that a world can be shared between threads; nobody waits for anybody.
    seen: AtomicBool,
}

impl<T> Watched<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value, seen: AtomicBool::new(false) }
    }

    pub(crate) fn forget(&mut self) {
        *self.seen.get_mut() = false;
    }

    pub(crate) fn is_seen(&self) -> bool {
        self.seen.load(Ordering::Relaxed)
    }
}

impl<T> Deref for Watched<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        self.seen.store(true, Ordering::Relaxed);
        &self.value
    }
}

impl<T> DerefMut for Watched<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        *self.seen.get_mut() = true;
        &mut self.value
    }
}

impl<T: Clone> Clone for Watched<T> {
    fn clone(&self) -> Self {
        Self::new(T::clone(self))
    }

    fn clone_from(&mut self, source: &Self) {
        T::clone_from(self, source);
    }
}

impl<T: PartialEq> PartialEq for Watched<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Watched<T> {}

impl<T: fmt::Debug> fmt::Debug for Watched<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        T::fmt(self, f)
    }
}
