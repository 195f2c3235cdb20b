//! [`Deadlines`]: requests in the order in which they expire.

use iopilot_block::{Links, List, Nanos, RequestId};

/// The list of a request that is in none.
const NOWHERE: u8 = u8::MAX;

/// `N` lists of requests, each in order of insertion. This is the order of expiry, unless the interval was changed
/// while requests were queued. A request is in at most one list. All operations are O(1).
#[derive(Clone, Debug)]
pub(crate) struct Deadlines<const N: usize> {
    links: Links,
    lists: [List; N],
    /// The expiry time and the list of each request, by its index.
    entries: Vec<(Nanos, u8)>,
}

impl<const N: usize> Default for Deadlines<N> {
    fn default() -> Self {
        Self { links: Links::default(), lists: [List::default(); N], entries: Vec::new() }
    }
}

impl<const N: usize> Deadlines<N> {
    /// Appends `id` to `list`.
    pub(crate) fn push(&mut self, list: usize, id: RequestId, expires: Nanos) {
        if id.index() >= self.entries.len() {
            self.entries.resize(id.index() + 1, (Nanos::ZERO, NOWHERE));
        }
        self.entries[id.index()] = (expires, list as u8);
        self.lists[list].push_back(&mut self.links, id);
    }

    /// Removes `id` if it is in a list.
    pub(crate) fn remove(&mut self, id: RequestId) {
        if let Some((_, list)) = self.entry(id) {
            self.lists[list].remove(&mut self.links, id);
            self.entries[id.index()].1 = NOWHERE;
        }
    }

    /// The oldest request of `list`.
    pub(crate) fn oldest(&self, list: usize) -> Option<RequestId> {
        self.lists[list].front()
    }

    /// The oldest request of `list`, if it has expired.
    pub(crate) fn expired(&self, list: usize, now: Nanos) -> Option<RequestId> {
        self.oldest(list).filter(|id| self.entries[id.index()].0 < now)
    }

    /// When `id` expires; `None` if it is in no list.
    pub(crate) fn expires(&self, id: RequestId) -> Option<Nanos> {
        self.entry(id).map(|(expires, _)| expires)
    }

    pub(crate) fn is_empty(&self, list: usize) -> bool {
        self.lists[list].is_empty()
    }

    /// Removes `gone`, which merges into `host`. If it would have expired before `host`, `host` takes its position and
    /// time.
    pub(crate) fn absorb(&mut self, host: RequestId, gone: RequestId) {
        match (self.entry(host), self.entry(gone)) {
            (Some((later, from)), Some((sooner, to))) if sooner < later => {
                self.lists[from].remove(&mut self.links, host);
                self.lists[to].replace(&mut self.links, gone, host);
                self.entries[host.index()] = (sooner, to as u8);
                self.entries[gone.index()].1 = NOWHERE;
            }
            _ => self.remove(gone),
        }
    }

    fn entry(&self, id: RequestId) -> Option<(Nanos, usize)> {
        match self.entries.get(id.index()) {
            Some(&(expires, list)) if list != NOWHERE => Some((expires, usize::from(list))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_survivor_of_a_merge_expires_as_the_older_would_have() {
        let id = RequestId::from_index;
        let mut d = Deadlines::<2>::default();
        d.push(0, id(0), Nanos(50));
        d.push(1, id(1), Nanos(10));
        d.push(1, id(2), Nanos(60));
        d.absorb(id(0), id(1));
        assert_eq!((d.oldest(0), d.oldest(1), d.expires(id(0))), (None, Some(id(0)), Some(Nanos(10))));
        assert_eq!((d.expired(1, Nanos(10)), d.expired(1, Nanos(11))), (None, Some(id(0))));
        d.absorb(id(0), id(2));
        d.remove(id(2));
        assert_eq!(d.expires(id(0)), Some(Nanos(10)));
        d.remove(id(0));
        assert!(d.is_empty(0) && d.is_empty(1));
    }
}
