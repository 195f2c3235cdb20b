//! An entry of a g4 node as a list of 10 or 11 values.

use iopilot_device::{G4Child, G4Entry};
use serde::de::{Error, SeqAccess, Visitor};
use serde::ser::SerializeTuple;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

struct Entry(G4Entry);

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let e = &self.0;
        let mut list = serializer.serialize_tuple(if matches!(e.child, G4Child::Node(_)) { 10 } else { 11 })?;
        list.serialize_element(&e.first)?;
        list.serialize_element(&e.cylinder)?;
        list.serialize_element(&e.offset)?;
        list.serialize_element(&e.blocks)?;
        list.serialize_element(&e.cylinders)?;
        list.serialize_element(&e.turn)?;
        list.serialize_element(&e.run_blocks)?;
        list.serialize_element(&e.run_cylinders)?;
        match e.child {
            G4Child::Node(number) => {
                list.serialize_element("node")?;
                list.serialize_element(&number)?;
            }
            G4Child::Track { pattern, head } => {
                list.serialize_element("track")?;
                list.serialize_element(&pattern)?;
                list.serialize_element(&head)?;
            }
        }
        list.end()
    }
}

/// The kind of an entry's child.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum DeviceKind {
    Node,
    Track,
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Entries)
    }
}

struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = Entry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a list of 10 values ending in \"node\" and its number, or of 11 ending in \"track\", pattern, head",
        )
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Entry, A::Error> {
        let mut at = 0;
        macro_rules! next {
            () => {{
                let value = list.next_element()?.ok_or_else(|| Error::invalid_length(at, &self))?;
                at += 1;
                value
            }};
        }
        let entry = G4Entry {
            first: next!(),
            cylinder: next!(),
            offset: next!(),
            blocks: next!(),
            cylinders: next!(),
            turn: next!(),
            run_blocks: next!(),
            run_cylinders: next!(),
            child: match next!() {
                DeviceKind::Node => G4Child::Node(next!()),
                DeviceKind::Track => G4Child::Track { pattern: next!(), head: next!() },
            },
        };
        if list.next_element::<u64>()?.is_some() {
            return Err(Error::invalid_length(at + 1, &self));
        }
        Ok(Entry(entry))
    }
}

/// Writes entries.
pub(super) fn serialize<S: Serializer>(entries: &[G4Entry], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(entries.iter().map(|&e| Entry(e)))
}

/// Reads entries.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<G4Entry>, D::Error> {
    Ok(Vec::<Entry>::deserialize(deserializer)?.into_iter().map(|e| e.0).collect())
}
