//! How a state is written as bits, and read back.

use crate::ids::{Fence, Nodes, Seen, Ticks, Time, Token};

/// Bits in one direction or the other.
///
/// A state has one function that lays its fields on a tape. A writing tape copies each field, a reading tape
/// overwrites it, so that the two can never disagree about the order. What a function leaves out because nothing depends
/// on it, it sets to its default: whatever a state is read into, it comes out the same.
pub trait Tape {
    /// The lowest `bits` bits of a number.
    fn number(&mut self, value: &mut u32, bits: u32);
    /// An instant; the tape knows how far a deadline can lie ahead.
    fn time(&mut self, value: &mut Time);
    /// A set of nodes; the tape knows how many there are.
    fn nodes(&mut self, value: &mut Nodes);
    /// The number of an acquisition.
    fn token(&mut self, value: &mut Token);
    /// A fencing token.
    fn fence(&mut self, value: &mut Fence);
    /// What was read from the resource.
    fn seen(&mut self, value: &mut Seen);

    /// A truth value.
    #[inline(always)]
    fn flag(&mut self, value: &mut bool) {
        let mut bit = u32::from(*value);
        self.number(&mut bit, 1);
        *value = bit != 0;
    }

    /// A small number.
    #[inline(always)]
    fn small(&mut self, value: &mut u8, bits: u32) {
        let mut wide = u32::from(*value);
        self.number(&mut wide, bits);
        *value = wide as u8;
    }

    /// Something that may be absent.
    #[inline(always)]
    fn option<T: Default>(&mut self, value: &mut Option<T>, each: impl FnOnce(&mut Self, &mut T))
    where
        Self: Sized,
    {
        let mut present = value.is_some();
        self.flag(&mut present);
        if !present {
            *value = None;
            return;
        }
        each(self, value.get_or_insert_default());
    }
}

/// Brings a deadline closer as time passes. What is due stays due.
pub(crate) fn rebase(deadline: &mut Time, by: Ticks) {
    *deadline = deadline.before(by);
}

/// The same for a deadline that may not exist.
pub(crate) fn rebase_option(deadline: &mut Option<Time>, by: Ticks) {
    if let Some(deadline) = deadline {
        rebase(deadline, by);
    }
}
