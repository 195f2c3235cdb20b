//! [`Block`] and [`Value`]: what a parameter file holds.

use super::files::FileLine;
use std::sync::Arc;

/// What stands behind a parameter's `=`, or in a list.
#[derive(Clone, Debug)]
pub enum Value {
    /// A whole number, decimal or hexadecimal.
    Int(i64),
    /// A number with a decimal point.
    Float(f64),
    /// A word: a name, a policy, a file.
    Word(Arc<str>),
    /// `[ ... ]`, ranges of names already written out.
    List(Vec<(FileLine, Value)>),
    /// `type { ... }` or `type name { ... }`.
    Block(Arc<Block>),
    /// `type name [ ... ]`, a node of a topology.
    Node(Arc<TopologyNode>),
}

impl Value {
    /// What kind of value it is, for messages.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Int(value) => value.to_string(),
            Self::Float(value) => format!("{value:?}"),
            Self::Word(word) => word.to_string(),
            Self::List(_) => "a list".to_owned(),
            Self::Block(block) => format!("a block of type {}", block.module),
            Self::Node(_) => "a node of a topology".to_owned(),
        }
    }
}

/// One parameter of a block.
#[derive(Clone, Debug)]
pub struct Param {
    /// Its name, words joined by one space.
    pub name: Arc<str>,
    /// Where the name stands.
    pub place: FileLine,
    /// Its value.
    pub value: Arc<Value>,
}

/// `type name { parameter = value, ... }`
#[derive(Clone, Debug)]
pub struct Block {
    /// The module it describes; for a block whose type is an earlier block, that one's module.
    pub module: &'static str,
    /// Its name; `None` where it has none.
    pub name: Option<Arc<str>>,
    /// Where its type stands.
    pub place: FileLine,
    /// Its parameters as written, behind those it inherits and does not repeat.
    pub params: Vec<Param>,
}

impl Block {
    /// The parameter called `name`. O(parameters).
    pub fn param(&self, name: &str) -> Option<&Param> {
        self.params.iter().find(|p| &*p.name == name)
    }

    /// What messages call it.
    pub(crate) fn title(&self) -> String {
        match &self.name {
            Some(name) => format!("{} {name}", self.module),
            None => self.module.to_owned(),
        }
    }
}

/// A node of the topology: a component and what is attached below it, in the order of slots.
#[derive(Clone, Debug)]
pub struct TopologyNode {
    /// The module it says the component is of.
    pub module: &'static str,
    /// The instance.
    pub name: Arc<str>,
    /// Where its type stands.
    pub place: FileLine,
    /// What is attached to it.
    pub children: Vec<TopologyNode>,
}
