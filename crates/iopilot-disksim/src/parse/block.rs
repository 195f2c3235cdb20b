//! [`Block`] and [`Value`]: the content of a parameter file.

use super::files::FileLine;
use std::sync::Arc;

/// The value of a parameter or of a list item.
#[derive(Clone, Debug)]
pub enum Value {
    /// A whole number, decimal or hexadecimal.
    Int(i64),
    /// A number with a decimal point.
    Float(f64),
    /// A word: a name, a policy, a file.
    Word(Arc<str>),
    /// `[ ... ]`, with ranges of names expanded.
    List(Vec<(FileLine, Value)>),
    /// `type { ... }` or `type name { ... }`.
    Block(Arc<Block>),
    /// `type name [ ... ]`, a node of a topology.
    Node(Arc<TopologyNode>),
}

impl Value {
    /// A description of the value, for messages.
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
    /// Its name; the words are joined by one space.
    pub name: Arc<str>,
    /// The place of the name.
    pub place: FileLine,
    /// Its value.
    pub value: Arc<Value>,
}

/// `type name { parameter = value, ... }`
#[derive(Clone, Debug)]
pub struct Block {
    /// The module it describes. If the type is an earlier block, that block's module.
    pub module: &'static str,
    /// Its name, if it has one.
    pub name: Option<Arc<str>>,
    /// The place of its type.
    pub place: FileLine,
    /// Its parameters: first the inherited ones, replaced if it repeats them, then its own in written order.
    pub params: Vec<Param>,
}

impl Block {
    /// The parameter called `name`. O(parameters).
    pub fn param(&self, name: &str) -> Option<&Param> {
        self.params.iter().find(|p| &*p.name == name)
    }

    /// Its name in messages.
    pub(crate) fn title(&self) -> String {
        match &self.name {
            Some(name) => format!("{} {name}", self.module),
            None => self.module.to_owned(),
        }
    }
}

/// A node of the topology: a component and its children, in the order of slots.
#[derive(Clone, Debug)]
pub struct TopologyNode {
    /// The module of the component, by the topology.
    pub module: &'static str,
    /// The name of the component.
    pub name: Arc<str>,
    /// The place of its type.
    pub place: FileLine,
    /// The attached components.
    pub children: Vec<TopologyNode>,
}
