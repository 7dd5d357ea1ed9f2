//! The names that one lock has on a server.

/// How many hash slots a cluster has.
const SLOTS: u16 = 16_384;

/// The keys and the channel of a lock. Any bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The key of the entry.
    pub key: Vec<u8>,
    /// The key of the counter for fencing tokens, which a cluster keeps on the same server.
    pub fence: Vec<u8>,
    /// The channel on which it is told that the lock was given back.
    pub channel: Vec<u8>,
}

impl Names {
    /// The names of the lock of a key.
    pub fn of(key: &[u8]) -> Self {
        let channel = [key, b":freed"].concat();
        Self { key: key.to_vec(), fence: fence(key), channel }
    }
}

/// The key of the counter of a lock.
///
/// The lock `orders` has `{orders}:fence`, the lock `{shop}:orders` has `{shop}:orders:fence`. (So `orders` and `{orders}`
/// share a counter: it skips numbers, and grows with every grant all the same.) A `}` in a key without a hash tag would
/// end the one that we put around it: its counter gets the least number as its tag that lies in the same slot.
fn fence(key: &[u8]) -> Vec<u8> {
    if hash_tag(key).is_some() {
        return [key, b":fence"].concat();
    }
    if !key.is_empty() && !key.contains(&b'}') {
        return [b"{", key, b"}:fence"].concat();
    }
    let mut numbers = (0_u32..).map(|number| number.to_string());
    let tag = numbers.find(|number| slot(number.as_bytes()) == slot(key)).unwrap_or_default();
    [b"{", tag.as_bytes(), b"}:", key, b":fence"].concat()
}

/// The slot of a key, by the part of it that a cluster hashes (Redis Cluster specification, "Hash tags").
fn slot(key: &[u8]) -> u16 {
    checksum(hash_tag(key).unwrap_or(key)) % SLOTS
}

/// What is between the first `{` and the first `}` after it, unless that is nothing.
fn hash_tag(key: &[u8]) -> Option<&[u8]> {
    let open = key.iter().position(|byte| *byte == b'{')? + 1;
    let length = key[open..].iter().position(|byte| *byte == b'}')?;
    (length > 0).then(|| &key[open..open + length])
}

/// CRC-16/XMODEM, as the specification has it.
fn checksum(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |sum, byte| {
        let mixed = sum ^ (u16::from(*byte) << 8);
        (0..8).fold(mixed, |sum, _| if sum & 0x8000 == 0 { sum << 1 } else { (sum << 1) ^ 0x1021 })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Names, checksum, slot};

    #[test]
    fn slots_are_those_of_the_specification() {
        assert_eq!(checksum(b"123456789"), 0x31C3);
        assert_eq!(slot(b"foo"), 12_182);
        assert_eq!(slot(b"{foo}bar"), 12_182);
        assert_eq!(slot(b"a{}{foo}"), checksum(b"a{}{foo}") % 16_384, "the first pair alone decides");
    }

    #[test]
    fn a_counter_is_named_after_its_lock() {
        let named = |key: &str| String::from_utf8(Names::of(key.as_bytes()).fence).unwrap();
        assert_eq!(named("orders"), "{orders}:fence");
        assert_eq!(named("{shop}:orders"), "{shop}:orders:fence");
        assert_eq!(named("a{b"), "{a{b}:fence");
        assert_eq!(named("{}orders"), "{48133}:{}orders:fence");
    }

    proptest! {
        #[test]
        fn a_counter_lies_where_its_lock_lies(
            key in prop::collection::vec(prop_oneof![Just(b'{'), Just(b'}'), any::<u8>()], 0..9)
        ) {
            let fence = Names::of(&key).fence;
            prop_assert_eq!(slot(&fence), slot(&key));
            prop_assert_ne!(fence, key);
        }
    }
}
