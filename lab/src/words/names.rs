//! The names that one lock has on a server.

/// The keys and the channel of a lock. Any bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The key of the entry.
    pub key: Vec<u8>,
    /// The key of the counter for fencing tokens, which a cluster keeps on the same server: it shares the hash tag.
    ///
    /// None if no name does: the key has no hash tag of its own, and a `}` in it would end the one that we put around it.
    pub fence: Option<Vec<u8>>,
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

fn fence(key: &[u8]) -> Option<Vec<u8>> {
    if has_hash_tag(key) {
        return Some([key, b":fence"].concat());
    }
    let can_be_one = !key.is_empty() && !key.contains(&b'}');
    can_be_one.then(|| [b"{", key, b"}:fence"].concat())
}

/// Whether a cluster hashes only a part of the key: what is between the first `{` and the first `}` after it, unless that
/// is nothing (Redis Cluster specification, "Hash tags").
fn has_hash_tag(key: &[u8]) -> bool {
    let Some(open) = key.iter().position(|byte| *byte == b'{') else { return false };
    key[open + 1..].iter().position(|byte| *byte == b'}').is_some_and(|length| length > 0)
}

#[cfg(test)]
mod tests {
    use super::Names;

    /// What a cluster hashes, by the specification.
    fn hashed(key: &[u8]) -> &[u8] {
        let Some(open) = key.iter().position(|byte| *byte == b'{') else { return key };
        match key[open + 1..].iter().position(|byte| *byte == b'}') {
            None | Some(0) => key,
            Some(length) => &key[open + 1..open + 1 + length],
        }
    }

    #[test]
    fn the_counter_lies_where_the_lock_lies() {
        for key in ["lock", "{a}lock", "lock{a}", "a{b", "{a", "{{a}", "{a}{b}"] {
            let fence = Names::of(key.as_bytes()).fence.expect(key);
            assert_eq!(hashed(&fence), hashed(key.as_bytes()), "{key}");
            assert_ne!(fence, key.as_bytes());
        }
    }

    #[test]
    fn some_keys_have_no_room_for_a_counter() {
        for key in ["", "}", "a}b", "{}", "{}a", "a}{b"] {
            assert_eq!(Names::of(key.as_bytes()).fence, None, "{key}");
        }
    }
}
